"""The walk through a listing newest change first; ``cursor.py`` says why there are two.

A record can stand in the wrong place: an item that was transferred brings events with their old times among the new
ones. So what was read before is recognised in a list of events by number **and** time; in lists that the server
sorts by time, by the time of the last record of a page.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from torch_embers.mine.github.cursor import (
    RESTARTS,
    LinkExpiredError,
    Listed,
    Sweep,
    Trail,
    UnsteadyListingError,
    before,
    newest,
    whole_second,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

T = TypeVar("T")


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
        high, low = _settled_newest(listed, None), _lowest(listed, None)
        if high is None and listed.next is not None:
            high = listed.settled  # no record of the page was answered: each of them waits by its place
        last = _last(listed, None, None)
        yield self._moved(listed, high=high, high_id=_highest(listed, None), rest=listed.next, low=low, last=last)

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
                    yield self._moved(listed, rest=None, limited=self._limit(self.state.last))
                else:
                    last = _last(listed, self.state.low, self.state.last)
                    low = _lowest(listed, self.state.low)
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
                self.state, link = replace(self.state, top_newest=None, top_id=None, top_next=None), None
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

        Where that one is whole and ends exactly where the reading ended, the server leaves no overlap, and the page
        behind it is given too: it is read between two equal readings of the page before it, so nothing moved meanwhile.

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
        if behind is None or listed.cut or not _ends_at(listed, last):
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
        high = self.state.top_newest or _settled_newest(listed, self.state.high)
        high_id = _highest(listed, self.state.top_id)
        if not listed.limited and listed.next is not None and not self._is_known(listed, floor):
            low, last = self.state.top_low, self.state.top_last
            place = {"top_next": listed.next, "top_low": _lowest(listed, low), "top_last": _last(listed, low, last)}
            return place | {"top_newest": high, "top_id": high_id}
        limited = self._limit(self.state.top_last) if listed.limited else self.state.limited
        done = dict.fromkeys(("top_newest", "top_id", "top_next", "top_low", "top_last"))
        return done | {"high": high, "high_id": _highest(listed, high_id, self.state.high_id), "limited": limited}

    def _is_known(self, listed: Listed[T], floor: str) -> bool:
        """Whether a page reaches what an earlier sweep has read."""
        is_old = [whole_second(moment) < floor for moment in listed.updated]
        if not listed.ids:
            return is_old[-1:] == [True]
        if (known := self.state.high_id) is None:
            return all(is_old)
        return any(old and place <= known for old, place in zip(is_old, listed.order(), strict=True))

    def _limit(self, last: str | None) -> str | None:
        """Before which time records may be missing, where the server lists no further than behind this mark."""
        return newest([last.rpartition(" ")[2] if last else self.state.high or ""], self.state.limited)


def _settled_newest(listed: Listed[Any], known: str | None) -> str | None:
    """The newest change of a page and of what was known, not later than what can still come to light behind it."""
    high = newest(listed.updated, known)
    if high is None or listed.settled is None or high <= listed.settled:
        return high
    return max(listed.settled, known or "")


def _lowest(listed: Listed[Any], low: str | None) -> str | None:
    """What the record furthest down is sorted by, of a page and of what was read before it."""
    return min([*listed.order(), *([low] if low else [])], default=None)


def _highest(listed: Listed[Any], *known: str | None) -> str | None:
    """The highest number of a record of a page and of what was read before; ``None`` where its list goes by time."""
    return max([*(listed.order() if listed.ids else ()), *filter(None, known)], default=None)


def _joins(listed: Listed[Any], low: str | None, last: str | None) -> bool:
    """Whether nothing lies unread between this page and what was read before it.

    All above its first record stands higher in the list. So it joins if that stands higher than the lowest record read;
    where they are sorted by the same time, if it has the record that was read last.
    """
    if listed.limited or low is None:
        return True
    return bool(listed.updated) and (listed.order()[0] > low or last in listed.marks())


def _ends_at(listed: Listed[Any], last: str | None) -> bool:
    return last is not None and listed.marks()[-1:] == [last]


def _last(listed: Listed[Any], low: str | None, last: str | None) -> str | None:
    """Mark of the last record read, after this page; a page of newer records does not move it."""
    bottom = _lowest(listed, None)
    deeper = bottom is not None and (low is None or bottom <= low)
    return listed.marks()[-1] if deeper else last
