"""Listings by page number whose records leave them while they are read, and links that lead in a circle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from servers.tracker import Answered, Tracker, filled
from support import rest, rows
from torch_embers.mine import runner
from torch_embers.mine.github.cursor import LinkLoopError
from torch_embers.mine.github.numbers import NumbersSource
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers.tracker import Repository
    from torch_embers.mine.runner import Report

REPO = "alice/bugs"
SIZE = 10


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    with Tracker() as server:
        yield server


def mined(tracker: Tracker, database: Path, *tokens: str, **scope: Any) -> Report:
    source = rest(tracker.url, REPO, *tokens, **{"page_size": SIZE} | scope)
    return runner.mine(Store(database), source, link=False, sleep=lambda _: None)


def newest(repository: Repository, count: int, first: int = 12) -> list[int]:
    """Numbers of records above the place where the third page ends."""
    order = sorted(repository.items, key=lambda n: (repository.items[n]["updated_at"], n), reverse=True)
    return order[first : first + count]


def close(repository: Repository, count: int) -> None:
    for number in newest(repository, count):
        repository.touch(number, state="closed")


def delete(repository: Repository, count: int) -> None:
    for number in newest(repository, count):
        repository.delete(number)


@pytest.mark.parametrize("count", [1, 3, 13])
@pytest.mark.parametrize(("leave", "state"), [(close, "open"), (delete, "all")])
def test_without_a_token_no_item_is_lost_when_others_leave_the_list(
    tracker: Tracker, database: Path, leave: Callable[[Repository, int], None], state: str, count: int
) -> None:
    repository = filled(tracker, 60)
    tracker.before(lambda: leave(repository, count), "/issues", page="4")
    mined(tracker, database, state=state)
    wanted = {n for n, item in repository.items.items() if state in ("all", item["state"])}
    assert wanted <= {n for (n,) in rows(database, "SELECT number FROM items")}


@pytest.mark.parametrize("count", [1, 4, 15])
def test_no_event_is_lost_when_others_leave_the_list(tracker: Tracker, database: Path, count: int) -> None:
    repository = filled(tracker, 160)

    def leave() -> None:
        for event in list(reversed(repository.events))[12 : 12 + count]:
            if event["number"] in repository.items:
                repository.delete(event["number"])

    tracker.before(leave, "/issues/events", page="4")
    mined(tracker, database, "t")
    assert {str(e["id"]) for e in repository.events} <= {n for (n,) in rows(database, "SELECT event_id FROM events")}


def test_items_that_leave_between_two_runs_hide_no_others(tracker: Tracker, database: Path) -> None:
    repository = filled(tracker, 60)
    tracker.fault(lambda _: Answered({"message": "no"}, 404), "/issues", page="4")
    with pytest.raises(Exception, match="per_page"):
        mined(tracker, database)
    delete(repository, 12)
    mined(tracker, database)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_without_overlap_pages_are_compared(tracker: Tracker, database: Path) -> None:
    repository = filled(tracker, 9)
    tracker.before(lambda: repository.delete(newest(repository, 1, 1)[0]), "/issues", page="3")
    mined(tracker, database, page_size=2)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_a_single_item_less_than_github_counts_is_noted(tracker: Tracker, database: Path) -> None:
    filled(tracker, 9)
    tracker.fault(lambda a: Answered([i for i in a.body if i["number"] != 5], 200, a.headers), "/issues")
    assert any("counts 1 issue" in note for note in mined(tracker, database).notes)
    assert mined(tracker, database, "t").notes == []


def circle(tracker: Tracker, place: str) -> Callable[[Answered], Answered]:
    address = f"{tracker.url}/repos/{REPO}{place}"
    return lambda answered: Answered(answered.body, 200, {"Link": f'<{address}>; rel="next"'})


@pytest.mark.parametrize("link", ["?per_page=10&page=1", "?per_page=10&after=a"])
@pytest.mark.parametrize(("listing", "tokens"), [("/issues", ()), ("/issues", ("t",)), ("/issues/events", ("t",))])
def test_a_link_that_leads_in_a_circle_is_a_named_error(
    tracker: Tracker, database: Path, listing: str, tokens: tuple[str, ...], link: str
) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 4):
        repository.add(number, minute=1)
        repository.event(number)
    tracker.fault(circle(tracker, listing + link), listing, times=30)
    with pytest.raises(LinkLoopError, match="cursor is kept"):
        mined(tracker, database, *tokens)
    tracker.heal()
    mined(tracker, database, *tokens)
    assert rows(database, "SELECT count(*) FROM items") == [(3,)]


@pytest.mark.parametrize("page", ["2", "3"])
def test_no_event_of_an_item_is_lost_when_others_leave_its_timeline(
    tracker: Tracker, database: Path, page: str
) -> None:
    repository = filled(tracker, 1)
    for place in range(330):
        repository.event(1, "labeled", label={"name": f"label {place}"})

    def leave() -> None:
        repository.events = repository.events[7:]

    tracker.before(leave, "/timeline", page=page)
    source = rest(tracker.url, REPO, "t")
    runner.mine(Store(database), NumbersSource(source, [1]), link=False)
    kept = {event["label"]["name"] for event in repository.events}
    stored = {label for (label,) in rows(database, "SELECT label FROM events")}
    assert kept <= stored
