"""Listings by page number whose records leave them while they are read, and links that lead in a circle."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from servers.tracker import Answered, Tracker
from support import client, rest
from torch_embers.mine.github.cursor import LinkLoopError
from torch_embers.mine.github.listing import Listing
from torch_embers.mine.github.rest import timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


REPO = "alice/bugs"


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    with Tracker() as server:
        yield server


def test_a_quiet_list_costs_at_most_one_request_in_eight_more(tracker: Tracker) -> None:
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


def circle(tracker: Tracker, place: str) -> Callable[[Answered], Answered]:
    address = f"{tracker.url}/repos/{REPO}{place}"
    return lambda answered: Answered(answered.body, 200, {"Link": f'<{address}>; rel="next"'})


@pytest.mark.parametrize("link", ["", "?page=1", "?after=a"])
def test_a_timeline_that_leads_in_a_circle_is_a_named_error(tracker: Tracker, link: str) -> None:
    repository = tracker.repository(REPO)
    repository.add(1)
    repository.event(1)
    tracker.fault(circle(tracker, f"/issues/1/timeline{link}"), "/timeline", times=30)
    with pytest.raises(LinkLoopError, match="cursor is kept"):
        timeline(rest(tracker.url, REPO, "t"), 1)
