"""Listings by page number whose records leave them while they are read, and links that lead in a circle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from servers.github import Answered, GitHub, filled
from support import client, rest, rows
from torch_embers.mine import runner
from torch_embers.mine.github.cursor import LinkLoopError
from torch_embers.mine.github.listing import Listing
from torch_embers.mine.github.rest import timeline
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servers.tracker import Repository
    from torch_embers.mine.runner import Report

REPO = "alice/bugs"
SIZE = 10


def mined(tracker: GitHub, database: Path, *tokens: str, **scope: Any) -> Report:
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
    tracker: GitHub, database: Path, leave: Callable[[Repository, int], None], state: str, count: int
) -> None:
    repository = filled(tracker, 60)
    tracker.before(lambda: leave(repository, count), "/issues", page="4")
    mined(tracker, database, state=state)
    wanted = {n for n, item in repository.items.items() if state in ("all", item["state"])}
    assert wanted <= {n for (n,) in rows(database, "SELECT number FROM items")}


@pytest.mark.parametrize("count", [1, 4, 15])
def test_no_event_is_lost_when_others_leave_the_list(tracker: GitHub, database: Path, count: int) -> None:
    repository = filled(tracker, 160)

    def leave() -> None:
        for event in list(reversed(repository.events))[12 : 12 + count]:
            if event["number"] in repository.items:
                repository.delete(event["number"])

    tracker.before(leave, "/issues/events", page="4")
    mined(tracker, database, "t")
    assert {str(e["id"]) for e in repository.events} <= {n for (n,) in rows(database, "SELECT event_id FROM events")}


def test_items_that_leave_between_two_runs_hide_no_others(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 60)
    tracker.fault("not_found_404", "/issues", page="4")
    with pytest.raises(Exception, match="per_page"):
        mined(tracker, database)
    delete(repository, 12)
    mined(tracker, database)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_a_quiet_list_costs_at_most_one_request_in_eight_more(tracker: GitHub) -> None:
    repository = tracker.repository(REPO)
    for number in range(1, 2_151):
        repository.add(number)
    listing = Listing(client(tracker.url), f"/repos/{REPO}/issues", {"direction": "desc", "per_page": 100})
    read: set[object] = set()
    listed = None
    while listed is None or listed.next is not None:
        listed = replace(listing, overlapping=True).page(listed and listed.next)
        assert not read or listed.keys[0] in read
        read |= set(listed.keys)
    assert len(read) == len(repository.items)
    assert len(tracker.asked) <= 27  # 22 pages by their links, and two requests that confirm the end


def test_without_overlap_pages_are_compared(tracker: GitHub, database: Path) -> None:
    repository = filled(tracker, 9)
    tracker.before(lambda: repository.delete(newest(repository, 1, 1)[0]), "/issues", page="3")
    mined(tracker, database, page_size=2)
    assert set(repository.items) <= {n for (n,) in rows(database, "SELECT number FROM items")}


def test_a_single_item_less_than_github_counts_is_noted(tracker: GitHub, database: Path) -> None:
    filled(tracker, 9)
    tracker.fault(lambda a: Answered([i for i in a.body if i["number"] != 5], 200, a.headers), "/issues")
    assert any("counts 1 issue" in note for note in mined(tracker, database).notes)
    assert mined(tracker, database, "t").notes == []


def circle(tracker: GitHub, place: str) -> Callable[[Answered], Answered]:
    address = f"{tracker.url}/repos/{REPO}{place}"
    return lambda answered: Answered(answered.body, 200, {"Link": f'<{address}>; rel="next"'})


@pytest.mark.parametrize("link", ["?per_page=10&page=1", "?per_page=10&after=a"])
@pytest.mark.parametrize(("listing", "tokens"), [("/issues", ()), ("/issues", ("t",)), ("/issues/events", ("t",))])
def test_a_link_that_leads_in_a_circle_is_a_named_error(
    tracker: GitHub, database: Path, listing: str, tokens: tuple[str, ...], link: str
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


@pytest.mark.parametrize("link", ["", "?page=1", "?after=a"])
def test_a_timeline_that_leads_in_a_circle_is_a_named_error(tracker: GitHub, link: str) -> None:
    repository = tracker.repository(REPO)
    repository.add(1)
    repository.event(1)
    tracker.fault(circle(tracker, f"/issues/1/timeline{link}"), "/timeline", times=30)
    with pytest.raises(LinkLoopError, match="cursor is kept"):
        timeline(rest(tracker.url, REPO, "t"), 1)
