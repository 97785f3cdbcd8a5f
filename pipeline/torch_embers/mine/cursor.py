"""How a listing that changes while it is read is walked without losing an item. Pure: fetching is passed in.

Two walks, because GitHub offers two kinds of listings:

``keyset``  oldest change first, with a lower bound (`since`). Every page is asked for anew from the newest change
            seen so far minus one second. Page numbers are not used to go on: when an item on an earlier page
            changes, it moves to the end, everything behind it moves up by one, and page N+1 would start one
            item too late. Only inside one second, where the bound cannot move, the listing's own link is followed.
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
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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


def keyset(fetch: Callable[[str | None, str | None], Listed[T]], state: Forward) -> Iterator[tuple[Listed[T], Forward]]:
    """Walk a bounded listing, oldest change first.

    Args:
        fetch: called with (since, link); exactly one of them counts, both ``None`` means from the beginning.
        state: where an earlier walk ended.

    Yields:
        Each page with the cursor that is safe to save together with it.
    """
    at, link, ordered = state.at, None, True
    highest = at
    while True:
        listed = fetch(None if link or at is None else before(at), link)
        highest = newest(listed.updated, highest)
        ordered = ordered and _ascending(listed.updated)
        if listed.next is None:
            yield listed, Forward(highest)
            return
        # a server that ignores the order asked for is walked by its links; only the end makes the cursor safe
        reached = highest if ordered else at
        yield listed, Forward(reached)
        link = listed.next if reached == at else None
        at = reached


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
        for listed, moved in _top(fetch, state):
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
    try:
        value = json.loads(text or "{}").get(name)
    except (ValueError, AttributeError):
        return None
    return value if isinstance(value, str) else None
