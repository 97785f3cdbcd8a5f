"""How a listing that changes while it is read is walked without losing an item. Pure: fetching is passed in.

Two walks, because GitHub offers two kinds of listings:

``keyset``  oldest change first, with a lower bound (`since`). Every page is asked for anew from the newest change
            seen so far minus one second. Page numbers are not used to go on: when an item on an earlier page
            changes, it moves to the end, everything behind it moves up by one, and page N+1 would start one
            item too late. Only inside one second, where the bound cannot move, the listing's own links are followed,
            and followed again until two walks agree: then nothing moved during the first.
``sweep``   newest change first (``sweep.py``), without a bound: new changes push items down, so following links can
            repeat an item but never skip one. What is new since the last sweep is read down to its newest item; the
            rest of an unfinished first sweep goes on from its saved link. An item that leaves the list (deleted,
            closed under a filter) moves everything behind it up. So each page by number begins with the last record
            of the page before it, and a page that does not join is given up for the one before it.

Cursors are times as ISO 8601 text in UTC, which sort as text.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torch_embers.errors import SourceError
from torch_embers.mine.source import read_cursor
from torch_embers.normalize import iso_utc, now_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

OVERLAP = timedelta(seconds=1)
"""Servers differ in whether `since` includes its own second, and one second can hold many items."""
RESTARTS = 3
"""How often a walk whose link is refused begins at the top again without coming further than before."""

UNSETTLED = timedelta(seconds=60)
"""A change gets its time before a list shows it, and servers behind one address differ by seconds: so one of this age
at most can still come to light behind a later one. No cursor is saved beyond it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """One page of a listing."""

    updated: Sequence[str]
    """Time of the last change of each record, as listed; of one that lies in the future the latest that has passed."""
    next: str | None
    """Where the listing itself goes on; ``None`` at its end."""
    payload: T
    keys: Sequence[object]
    """What identifies each record, in the order of ``updated``."""
    limited: bool = False
    """The server lists no further although there is more: the page holds nothing, and nothing follows."""
    earlier: str | None = None
    """The page before this one; ``None`` on the first, and where links name a place that cannot shift."""
    ids: Sequence[int] = ()
    """Number of each record where the listing goes by it rather than by time: the later it came, the higher it is."""
    settled: str | None = None
    """Up to this time no change can come to light later; ``None``: not known, and all counts as settled."""
    cut: bool = False
    """It has fewer records than were asked for and names no page behind it, but there is one."""

    def entries(self) -> list[tuple[object, str]]:
        """Each record with the time of its last change."""
        return list(zip(self.keys, self.updated, strict=True))

    def order(self) -> list[str]:
        """What each record is sorted by, as texts that sort in the same way."""
        return [f"{number:020d}" for number in self.ids] or [whole_second(moment) for moment in self.updated]

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


def before(moment: str, span: timedelta = OVERLAP) -> str:
    """The time ``span`` earlier."""
    parsed = datetime.fromisoformat(whole_second(moment)[:-1]) - span
    return parsed.isoformat() + "Z"


def settled_at(date: object) -> str:
    """Up to when an answer with this ``Date`` shows all changes; this machine's time counts where there is none."""
    return before(time_of(date), UNSETTLED)


def newest(updated: Sequence[str], floor: str | None) -> str | None:
    """The latest of the times and ``floor``, to the second."""
    known = [whole_second(u) for u in updated]
    if floor is not None:
        known.append(floor)
    return max(known, default=None)


@dataclass(slots=True)
class Present:
    """Keeps records of the future from moving a cursor beyond the changes that still come."""

    newest: str | None = None
    """The latest time met so far that had passed."""

    def bounded(self, updated: Sequence[str], date: object, since: str | None = None) -> list[str]:
        """Times of records; in the place of one that is later than its answer, the latest that had passed.

        Args:
            updated: the times.
            date: the answer's header of this name; this machine's time counts where there is none.
            since: lower bound of the listing.
        """
        now = time_of(date)
        passed = [moment for moment in updated if whole_second(moment) <= now]
        self.newest = newest([*passed, *([since] if since else [])], self.newest)
        return [moment if whole_second(moment) <= now else self.newest or now for moment in updated]


def time_of(date: object) -> str:
    """The time of an answer with this ``Date``; this machine's time where there is none."""
    try:
        found = parsedate_to_datetime(str(date)).astimezone(UTC).isoformat()
    except ValueError:
        found = None
    return whole_second(iso_utc(found) or now_utc())


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
    for listed, cursor in _forward(fetch, state.at, steady=steady):
        yield listed, _safe(cursor, listed, state.at)


def _safe(cursor: Forward, listed: Listed[Any], known: str | None) -> Forward:
    """A cursor that goes no further than what is settled; nor back behind where the walk began."""
    if cursor.at is None or listed.settled is None or cursor.at <= listed.settled:
        return cursor
    return Forward(max(listed.settled, known or ""))


def _forward(
    fetch: Callable[[str | None, str | None], Listed[T]], at: str | None, *, steady: bool
) -> Iterator[tuple[Listed[T], Forward]]:
    """The walk of ``keyset``, each page with how far it has come."""
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
    """Oldest record that the first sweep has read, as its list is sorted (``Listed.order``)."""
    top_low: str | None = None
    """The same of the sweep for new changes under way."""
    limited: str | None = None
    """What is older than this may be missing: the server listed no further."""
    last: str | None = None
    """Mark of the last record that the first sweep has read."""
    top_last: str | None = None
    """Mark of the last record that the sweep for new changes under way has read."""
    high_id: str | None = None
    """Where a list goes by the numbers of its records: the highest that was read when a sweep last reached its end."""
    top_id: str | None = None
    """The highest number that the sweep for new changes under way has read."""


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
