"""Walks over a listing that changes while it is read: nothing is lost, wherever they are interrupted."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch_embers.mine.github.cursor import (
    Forward,
    LinkExpiredError,
    Listed,
    Sweep,
    dump,
    keyset,
    load_forward,
    load_sweep,
)
from torch_embers.mine.github.sweep import sweep

from support import example_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Seen = tuple[int, int]
"""Number of an item and how often it had changed."""
Page = list[Seen]


def moment(second: int) -> str:
    return f"2024-01-01T00:{second // 60:02d}:{second % 60:02d}Z"


@dataclass
class Tracker:
    """A tracker whose items change between two fetches; ``links`` says how its listings go on.

    ``page``: by page number, so that a change moves everything behind it (REST). ``place``: behind the last item
    listed, which stays put (GraphQL).
    """

    seconds: list[int]
    """Second of the last change of each item; its place in the list is its number."""
    size: int
    links: str = "page"
    inclusive: bool = True
    versions: list[int] = field(default_factory=list)
    clock: int = 0
    changes: Iterator[tuple[int, int] | None] = field(default_factory=lambda: iter(()))
    """Between two fetches: (item, seconds that pass before it changes), or nothing."""
    fetches: int = 0

    def __post_init__(self) -> None:
        self.versions = [0] * len(self.seconds)
        self.clock = max(self.seconds, default=0)

    def state(self) -> set[Seen]:
        return set(enumerate(self.versions))

    def change(self) -> None:
        found = next(self.changes, None)
        if found and self.seconds:
            number, passed = found[0] % len(self.seconds), found[1]
            self.clock += passed
            self.seconds[number] = self.clock
            self.versions[number] += 1

    def _listed(self, numbers: list[int], query: dict[str, object]) -> Listed[Page]:
        self.fetches += 1
        keys = [(self.seconds[n], n) for n in numbers]
        if self.links == "page":
            start = int(str(query.get("page", 0))) * self.size
        else:
            behind = query.get("after")
            passed = [k for k in keys if behind is not None and self._order(k, query) <= self._order(behind, query)]
            start = len(passed)
        taken = numbers[start : start + self.size]
        following = None
        if start + self.size < len(numbers):
            onward = (
                {"page": start // self.size + 1} if self.links == "page" else {"after": keys[start + self.size - 1]}
            )
            following = json.dumps(query | onward)
        payload = [(n, self.versions[n]) for n in taken]
        return Listed([moment(self.seconds[n]) for n in taken], following, payload, taken)

    @staticmethod
    def _order(key: Any, query: dict[str, object]) -> tuple[int, int]:
        second, number = key
        return (-second, -number) if query.get("newest_first") else (second, number)

    def ascending(self, since: str | None, link: str | None) -> Listed[Page]:
        """Oldest change first, with a lower bound; changes something afterwards."""
        query = json.loads(link) if link else {"since": since}
        bound = query["since"] or ""
        numbers = sorted(range(len(self.seconds)), key=lambda n: (self.seconds[n], n))
        kept = [
            n
            for n in numbers
            if moment(self.seconds[n]) > bound or (self.inclusive and moment(self.seconds[n]) == bound)
        ]
        listed = self._listed(kept, query)
        self.change()
        return listed

    def descending(self, link: str | None) -> Listed[Page]:
        """Newest change first; changes something afterwards."""
        query = json.loads(link) if link else {"newest_first": True}
        numbers = sorted(range(len(self.seconds)), key=lambda n: (-self.seconds[n], -n))
        listed = self._listed(numbers, query)
        self.change()
        return listed


changing = st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 11), st.integers(0, 2))), max_size=25)
stops = st.lists(st.integers(1, 6), max_size=4)
"""After how many pages each run but the last is interrupted."""


@st.composite
def trackers(draw: st.DrawFn) -> Tracker:
    return Tracker(
        draw(st.lists(st.integers(0, 4), max_size=12)),
        draw(st.integers(1, 5)),
        draw(st.sampled_from(["page", "place"])),
        draw(st.booleans()),
    )


def finish(
    tracker: Tracker, walk: Iterator[tuple[Listed[Page], Any]], saved: str | None, pages: int | None, seen: set[Seen]
) -> str | None:
    """One walk, interrupted after some pages; returns the cursor saved with the last one."""
    for place, (listed, cursor) in enumerate(walk, start=1):
        seen |= set(listed.payload)
        saved = dump(cursor)
        if place == pages:
            break
        assert tracker.fetches < 2_000, "the walk does not end"
    return saved


def run_forward(tracker: Tracker, saved: str | None, pages: int | None, seen: set[Seen]) -> str | None:
    walk = keyset(tracker.ascending, load_forward(saved), steady=tracker.links == "place")
    return finish(tracker, walk, saved, pages, seen)


def run_sweep(tracker: Tracker, saved: str | None, pages: int | None, seen: set[Seen]) -> str | None:
    return finish(tracker, sweep(tracker.descending, load_sweep(saved)), saved, pages, seen)


@pytest.mark.parametrize("run", [run_forward, run_sweep])
@pytest.mark.parametrize("ends", [False, True], ids=["interrupted", "to its end"])
@settings(max_examples=example_count(300))
@given(trackers(), changing, stops)
@example(Tracker([1, 0, 0], 1), [None, (1, 0)], [3])
@example(Tracker([1, 0], 1), [None, (1, 1)], [])
@example(Tracker([0, 0], 1), [None, (0, 1)], [1, 1])
@example(Tracker([0, 0], 1, "place", inclusive=False), [None, None, (0, 1)], [3])
def test_runs_while_items_change_and_one_afterwards_see_every_item_in_its_newest_state(
    run: Callable[[Tracker, str | None, int | None, set[Seen]], str | None],
    ends: bool,
    tracker: Tracker,
    changes: list[tuple[int, int] | None],
    interruptions: list[int],
) -> None:
    tracker = deepcopy(tracker)  # an example is the same object in every test
    seen: set[Seen] = set()
    saved = None
    tracker.changes = iter(changes)
    for pages in interruptions:
        saved = run(tracker, saved, pages, seen)
    if ends:
        saved = run(tracker, saved, None, seen)
    for _ in changes:
        tracker.change()
    run(tracker, saved, None, seen)
    assert tracker.state() <= seen


def test_a_run_with_nothing_new_costs_one_request() -> None:
    tracker = Tracker(list(range(0, 40, 5)), 5)
    saved = run_forward(tracker, None, None, set())
    tracker.fetches = 0
    run_forward(tracker, saved, None, set())
    assert tracker.fetches == 1
    saved = run_sweep(tracker, None, None, set())
    tracker.fetches = 0
    run_sweep(tracker, saved, None, set())
    assert tracker.fetches == 1


def test_reading_a_quiet_tracker_costs_about_one_request_a_page() -> None:
    tracker = Tracker(list(range(0, 3000, 3)), 50)
    run_forward(tracker, None, None, set())
    assert tracker.fetches <= 1000 / 48 + 2


@pytest.mark.parametrize("expires", ["rest", "top"])
def test_an_expired_link_starts_that_part_again(expires: str) -> None:
    tracker = Tracker(list(range(12)), 2)
    seen: set[Seen] = set()
    saved = run_sweep(tracker, None, 2 if expires == "rest" else None, seen)
    if expires == "top":
        tracker.changes = iter([(n, 1) for n in range(8)])
        for _ in range(8):
            tracker.change()
        saved = run_sweep(tracker, saved, 1, seen)
    assert json.loads(saved or "")[{"rest": "rest", "top": "top_next"}[expires]]

    def fetch(link: str | None, refused: list[str] = []) -> Listed[Page]:  # noqa: B006 - one refusal per test
        if link is not None and not refused:
            refused.append(link)
            raise LinkExpiredError
        return tracker.descending(link)

    for listed, _cursor in sweep(fetch, load_sweep(saved)):
        seen |= set(listed.payload)
    assert tracker.state() <= seen


@settings(max_examples=example_count(300))
@given(trackers(), changing)
@example(Tracker([0, 0, 0], 1), [*[None] * 5, (0, 0), (0, 1)])
def test_one_sweep_reads_what_moved_to_the_top_while_it_ran(
    tracker: Tracker, changes: list[tuple[int, int] | None]
) -> None:
    tracker = deepcopy(tracker)  # an example is the same object in every run
    tracker.changes = iter(changes)
    seen: set[Seen] = set()
    at_top: set[Seen] = set()

    def fetch(link: str | None) -> Listed[Page]:
        nonlocal at_top
        at_top = tracker.state() if link is None else at_top
        return tracker.descending(link)

    for listed, _cursor in sweep(fetch, Sweep()):
        seen |= set(listed.payload)
        assert tracker.fetches < 2_000, "the walk does not end"
    assert at_top & tracker.state() <= seen, "what changed again while the walk went on is for the next one"


@pytest.mark.parametrize("saved", [Sweep(), Sweep(high=moment(9))])
def test_a_link_that_is_refused_without_end_ends_the_walk(saved: Sweep) -> None:
    tracker = Tracker(list(range(30)), 2)

    def fetch(link: str | None) -> Listed[Page]:
        tracker.fetches += 1
        if link is not None and json.loads(link)["page"] >= 3:
            raise LinkExpiredError("too deep")
        return tracker.descending(link)

    with pytest.raises(LinkExpiredError, match="too deep"):
        list(sweep(fetch, saved))
    assert tracker.fetches < 40


def test_a_first_page_of_which_no_record_was_answered_does_not_stop_the_walk() -> None:
    """What was on it waits by its place; what changes after that page is read by the next walk."""
    tracker = Tracker([0, 100, 200], 1, links="place")

    def fetch(link: str | None) -> Listed[Page]:
        listed = tracker.descending(link)
        return replace(listed, updated=[], payload=[], keys=[], settled=moment(900)) if link is None else listed

    pages = list(sweep(fetch, Sweep()))
    assert {seen for listed, _ in pages for seen in listed.payload} == {(0, 0), (1, 0)}
    assert pages[-1][1].high == moment(900)
    assert pages[-1][1].rest is None
    tracker.changes = iter([(0, 900)])
    tracker.change()
    assert (0, 1) in {seen for listed, _ in sweep(tracker.descending, pages[-1][1]) for seen in listed.payload}


def test_a_limit_of_the_listing_ends_the_walk_and_is_remembered() -> None:
    tracker = Tracker(list(range(30)), 2)

    def fetch(link: str | None) -> Listed[Page]:
        if link is not None and json.loads(link)["page"] >= 3:
            return Listed([], None, [], [], limited=True)
        return tracker.descending(link)

    *_, (_, cursor) = sweep(fetch, Sweep())
    assert (cursor.high, cursor.limited, cursor.rest) == (moment(29), moment(24), None)
    *_, (_, cursor) = sweep(fetch, cursor)
    assert cursor.limited == moment(24)
    tracker.seconds += range(30, 60)
    tracker.versions += [0] * 30
    *_, (_, cursor) = sweep(fetch, cursor)
    assert (cursor.high, cursor.limited) == (moment(59), moment(54))


# ---- cursors as text --------------------------------------------------------------------------------------------

words = st.one_of(st.none(), st.text(min_size=1, max_size=30))


@given(words)
def test_a_forward_cursor_round_trips(at: str | None) -> None:
    assert load_forward(dump(Forward(at))) == Forward(at)


@given(words, words, words, words)
def test_a_sweep_cursor_round_trips(
    high: str | None, rest: str | None, top_newest: str | None, top_next: str | None
) -> None:
    state = Sweep(high, rest, top_newest, top_next)
    assert load_sweep(dump(state)) == state


@given(
    st.one_of(
        st.text(),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists).map(json.dumps),
        st.dictionaries(st.sampled_from(["at", "high", "rest"]), st.integers() | st.none()).map(json.dumps),
    )
)
def test_a_foreign_cursor_starts_anew(text: str) -> None:
    assert isinstance(load_forward(text), Forward)
    assert isinstance(load_sweep(text), Sweep)
