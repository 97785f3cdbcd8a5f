"""How a listing that changes while it is read is walked without losing an item. Pure: fetching is passed in.

Two walks, because GitHub offers two kinds of listings:

``keyset``  oldest change first, with a lower bound (`since`). Every page is asked for anew from the newest change
            seen so far minus one second. Page numbers are not used to go on: when an item on an earlier page
            changes, it moves to the end, everything behind it moves up by one, and page N+1 would start one
            item too late. Only inside one second, where the bound cannot move, the listing's own links are followed,
            and followed again until two walks agree: then nothing moved during the first.
``sweep``   newest change first, without a bound: new changes push items down, so following links can repeat an
            item but never skip one. What is new since the last sweep is read down to its newest item; the rest of
            an unfinished first sweep goes on from its saved link. An item that leaves the list (deleted, closed
            under a filter) moves everything behind it up. So each page by number begins with the last record of the
            page before it, and a page that does not join is given up for the one before it.

Cursors are times as ISO 8601 text in UTC, which sort as text.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torch_embers.errors import SourceError
from torch_embers.mine.source import read_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

OVERLAP = timedelta(seconds=1)
"""Servers differ in whether `since` includes its own second, and one second can hold many items."""
RESTARTS = 3
"""How often a walk whose link is refused begins at the top again without coming further than before."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """One page of a listing."""

    updated: Sequence[str]
    """Time of the last change of each record, as listed."""
    next: str | None
    """Where the listing itself goes on; ``None`` at its end."""
    payload: T
    keys: Sequence[object]
    """What identifies each record, in the order of ``updated``."""
    limited: bool = False
    """The server lists no further although there is more: the page holds nothing, and nothing follows."""
    earlier: str | None = None
    """The page before this one; ``None`` on the first, and where links name a place that cannot shift."""

    def entries(self) -> list[tuple[object, str]]:
        """Each record with the time of its last change."""
        return list(zip(self.keys, self.updated, strict=True))

    def marks(self) -> list[str]:
        """The same as texts, which a cursor can hold."""
        return [f"{key} {moment}" for key, moment in self.entries()]


class LinkLoopError(SourceError):
    """A listing goes on at a page that was read before in the same walk: it would never end."""


class UnsteadyListingError(SourceError):
    """A listing moves so much that no page joins the one before it."""


class LinkExpiredError(SourceError):
    """A saved link is no longer accepted: the walk starts that part again, a few times."""


def whole_second(moment: str) -> str:
    """Cut a time to its second: ``2024-01-01T00:00:00Z``."""
    return moment[:19] + "Z"


def before(moment: str) -> str:
    """The time ``OVERLAP`` earlier."""
    parsed = datetime.fromisoformat(whole_second(moment)[:-1]) - OVERLAP
    return parsed.isoformat() + "Z"


def newest(updated: Sequence[str], floor: str | None) -> str | None:
    """The latest of the times and ``floor``, to the second."""
    known = [whole_second(u) for u in updated]
    if floor is not None:
        known.append(floor)
    return max(known, default=None)


def oldest(updated: Sequence[str], ceiling: str | None) -> str | None:
    """The earliest of the times and ``ceiling``, to the second."""
    known = [whole_second(u) for u in updated]
    if ceiling is not None:
        known.append(ceiling)
    return min(known, default=None)


@dataclass(frozen=True, slots=True)
class Forward:
    """Cursor of ``keyset``: everything that changed up to ``at`` has been read."""

    at: str | None = None


def keyset(
    fetch: Callable[[str | None, str | None], Listed[T]], state: Forward, *, steady: bool = False
) -> Iterator[tuple[Listed[T], Forward]]:
    """Walk a bounded listing, oldest change first.

    Args:
        fetch: called with (since, link); at most one of them is given, both ``None`` means from the beginning.
        state: where an earlier walk ended.
        steady: links name a place behind a record rather than a page number, so that following them skips nothing.

    Yields:
        Each page with the cursor that is safe to save together with it.
    """
    at = state.at
    while True:
        listed = fetch(_bound(at), None)
        reached = newest(listed.updated, at)
        if listed.next is not None and (reached == at or not _ascending(listed.updated)):
            reached, ended = yield from _by_links(fetch, listed, at, steady)
        else:
            ended = listed.next is None
            yield listed, Forward(reached)
        if ended:
            return
        at = reached


def _bound(at: str | None) -> str | None:
    return None if at is None else before(at)


@dataclass(slots=True)
class Trail:
    """The links followed since a walk last began or stepped back."""

    followed: set[str] = field(default_factory=set)

    def follow(self, link: str) -> str:
        """Note a link, and give it back.

        Raises:
            LinkLoopError: it was followed before.
        """
        if link in self.followed:
            raise LinkLoopError(
                f"a listing goes on in a circle: {link} leads back to itself. "
                "The cursor is kept: run the same command again later"
            )
        self.followed.add(link)
        return link


@dataclass(slots=True)
class _Walk:
    """The records seen while links were followed."""

    entries: list[tuple[object, str]]
    trail: Trail = field(default_factory=Trail)
    ordered: bool = True
    ended: bool = False

    def add(self, listed: Listed[Any]) -> None:
        self.entries += listed.entries()
        self.ordered = self.ordered and _ascending(listed.updated)
        self.ended = listed.next is None

    def newest(self, at: str | None) -> str | None:
        return newest([moment for _, moment in self.entries], at)

    def undisturbed(self, again: _Walk) -> bool:
        """Whether no record of this walk moved before its end; the walk after it shows that."""
        unique = {key for key, _ in self.entries}
        return len(unique) == len(self.entries) and again.entries[: len(self.entries)] == self.entries


def _by_links(
    fetch: Callable[[str | None, str | None], Listed[T]], listed: Listed[T], at: str | None, steady: bool
) -> Generator[tuple[Listed[T], Forward], None, tuple[str | None, bool]]:
    """Follow links out of a second that fills more than a page; return the new cursor time and whether it all ended.

    By page number a record that moves to the end takes one record behind it out of sight. So the walk is repeated
    until it meets the same again: then nothing had moved. A server that ignores the order asked for is walked once
    to its end, which alone makes the cursor safe.
    """
    earlier: _Walk | None = None
    while True:
        walk = _Walk([])
        walk.add(listed)
        while not walk.ended and (not walk.ordered or walk.newest(at) == at):
            yield listed, Forward(at)
            listed = fetch(None, None if listed.next is None else walk.trail.follow(listed.next))
            walk.add(listed)
        trusted = walk if steady or not walk.ordered else earlier
        if trusted is not None and (trusted is walk or trusted.undisturbed(walk)):
            yield listed, Forward(trusted.newest(at))
            return trusted.newest(at), trusted.ended
        yield listed, Forward(at)
        earlier = walk
        listed = fetch(_bound(at), None)


def _ascending(updated: Sequence[str]) -> bool:
    seconds = [whole_second(u) for u in updated]
    return all(a <= b for a, b in pairwise(seconds))


@dataclass(frozen=True, slots=True)
class Sweep:
    """Cursor of ``sweep``."""

    high: str | None = None
    """Everything changed up to here and not below the unfinished part has been read."""
    rest: str | None = None
    """Link to the unread, older part of the first sweep; ``None`` when it is complete."""
    top_newest: str | None = None
    """Newest item of a sweep for new changes that is under way."""
    top_next: str | None = None
    """Where that one goes on."""
    low: str | None = None
    """Oldest record that the first sweep has read."""
    top_low: str | None = None
    """Oldest record that the sweep for new changes under way has read."""
    limited: str | None = None
    """What is older than this may be missing: the server listed no further."""
    last: str | None = None
    """Mark of the last record that the first sweep has read."""
    top_last: str | None = None
    """Mark of the last record that the sweep for new changes under way has read."""


def sweep(fetch: Callable[[str | None], Listed[T]], state: Sweep) -> Iterator[tuple[Listed[T], Sweep]]:
    """Walk a listing newest change first: what is new, then what is left of the first sweep, then what moved meanwhile.

    Args:
        fetch: called with a link, or ``None`` for the beginning; may raise ``LinkExpiredError`` for a link.
        state: where an earlier walk ended.

    Yields:
        Each page with the cursor that is safe to save together with it.

    Raises:
        LinkExpiredError: a link is refused again and again, and the walk comes no further.
        LinkLoopError: a link leads to a page that the walk has read.
        UnsteadyListingError: no page joins the one before it.
    """
    walk = _Descent(fetch, state)
    resumed = state.top_next is not None
    yield from walk.beginning() if state.high is None else walk.top()
    yield from walk.rest()
    # an item that changed while more than one page was read, or between two runs, may have passed the walk by
    again = walk.pages > 1 or resumed
    while again:
        walk.pages, walk.news = 0, False
        yield from walk.top()
        again = walk.pages > 1 and walk.news


@dataclass(slots=True)
class _Restarts:
    """Counts how often a walk began again; one that came further in between begins to count anew."""

    reached: str | None = None
    times: int = 0

    def count(self, reached: str | None, error: LinkExpiredError) -> None:
        self.times = self.times + 1 if reached == self.reached else 1
        self.reached = reached
        if self.times > RESTARTS:
            raise error


@dataclass(slots=True)
class _Descent(Generic[T]):
    """A walk newest change first, its cursor, and what the pass under way has met."""

    fetch: Callable[[str | None], Listed[T]]
    state: Sweep
    pages: int = 0
    news: bool = False
    """Whether a page had anything that this run had not read from the top before."""
    seen: set[tuple[object, str]] = field(default_factory=set)
    gaps: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """How often a page did not join where the walk stands."""

    def _moved(self, listed: Listed[T], **changed: str | None) -> tuple[Listed[T], Sweep]:
        self.pages += 1
        self.news = self.news or not self.seen.issuperset(listed.entries())
        self.state = replace(self.state, **changed)
        return listed, self.state

    def beginning(self) -> Iterator[tuple[Listed[T], Sweep]]:
        """Read the first page of the first sweep."""
        listed = self.fetch(None)
        high, low = newest(listed.updated, None), oldest(listed.updated, None)
        yield self._moved(listed, high=high, rest=listed.next, low=low, last=_last(listed, None, None))

    def rest(self) -> Iterator[tuple[Listed[T], Sweep]]:
        """Read the unfinished, older part of the first sweep."""
        restarts = _Restarts()
        trail = Trail()
        while self.state.rest is not None:
            low = self.state.low
            try:
                found = self._joining(trail, self.state.rest, low, self.state.last)
            except LinkExpiredError as error:
                # the position is lost: read everything again from the top, which is slow but loses nothing
                restarts.count(low, error)
                trail = Trail()
                found = [self.fetch(None)]
            for listed in found:
                if listed.limited:
                    limited = newest([low or self.state.high or ""], self.state.limited)
                    yield self._moved(listed, rest=None, limited=limited)
                else:
                    last = _last(listed, self.state.low, self.state.last)
                    low = oldest(listed.updated, self.state.low)
                    yield self._moved(listed, rest=listed.next, low=low, last=last)

    def top(self) -> Iterator[tuple[Listed[T], Sweep]]:
        """Read what changed since the last sweep."""
        floor = before(self.state.high or "")
        restarts = _Restarts()
        trail = Trail()
        link = self.state.top_next
        ended = False
        while not ended:
            try:
                found = self._joining(trail, link, self.state.top_low, self.state.top_last)
            except LinkExpiredError as error:
                restarts.count(self.state.top_low, error)
                trail = Trail()
                self.state, link = replace(self.state, top_newest=None, top_next=None), None
                continue
            for listed in found:
                yield self._moved(listed, **self._from_top(listed, floor))
                self.seen.update(listed.entries())
                link = self.state.top_next
                ended = link is None
                if ended:
                    break

    def _joining(self, trail: Trail, link: str | None, low: str | None, last: str | None) -> list[Listed[T]]:
        """The next page, if it joins what was read; else the nearest before it that does.

        Where that one ends exactly where the reading ended, the server leaves no overlap, and the page behind it is
        given too: it is read between two equal readings of the page before it, so nothing moved meanwhile.

        Raises:
            LinkLoopError, UnsteadyListingError
        """
        if link is None:
            return [self.fetch(None)]
        listed = self.fetch(trail.follow(link))
        behind: str | None = None
        while listed.earlier is not None and not _joins(listed, low, last):
            self.gaps[link, low] += 1
            if self.gaps[link, low] > RESTARTS:
                raise UnsteadyListingError(
                    f"{link} never joins the page before it. The cursor is kept: run the same command again later"
                )
            trail.followed.clear()
            behind, link = link, listed.earlier
            listed = self.fetch(link)
        if behind is None or not _ends_at(listed, last):
            return [listed]
        for _ in range(RESTARTS):
            following, again = self.fetch(behind), self.fetch(link)
            if again.entries() == listed.entries():
                return [listed, following]
            listed = again
        raise UnsteadyListingError(
            "a listing changes faster than its pages can be read. The cursor is kept: run the same command again later"
        )

    def _from_top(self, listed: Listed[T], floor: str) -> dict[str, str | None]:
        """What a page of the sweep for new changes changes in the cursor."""
        high = self.state.top_newest or newest(listed.updated, self.state.high)
        low = oldest(listed.updated, self.state.top_low)
        if not listed.limited and listed.next is not None and (low is None or low >= floor):
            last = _last(listed, self.state.top_low, self.state.top_last)
            return {"top_newest": high, "top_next": listed.next, "top_low": low, "top_last": last}
        limited = newest([low or high or ""], self.state.limited) if listed.limited else self.state.limited
        done = {"top_newest": None, "top_next": None, "top_low": None, "top_last": None}
        return done | {"high": high, "limited": limited}


def _joins(listed: Listed[Any], low: str | None, last: str | None) -> bool:
    """Whether nothing lies unread between this page and what was read before it.

    All above its first record is newer than that one. So it joins if that is newer than the oldest record read; within
    the same second, if it has the record that was read last.
    """
    if listed.limited or low is None:
        return True
    return bool(listed.updated) and (whole_second(listed.updated[0]) > low or last in listed.marks())


def _ends_at(listed: Listed[Any], last: str | None) -> bool:
    return last is not None and listed.marks()[-1:] == [last]


def _last(listed: Listed[Any], low: str | None, last: str | None) -> str | None:
    """Mark of the last record read, after this page; a page of newer records does not move it."""
    bottom = oldest(listed.updated, None)
    deeper = bottom is not None and (low is None or bottom <= low)
    return listed.marks()[-1] if deeper else last


def dump(state: Forward | Sweep) -> str:
    """JSON text of a cursor, without empty fields."""
    return json.dumps({k: v for k, v in asdict(state).items() if v is not None})


def load_forward(text: str | None) -> Forward:
    """Read a cursor back; an empty or foreign text starts anew, which repeats work but loses nothing."""
    return Forward(at=_field(text, "at"))


def load_sweep(text: str | None) -> Sweep:
    """Read a cursor back; an empty or foreign text starts anew."""
    return Sweep(**{known.name: _field(text, known.name) for known in fields(Sweep)})


def _field(text: str | None, name: str) -> str | None:
    value = read_cursor(text).get(name)
    return value if isinstance(value, str) else None
