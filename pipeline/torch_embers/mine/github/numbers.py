"""Mining single items by number, by either way of asking GitHub."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from torch_embers.mine.github import identity
from torch_embers.mine.github.graphql import MOST_FAILED, GraphqlSource
from torch_embers.mine.github.live import finish, together
from torch_embers.mine.github.replies import CursorRefusedError, GoneError, MovedError, NotFoundError, UnansweredError
from torch_embers.mine.github.rest import timeline
from torch_embers.mine.records.graphql_answers import FAILURE_KIND
from torch_embers.mine.source import read_cursor
from torch_embers.normalize import iso_utc, now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.mine.github.live import LiveSource
    from torch_embers.mine.github.rest import RestSource
    from torch_embers.store.records import Batch, Page
    from torch_embers.store.store import Waiting


RESUMED_WITHIN = timedelta(days=1)
"""An interrupted pass that is older begins anew: what it read first may have changed since."""


@dataclass(slots=True)
class NumbersSource:
    """Mines single items by number, completely; items that are gone become tombstones."""

    inner: RestSource | GraphqlSource
    numbers: Sequence[int]
    known: frozenset[int] = frozenset()
    """Numbers that the database has: only these can have gone."""
    patience: timedelta = RESUMED_WITHIN
    """Age up to which an interrupted pass goes on; none: every run reads all numbers."""

    @property
    def name(self) -> str:
        """Name of the source that answers."""
        return self.inner.name

    @property
    def repo(self) -> str:
        """The repository's present name, once known."""
        return self.inner.repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per item; an interrupted pass goes on behind the last one, unless it is too old."""
        if not self.inner.full_name:
            self.inner.resolve()
        stream = self.inner.scope.stream(f"numbers:{hash_of(self.numbers)}")
        done, began = self._place(read_cursor(state.get(stream)))
        for place in range(done, len(self.numbers)):
            base, *more = self.fetch(self.numbers[place])
            yield finish(base, more, self, stream, json.dumps({"done": place + 1, "began": began}))

    def _place(self, cursor: Mapping[str, Any]) -> tuple[int, str]:
        """How many numbers this pass has read, and when it began."""
        now = now_utc()
        done, began = int(cursor.get("done") or 0), iso_utc(cursor.get("began"))
        if began is None or done >= len(self.numbers):
            return 0, now
        young = datetime.fromisoformat(now) - datetime.fromisoformat(began) < self.patience
        return (done, began) if young else (0, now)

    def fetch(self, number: int) -> list[Page]:
        """The pages of one item, or a tombstone.

        Raises:
            UnknownRepositoryError: it is the repository that is gone.
        """
        try:
            if isinstance(self.inner, GraphqlSource):
                with suppress(NotFoundError):
                    return self.inner.by_number(number)
            # also where GraphQL finds nothing: REST says whether an item is gone, and where a transferred one went
            return self._by_rest(self.inner, number)
        except MovedError as moved:
            if identity.place_of(moved.location) == (self.inner.repo_id, number):
                self.inner.resolve()  # the repository was renamed meanwhile
                return self.fetch(number)
            return [self._gone(number, identity.named(self.inner.client, moved.location))]
        except NotFoundError as error:
            self.inner.confirm(error)
            return [self._gone(number, None)]
        except GoneError as error:
            if "disabled" in str(error).lower():  # GitHub says so of each number where a repository has no issues
                raise
            return [self._gone(number, None)]

    def _by_rest(self, source: LiveSource, number: int) -> list[Page]:
        """One item with its timeline.

        Raises:
            NotFoundError, GoneError, MovedError: the item itself is not there, or not any more.
            UnansweredError: GitHub shows the item, but not its timeline.
        """
        path = f"/repos/{source.repo}/issues/{number}"
        answer = source.client.get(path)
        base = source.page("rest.item", path, answer.text.encode())
        comments = answer.data.get("comments") if isinstance(answer.data, dict) else None
        try:
            return [base, *timeline(source, number, comments)]
        except (NotFoundError, GoneError, MovedError) as error:
            source.client.get(path)  # only the item itself says that it is gone; it may have gone meanwhile
            raise UnansweredError(
                f"#{number} is there, but its timeline is not: {error}. "
                "The cursor is kept: run the same command again later"
            ) from error

    def _gone(self, number: int, location: str | None) -> Page:
        return tombstone(self.inner, number, known=number in self.known, location=location)


@dataclass(frozen=True, slots=True)
class ClosingsSource:
    """Asks why issues were closed: the timeline of each, one request where it is short."""

    inner: RestSource
    numbers: Sequence[int]

    @property
    def name(self) -> str:
        """Name of the source that answers."""
        return self.inner.name

    @property
    def repo(self) -> str:
        """The repository's present name."""
        return self.inner.repo

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield one batch per issue that still has a timeline."""
        del state  # what is left to ask is what has no closing event yet
        for number in self.numbers:
            try:
                base, *more = timeline(self.inner, number)
            except (NotFoundError, GoneError, MovedError) as error:
                if isinstance(error, NotFoundError):
                    self.inner.confirm(error)
                continue
            yield finish(base, more, self, self.inner.scope.stream("closings"), json.dumps({"number": number}))


def tombstone(source: LiveSource, number: int, *, known: bool, location: str | None = None) -> Page:
    """A page of our own that notes that an item is gone."""
    note = {"number": number, "known": known, "transferred_to": location}
    body = json.dumps(note).encode()
    return source.page("github.tombstone", f"item {number}", body)


def waiting_batches(source: GraphqlSource, waiting: Sequence[Waiting]) -> Iterator[Batch]:
    """Read again what was incomplete; what is still not answered goes on waiting.

    Raises:
        UnansweredError: not even a part came for several in a row.
    """
    failed = 0
    for entry in waiting:
        try:
            pages = _again(source, entry)
            failed = 0
        except (UnansweredError, CursorRefusedError) as error:
            failed += 1
            if failed >= MOST_FAILED:
                raise
            pages = [_failure(source, entry, str(error))]
        yield together(*pages)


def _again(source: GraphqlSource, entry: Waiting) -> list[Page]:
    if entry.number is None:
        return source.by_place(entry.place)
    known = frozenset({entry.number} if entry.known else ())
    return NumbersSource(source, [entry.number], known).fetch(entry.number)


def _failure(source: GraphqlSource, entry: Waiting, message: str) -> Page:
    note = {"place": entry.place, "number": entry.number, "message": message}
    return source.page(FAILURE_KIND, f"again {entry.place}", json.dumps(note).encode())


def hash_of(numbers: Sequence[int]) -> str:
    """Short name of a list of numbers."""
    return hashlib.blake2b(",".join(map(str, numbers)).encode(), digest_size=4).hexdigest()
