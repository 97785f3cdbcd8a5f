"""Mining by REST: every item as it was written, one request a page, and again only what changed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.github.client import GitHubClient
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.mine.github.replies import Patience

from servers.github import FAULTS, GitHub
from servers.tracker import write_history
from support import rest, rows, snapshot
from torch_embers.errors import EmbersError, UnknownRepositoryError
from torch_embers.mine import runner
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.mine.github.rest import RestSource

    from servers.tracker import Repository

REPO = "alice/bugs"
ITEMS = 620


@pytest.fixture
def written(tracker: GitHub) -> Repository:
    repository = tracker.repository(REPO)
    write_history(repository, ITEMS)
    return repository


def items_of(database: Path) -> set[int]:
    return {number for (number,) in rows(database, "SELECT number FROM items")}


@pytest.mark.parametrize("cursors", [False, True])
def test_every_item_is_stored_as_it_was_written(
    tracker: GitHub, written: Repository, database: Path, cursors: bool
) -> None:
    """Whether the lists go on by page numbers or by cursors."""
    tracker.cursors = cursors
    source = rest(tracker.url, REPO, "t")
    runner.mine(Store(database), source)
    stored = rows(database, "SELECT number, kind, title, body, state, state_reason, labels FROM items ORDER BY number")
    assert stored == [
        (
            number,
            "pull" if "pull_request" in item else "issue",
            item["title"],
            item["body"],
            item["state"],
            item["state_reason"] or "" if "state_reason" in item else None,  # stated as null, and not stated
            sorted(label["name"] for label in item["labels"]),
        )
        for number, item in written.items.items()
    ]
    said = rows(database, "SELECT number, body FROM comments ORDER BY comment_id::INTEGER")
    assert said == [(comment["number"], comment["body"]) for comment in written.comments]
    pages = sum(len(records) for records in (written.items, written.comments, written.events)) / 100
    # windows overlap by a second; then repository, counts, the lists of pull requests and of comments on lines
    assert source.client.usage.requests <= pages * 1.2 + 16


def test_a_second_mine_asks_little_and_changes_nothing_and_a_replay_asks_nothing(
    tracker: GitHub, written: Repository, database: Path
) -> None:
    runner.mine(Store(database), rest(tracker.url, REPO, "t"))
    before = snapshot(database)
    again = rest(tracker.url, REPO, "t")
    runner.mine(Store(database), again)
    assert snapshot(database) == before
    assert again.client.usage.requests <= 14
    tracker.forget()
    runner.replay(Store(database))
    assert snapshot(database) == before
    assert tracker.asked == []


@pytest.mark.parametrize("list_of", ["comments", "events"])
def test_a_server_without_a_list_for_the_whole_repository_is_named(
    tracker: GitHub, written: Repository, database: Path, list_of: str
) -> None:
    tracker.fault("not_found_404", f"/issues/{list_of}", times=1_000)
    report = runner.mine(Store(database), rest(tracker.url, REPO, "t"))
    assert any(list_of in note for note in report.notes)
    assert items_of(database) == set(written.items)


def test_an_interrupted_mine_goes_on_where_it_stopped(
    tracker: GitHub, written: Repository, database: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "whole.duckdb"
    runner.mine(Store(whole), rest(tracker.url, REPO, "t"))
    for budget in range(8, 60, 4):
        limited = rest(tracker.url, REPO, "t")
        limited.client.budget = budget
        if not runner.mine(Store(database), limited).stopped:
            break
    assert budget > 12, "it was interrupted twice at least"
    assert snapshot(database) == snapshot(whole)


def test_without_a_token_the_newest_items_come_first_and_the_rest_later(
    tracker: GitHub, written: Repository, database: Path
) -> None:
    first = rest(tracker.url, REPO)
    first.client.budget = 6
    assert runner.mine(Store(database), first).stopped
    newest = items_of(database)
    assert 470 <= len(newest) < 500, "five pages, each of which begins with the end of the one before"
    order = sorted(written.items, key=lambda n: (written.items[n]["updated_at"], n), reverse=True)
    assert newest == set(order[: len(newest)])
    runner.mine(Store(database), rest(tracker.url, REPO))
    assert items_of(database) == set(written.items)


def test_labels_state_and_since_narrow_the_listing(tracker: GitHub, written: Repository, database: Path) -> None:
    scope: dict[str, Any] = {"state": "closed", "labels": ("module: cuda",), "since": "2024-01-01T10:00:00Z"}
    runner.mine(Store(database), rest(tracker.url, REPO, "t", **scope))
    assert items_of(database) == {
        number
        for number, item in written.items.items()
        if item["state"] == "closed"
        and item["updated_at"] >= scope["since"]
        and {"name": "module: cuda"} in item["labels"]
    }


def test_single_numbers_are_mined_alone_and_a_wrong_number_is_told(
    tracker: GitHub, written: Repository, database: Path
) -> None:
    commented = [number for number, item in written.items.items() if item["comments"]][:3]
    runner.mine(Store(database), NumbersSource(rest(tracker.url, REPO, "t"), [*commented, 999_999]))
    assert items_of(database) == set(commented)
    assert rows(database, "SELECT reason FROM rejects") == [(f"no item #999999 in {REPO}",)]


def test_an_unknown_repository_is_named(tracker: GitHub, database: Path) -> None:
    with pytest.raises(UnknownRepositoryError, match="nobody/nothing"):
        runner.mine(Store(database), rest(tracker.url, "nobody/nothing", "t"))


def test_raw_pages_hold_no_token(tracker: GitHub, written: Repository, database: Path) -> None:
    token = "a-token-of-this-test"
    source = rest(tracker.url, REPO, token)
    source.client.budget = 4
    runner.mine(Store(database), source)
    for (request,) in rows(database, "SELECT request FROM raw_pages"):
        assert token not in request
    for pages in Store(database).pages():
        for page in pages:
            assert json.loads(page.body) is not None
            assert token.encode() not in page.body


# ---- every fault that a list can meet


REFUSING = ("unauthorized_401", "gone_410", "redirect_301")
"""Faults that say the mine cannot go on: an error is right, silent loss is not."""
WALKS: dict[str, dict[str, Any]] = {
    "windows": {"since": "*"},
    "links": {"page": "2"},
}
"""The second window of a mine with a token, and the second page of one without."""
HURRIED = Patience(retries=6, max_wait=20, timeout=5, pause=0, backoff=0.01, secondary_wait=0.05)
Snapshot = dict[str, list[Any]]


def walking(server: GitHub, walk: str, fault: str = "") -> RestSource:
    """A source with short pages, which does not really wait for what GitHub asks it to wait for."""
    patience = replace(HURRIED, timeout=1) if fault == "slow_timeout" else HURRIED
    source = rest(server.url, REPO, page_size=50)
    source.client = GitHubClient(server.url, ["t"] if walk == "windows" else [], patience, sleep=lambda _: None)
    return source


@pytest.fixture
def short(tracker: GitHub) -> None:
    write_history(tracker.repository(REPO), 130)


@pytest.fixture(scope="module")
def wholes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Snapshot]:
    """What each walk reads without a fault."""
    found = {}
    for walk in WALKS:
        path = tmp_path_factory.mktemp(walk) / "e.duckdb"
        with GitHub() as server:
            write_history(server.repository(REPO), 130)
            runner.mine(Store(path), walking(server, walk))
        found[walk] = snapshot(path)
    return found


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("fault", [name for name, entry in FAULTS.items() if entry.get("list")])
@pytest.mark.usefixtures("short")
def test_a_fault_never_ends_as_silent_loss(
    tracker: GitHub, database: Path, wholes: dict[str, Snapshot], fault: str, walk: str
) -> None:
    """The tables end equal to those of a mine without the fault, or a clear error and a cursor that goes on."""
    tracker.fault(fault, "bugs/issues", FAULTS[fault].get("times", 1), **WALKS[walk])
    error = None
    try:
        runner.mine(Store(database), walking(tracker, walk, fault))
    except EmbersError as caught:
        error = caught
    assert tracker.met.total() >= 1, "the fault was not met: this test would prove nothing"
    if error is not None:
        # a window asks for no page number, so a server that refuses one there is not to be reasoned with
        assert fault in REFUSING or (fault, walk) == ("page_limit_422", "windows"), f"to be survived, but: {error!r}"
        assert "\n" not in str(error)
        assert len(str(error)) > 20
        assert rows(database, "SELECT count(*) FROM sync_state") != [(0,)], "the cursor of the first page is kept"
        tracker.heal()
        runner.mine(Store(database), walking(tracker, walk))
    assert snapshot(database) == wholes[walk]


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize(
    ("fault", "words"), [("dribble", "again later"), ("bad_gateway_502", "HTTP 502, 7 times in a row")]
)
@pytest.mark.usefixtures("short")
def test_a_fault_that_stays_is_an_error_with_its_reason_and_not_an_end(
    tracker: GitHub, database: Path, wholes: dict[str, Snapshot], walk: str, fault: str, words: str
) -> None:
    tracker.fault(fault, "bugs/issues", 100, **WALKS[walk])
    with pytest.raises(EmbersError, match=words):
        runner.mine(Store(database), walking(tracker, walk))
    tracker.heal()
    runner.mine(Store(database), walking(tracker, walk))
    assert snapshot(database) == wholes[walk]
