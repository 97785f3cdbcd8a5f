"""Every way in which GitHub was found to fail, in a mine by number: it ends equal to an undisturbed one, or says why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mines import mined, stored
from schedules import PATIENCE, Attack
from servers.dataset import generated_dataset
from servers.github import FAULTS, GitHub, filled
from torch_embers.errors import EmbersError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ITEMS = 32
OF_REST = frozenset(
    {
        *("dribble", "empty_page", "without_link", "cut_page", "foreign_link", "redirect_301", "page_limit_422"),
        *("search_unfinished", "search_refused_422", "gone_without_words_410"),
    }
)
"""Faults of lists and searches, which only a mine without a token asks for."""
BESIDE = frozenset({"resource_limits", "something_went_wrong", "timeout", "silence"})
"""What stands beside a part that lacks."""


@pytest.fixture(scope="module")
def server() -> Iterator[GitHub]:
    with GitHub(generated_dataset(ITEMS)) as started:
        yield started


@pytest.fixture(scope="module")
def whole(server: GitHub, tmp_path_factory: pytest.TempPathFactory) -> Path:
    server.restore()
    path = tmp_path_factory.mktemp("whole") / "e.duckdb"
    mined(path, server.url)
    return path


def ends(database: Path, url: str, **given: Any) -> str:
    """What a mine says that it lacks: one clean line."""
    try:
        said = mined(database, url, patience=PATIENCE, **given).stopped
    except EmbersError as error:
        said = str(error) or "an error without words\n"
    assert "\n" not in said
    return said


@pytest.mark.parametrize("times", [1, 10_000])
@pytest.mark.parametrize("name", sorted(FAULTS.keys() - OF_REST - BESIDE))
def test_a_mine_under_a_fault_ends_equal_or_says_why_not(
    server: GitHub, whole: Path, tmp_path: Path, name: str, times: int
) -> None:
    database = tmp_path / "e.duckdb"
    server.restore()
    entry = FAULTS[name]
    if "path" in entry:
        server.fault(name, times=times)
    else:
        server.fault(entry, "/graphql", times=times if entry.get("wire") != "slow" else 1, at=4)
    said = ends(database, server.url)
    assert server.met.total() > 0, "the fault met nothing"
    if said:
        server.restore()
        assert not ends(database, server.url)
    found, wanted = stored(database), stored(whole)
    # a note tells what is hidden; a count that GitHub repeats is what it says
    differing = {"forbidden": "stated_links", "miscounted": "items"}.get(name)
    tables = wanted.keys() - {differing}
    assert {table: found[table] for table in tables} == {table: wanted[table] for table in tables}


@pytest.mark.parametrize("name", sorted(OF_REST | {name for name, entry in FAULTS.items() if entry.get("list")}))
def test_a_mine_without_a_token_ends_equal_or_says_why_not(tmp_path: Path, name: str) -> None:
    given = {"token": "", "repo": "alice/bugs"}
    with GitHub() as server:
        filled(server, 120, 30)
        mined(tmp_path / "whole.duckdb", server.url, **given)
        server.fault(name, "/search/issues" if name.startswith("search") else "1/issues", times=2)
        said = ends(tmp_path / "e.duckdb", server.url, **given)
        assert server.met.total() > 0
        server.heal()
        assert not said or not ends(tmp_path / "e.duckdb", server.url, **given)
    assert stored(tmp_path / "e.duckdb") == stored(tmp_path / "whole.duckdb")


def test_schedules_of_faults_end_in_no_silent_loss(server: GitHub, tmp_path: Path) -> None:
    attack = Attack(tmp_path, server)
    for seed in range(1, 11):
        attack.run(seed)
    assert (attack.result.silent, attack.result.unequal) == ([], [])
    assert attack.result.met.total() > 0


def test_mines_that_are_killed_lose_nothing(server: GitHub, tmp_path: Path) -> None:
    attack = Attack(tmp_path, server)
    for seed in range(1, 6):
        attack.run_with_kills(seed)
    assert attack.result.unequal == []
    assert attack.result.kills > 0
