"""Every fault of a list request: the tables end equal to those of a fault-free mine, or a clear error and a cursor that goes on.

Both ways of walking are attacked: the second window of a mine with a token (`since`), and the second page of one
without (`page=2`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from servers import stand_ins
from support import client, rows, snapshot
from torch_embers.errors import EmbersError
from torch_embers.mine import runner
from torch_embers.mine.github.replies import Patience
from torch_embers.mine.github.rest import RestSource
from torch_embers.mine.scope import Scope
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.servers, pytest.mark.slow]
REPO = "alice/bugs"
PATIENCE = Patience(retries=6, max_wait=20, timeout=2, pause=0, backoff=0.05, secondary_wait=0.3)
WALKS: dict[str, dict[str, Any]] = {
    "windows": {"query": {"since": {"matches": ".+"}}},
    "links": {"page": 2},
}
MAY_STOP = {
    ("unauthorized_401", "windows"),
    ("unauthorized_401", "links"),
    ("gone_410", "windows"),
    ("gone_410", "links"),
    ("redirect_301", "windows"),
    ("redirect_301", "links"),
    ("page_limit_422", "windows"),
}
"""Faults that say the mine cannot go on: an error is right, silent loss is not. A window asks for no page number, so a
server that refuses one there is not to be reasoned with."""


def source(url: str, walk: str, token: str) -> RestSource:
    tokens = [token] if walk == "windows" else []
    return RestSource(client(url, *tokens, patience=PATIENCE), Scope(REPO), page_size=50)


@pytest.fixture
def proxy(faulty: stand_ins.FaultyGitHub) -> Iterator[stand_ins.FaultyGitHub]:
    faulty.proxy.disarm()
    faulty.proxy.forget_requests()
    yield faulty
    faulty.proxy.disarm()


@pytest.fixture(scope="module")
def wholes(faulty: stand_ins.FaultyGitHub, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[Any]]]:
    """What each walk reads without a fault: this server's list of issues holds no pull requests, and only a token reads those."""
    faulty.proxy.disarm()
    found = {}
    for walk in WALKS:
        path = tmp_path_factory.mktemp(walk) / "e.duckdb"
        runner.mine(Store(path), source(faulty.url, walk, "whole"))
        found[walk] = snapshot(path)
    return found


@pytest.fixture
def whole(wholes: dict[str, dict[str, list[Any]]], walk: str) -> dict[str, list[Any]]:
    return wholes[walk]


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("fault", sorted(stand_ins.FAULTS))
def test_a_fault_never_ends_as_silent_loss(
    proxy: stand_ins.FaultyGitHub, whole: dict[str, list[Any]], database: Path, token: str, fault: str, walk: str
) -> None:
    delay = 3_000 if fault == "slow_timeout" else None
    proxy.proxy.arm(fault, delay_ms=delay, **WALKS[walk])
    error = None
    try:
        runner.mine(Store(database), source(proxy.url, walk, token))
    except EmbersError as caught:
        error = caught
    assert proxy.proxy.hits() >= 1, "the fault was not met: this test would prove nothing"
    if error is None:
        assert snapshot(database) == whole
        return
    assert (fault, walk) in MAY_STOP, f"{fault} should be survived, but: {error}"
    message = str(error)
    assert "\n" not in message
    assert len(message) > 20
    assert rows(database, "SELECT count(*) FROM sync_state") != [(0,)], "the cursor of the first page is kept"
    proxy.proxy.disarm()
    runner.mine(Store(database), source(proxy.url, walk, token))
    assert snapshot(database) == whole


@pytest.mark.parametrize("walk", WALKS)
def test_a_listing_that_stays_cut_is_an_error_and_not_an_end(
    proxy: stand_ins.FaultyGitHub, whole: dict[str, list[Any]], database: Path, token: str, walk: str
) -> None:
    proxy.proxy.arm("dribble", times=100, **WALKS[walk])
    with pytest.raises(EmbersError, match="again later"):
        runner.mine(Store(database), source(proxy.url, walk, token))
    proxy.proxy.disarm()
    runner.mine(Store(database), source(proxy.url, walk, token))
    assert snapshot(database) == whole


def test_a_server_that_stays_broken_gives_up_with_a_reason(
    proxy: stand_ins.FaultyGitHub, database: Path, token: str
) -> None:
    proxy.proxy.arm("bad_gateway_502", times=100, **WALKS["windows"])
    with pytest.raises(EmbersError, match="HTTP 502, 7 times in a row"):
        runner.mine(Store(database), source(proxy.url, "windows", token))
