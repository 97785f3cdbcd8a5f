"""How a listing that changes while it is read is walked without losing an item. Pure: fetching is passed in.

Two walks, because GitHub offers two kinds of listings:

``keyset``  oldest change first, with a lower bound (`since`). Every page is asked for anew from the newest change
            seen so far minus one second. Page numbers are not used to go on: when an item on an earlier page
            changes, it moves to the end, everything behind it moves up by one, and page N+1 would start one
            item too late. Only inside one second, where the bound cannot move, the listing's own links are followed,
            and followed again until two walks agree: then nothing moved during the first.
``sweep``   newest change first, without a bound: new changes push items down, so following links can repeat an
            item but never skip one. What is new since the last sweep is read down to its newest item; the rest of
            an unfinished first sweep goes on from its saved link.

Cursors are times as ISO 8601 text in UTC, which sort as text.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torch_embers.mine.source import read_cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

OVERLAP = timedelta(seconds=1)
"""Servers differ in whether `since` includes its own second, and one second can hold many items."""

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

    def entries(self) -> list[tuple[object, str]]:
        """Each record with the time of its last change."""
        return list(zip(self.keys, self.updated, strict=True))


class LinkExpiredError(Exception):
    """A saved link is no longer accepted: the walk starts that part again."""


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
class _Walk:
    """The records seen while links were followed."""

    entries: list[tuple[object, str]]
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
            listed = fetch(None, listed.next)
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


def sweep(fetch: Callable[[str | None], Listed[T]], state: Sweep) -> Iterator[tuple[Listed[T], Sweep]]:
    """Walk a listing newest change first: what is new, then what is left of the first sweep.

    Args:
        fetch: called with a link, or ``None`` for the beginning; may raise ``LinkExpiredError`` for a saved link.
        state: where an earlier walk ended.

    Yields:
        Each page with the cursor that is safe to save together with it.
    """
    if state.high is None:
        listed = fetch(None)
        state = Sweep(high=newest(listed.updated, None), rest=listed.next)
        yield listed, state
    else:
        resumed = state.top_next is not None
        for listed, moved in _top(fetch, state):
            state = moved
            yield listed, state
        # what changed while an interrupted run lay idle stands above the place where it went on
        for listed, moved in _top(fetch, state) if resumed else ():
            state = moved
            yield listed, state
    while state.rest is not None:
        try:
            listed = fetch(state.rest)
        except LinkExpiredError:
            # the position is lost: read everything again from the top, which is slow but loses nothing
            listed = fetch(None)
        state = replace(state, rest=listed.next)
        yield listed, state


def _top(fetch: Callable[[str | None], Listed[T]], state: Sweep) -> Iterator[tuple[Listed[T], Sweep]]:
    """Read what changed since the last sweep."""
    floor = before(state.high or "")
    link = state.top_next
    while True:
        try:
            listed = fetch(link)
        except LinkExpiredError:
            state, link = replace(state, top_newest=None, top_next=None), None
            continue
        top = state.top_newest or newest(listed.updated, state.high)
        reached = any(whole_second(u) < floor for u in listed.updated)
        if reached or listed.next is None:
            yield listed, replace(state, high=top, top_newest=None, top_next=None)
            return
        link = listed.next
        state = replace(state, top_newest=top, top_next=link)
        yield listed, state


def dump(state: Forward | Sweep) -> str:
    """JSON text of a cursor, without empty fields."""
    return json.dumps({k: v for k, v in asdict(state).items() if v is not None})


def load_forward(text: str | None) -> Forward:
    """Read a cursor back; an empty or foreign text starts anew, which repeats work but loses nothing."""
    return Forward(at=_field(text, "at"))


def load_sweep(text: str | None) -> Sweep:
    """Read a cursor back; an empty or foreign text starts anew."""
    return Sweep(**{name: _field(text, name) for name in ("high", "rest", "top_newest", "top_next")})


def _field(text: str | None, name: str) -> str | None:
    value = read_cursor(text).get(name)
    return value if isinstance(value, str) else None
