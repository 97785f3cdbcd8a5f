"""One mine from source to store: choose the source, commit page by page, check the end, link what changed."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.errors import EmbersError, ShortListingError, StoreMissingError
from torch_embers.link.stage import LinkCounts, link_changed
from torch_embers.mine import readers
from torch_embers.mine.files.catalog import CatalogSource
from torch_embers.mine.git.git_records import HISTORY_KIND
from torch_embers.mine.git.gitlog import GitSource
from torch_embers.mine.github import identity
from torch_embers.mine.github.cursor import Sweep, dump
from torch_embers.mine.github.graphql import GraphqlSource
from torch_embers.mine.github.live import LiveSource, Totals
from torch_embers.mine.github.missed_comments import missed_comments, read_missed
from torch_embers.mine.github.numbers import NumbersSource, waiting_batches
from torch_embers.mine.github.presence import PresenceSource
from torch_embers.mine.github.replies import BudgetError
from torch_embers.mine.github.rest import RestSource
from torch_embers.mine.kept import kept_histories
from torch_embers.mine.scope import Scope
from torch_embers.normalize import now_utc
from torch_embers.progress import Silent
from torch_embers.store.records import Batch, SyncState
from torch_embers.store.store import Store
from torch_embers.store.tables import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    import pyarrow as pa

    from torch_embers.mine.source import Source
    from torch_embers.progress import Progress
    from torch_embers.store.store import Waiting
    from torch_embers.store.writer import Prepared, Writer

AHEAD = 2
"""Batches that are read while one is written: DuckDB compresses while Python parses, on two cores."""
COMMIT_RECORDS = 20_000
"""Batches that wait are written in one transaction up to this size: every closing of the file costs a checkpoint."""
COMMIT_BYTES = 64 << 20
"""... and up to this one, so that few records of many megabytes do not pile up in memory."""
LINGER = 3.0
"""Seconds for which small batches wait for more: of the 80 ms of CPU for a page of its own DuckDB takes 55 to open and
close the file. A page that comes every second shares that with two others."""
LINGER_RECORDS = 2_000
"""A batch of this size waits for no other."""
COUNT_TOLERANCE = 0.001
"""Share of items that may be missing at the end of a full listing: the search index lags behind by minutes."""
COUNT_SLACK = 2
END_TRIES = 3
LISTED_AGAIN = ("items", "comments", "events")
"""What a run may meet twice: pages of a listing overlap, and its top is read again."""


@dataclass(slots=True)
class Report:
    """What a mine did."""

    source: str
    repo: str
    items: int = 0
    comments: int = 0
    events: int = 0
    commits: int = 0
    rejects: int = 0
    pages: int = 0
    seconds: float = 0.0
    stopped: str = ""
    """Why it ended early though nothing failed (the budget)."""
    notes: list[str] = field(default_factory=list)
    links: LinkCounts | None = None
    waiting: list[Waiting] = field(default_factory=list)
    """Items of which a part could not be read; each run reads them again."""
    _met: dict[str, list[np.ndarray]] = field(default_factory=lambda: {name: [] for name in LISTED_AGAIN}, repr=False)
    """Hashes of the keys of what came, 8 bytes a record."""

    def add(self, batch: Prepared) -> None:
        """Note a committed batch."""
        for name in ("commits", "rejects"):
            setattr(self, name, getattr(self, name) + batch.count(name))
        for name, hashes in self._met.items():
            hashes += [_hashes(part, KEYS[name]) for part in batch.tables.get(name, ())]
        self.pages += batch.count("raw_pages")

    def count(self) -> None:
        """Count what came, each record once."""
        for name, hashes in self._met.items():
            setattr(self, name, _distinct(hashes) if hashes else 0)


def _hashes(part: pa.Table, key: tuple[str, ...]) -> np.ndarray:
    import numpy as np

    columns = [part.column(name).to_pylist() for name in key]
    return np.fromiter(map(hash, zip(*columns, strict=True)), np.int64, part.num_rows)


def _distinct(hashes: list[np.ndarray]) -> int:
    import numpy as np  # not where nothing is new: it takes a tenth of such a mine

    return len(np.unique(np.concatenate(hashes)))


@dataclass(frozen=True, slots=True)
class _End:
    """What the reading thread sends last: its exception, if there was one."""

    error: BaseException | None = None


def ahead(batches: Iterator[Prepared], depth: int = AHEAD) -> Iterator[Prepared]:
    """Read batches in a thread of their own, at most ``depth`` ahead of the consumer; what waits comes as one.

    An exception of the reader reaches the consumer behind everything read before it; when the consumer stops,
    so does the reader.
    """
    waiting: queue.Queue[Prepared | _End] = queue.Queue(depth)
    stop = threading.Event()

    def put(entry: Prepared | _End) -> None:
        while not stop.is_set():
            with suppress(queue.Full):
                waiting.put(entry, timeout=0.1)
                return

    def run() -> None:
        try:
            for batch in batches:
                put(batch)
                if stop.is_set():
                    return
        except BaseException as error:  # noqa: BLE001 - handed over, not swallowed
            put(_End(error))
        else:
            put(_End())

    thread = threading.Thread(target=run, name="embers-reader", daemon=True)
    thread.start()
    try:
        entry: Prepared | _End | None = None
        while not isinstance(entry := entry or waiting.get(), _End):
            merged, entry = _gathered(entry, waiting)
            yield merged
        if entry.error is not None:
            raise entry.error
    finally:
        stop.set()
        thread.join(timeout=5)


def _gathered(first: Prepared, waiting: queue.Queue[Prepared | _End]) -> tuple[Prepared, Prepared | _End | None]:
    """``first`` with the batches that wait behind it or come soon, and what ended them.

    That is the end of all, or a batch that changes the rows committed before it (a rename), and begins a transaction.
    """
    merged = first
    deadline = time.monotonic() + LINGER
    while (size := merged.size()) < COMMIT_RECORDS and merged.bytes() < COMMIT_BYTES:
        left = deadline - time.monotonic() if size < LINGER_RECORDS else 0.0
        try:
            following = waiting.get(timeout=left) if left > 0 else waiting.get_nowait()
        except queue.Empty:
            break
        if isinstance(following, _End) or following.stands_alone():
            return merged, following
        merged.extend(following)
    return merged, None


def _drain(
    writer: Writer, batches: Iterator[Batch], report: Report, progress: Progress, *, at_once: bool = False
) -> None:
    prepared = (writer.prepare(batch) for batch in batches)
    for batch in [_joined(writer, prepared)] if at_once else ahead(prepared):
        if batch.outdated:
            for rows in kept_histories(Store(writer.path), batch.outdated):
                batch.keep(writer.prepare(rows))
        writer.commit(batch)
        report.add(batch)
        progress.advanced(batch.count("items") + batch.count("commits"))


def _joined(writer: Writer, batches: Iterator[Prepared]) -> Prepared:
    whole = writer.prepare(Batch())
    for batch in batches:
        whole.extend(batch)
    return whole


_HELD = """
SELECT kind, count(*) FROM items
WHERE lower(repo) = lower($repo) AND deleted_at IS NULL AND $state IN ('all', state)
  AND ($since IS NULL OR updated_at >= $since::TIMESTAMP)
  AND (len($labels) = 0 OR list_has_any([lower(label) for label in labels], $labels))
GROUP BY kind
"""


def stored(store: Store, repo: str, bounds: Scope | None = None) -> Totals:
    """Issues and pull requests of a repository in the database.

    Args:
        store: the database.
        repo: ``owner/name``.
        bounds: count only what lies in them; of several labels any is enough, because trackers differ in that.
    """
    bounds = bounds or Scope(repo)
    labels = [label.lower() for label in bounds.labels]
    given = {"repo": repo, "state": bounds.state, "since": bounds.since, "labels": labels}
    with store.read() as connection:
        counts = dict(connection.execute(_HELD, given).fetchall())
    return Totals(counts.get("issue", 0), counts.get("pull", 0))


def missing(expected: Totals, held: Totals, *, exact: bool = False) -> Totals:
    """How many items of each kind a listing left out, beyond what an index that lags behind explains (or ``exact``)."""
    return Totals(_lacking(expected.issues, held.issues, exact), _lacking(expected.pulls, held.pulls, exact))


def _lacking(expected: int | None, held: int | None, exact: bool) -> int:
    if expected is None:
        return 0
    lacking = expected - (held or 0)
    return lacking if lacking > (0 if exact else max(COUNT_SLACK, expected * COUNT_TOLERANCE)) else 0


def _named(lacking: Totals) -> str:
    """``3 issues and 2 pull requests``."""
    named = {"issues": lacking.issues, "pull requests": lacking.pulls}
    return " and ".join(f"{count} {name}" for name, count in named.items() if count)


def _mine_and_check(
    store: Store, writer: Writer, source: Source, report: Report, progress: Progress, sleep: Callable[[float], None]
) -> None:
    """Read a source to its end, and again where the tracker counts more items."""
    live = source.inner if isinstance(source, NumbersSource | PresenceSource) else source
    if isinstance(live, LiveSource):
        identity.settle(store, writer, live)
    for attempt in range(1, END_TRIES + 1):
        batches = source.batches(store.cursors(source.repo, source.name))
        _drain(writer, batches, report, progress, at_once=isinstance(source, GitSource))
        report.repo = source.repo
        _read_waiting(store, writer, source, report, progress)
        if isinstance(source, RestSource) and source.all_comments:
            _drain(writer, read_missed(source, missed_comments(store, source.repo)), report, progress)
        if not isinstance(source, RestSource | GraphqlSource) or not _checkable(source):
            return
        expected = source.expected()
        held = stored(store, source.repo, source.scope)
        lacking = missing(expected, held)
        if not lacking.all:
            _note_few(report, missing(expected, held, exact=True))
            return
        progress.said(f"the listing ended, but GitHub counts {_named(lacking)} more: reading its end again")
        sleep(min(attempt, source.client.patience.max_wait))
        if isinstance(source, GraphqlSource) and lacking.pulls and attempt == END_TRIES - 1:
            # newest first: what lies behind a false end is met again only from the top
            anew = SyncState(source.repo, source.name, source.scope.stream("pulls"), dump(Sweep()), now_utc())
            _drain(writer, iter([Batch(cursors=[anew])]), report, progress)
    raise ShortListingError(
        f"{source.repo}: the listing ended {END_TRIES} times with {_named(lacking)} missing of {expected.all}. "
        "What was read is kept; run `embers mine` again later"
    )


def _note_few(report: Report, few: Totals) -> None:
    """Name a difference that the lag of the search may explain: it is no error, and is not passed over."""
    if few.all:
        report.notes.append(
            f"GitHub's search counts {_named(few)} more than are stored. Its count lags behind by minutes; "
            "where this stays, `embers mine --check-numbers` finds them"
        )


def _read_waiting(store: Store, writer: Writer, source: Source, report: Report, progress: Progress) -> None:
    """Read again the items that were not whole, in this run or an earlier one."""
    inner = _asking(source)
    if inner is None:
        return
    for numbered in (False, True):  # what waits by its place may get a number, and is read by that then
        waiting = [entry for entry in _waiting(store, source) if (entry.number is not None) is numbered]
        _drain(writer, waiting_batches(inner, waiting), report, progress)


def _waiting(store: Store, source: Source) -> list[Waiting]:
    inner = _asking(source)
    return store.waiting(inner.repo, inner.name) if inner is not None else []


def _asking(source: Source) -> GraphqlSource | None:
    """The source that can read single items again."""
    inner = source.inner if isinstance(source, NumbersSource | PresenceSource) else source
    return inner if isinstance(inner, GraphqlSource) else None


def _checkable(source: RestSource | GraphqlSource) -> bool:
    """Whether GitHub counts what was listed: it does up to now, not up to a time in the past."""
    return source.complete and not source.scope.until


def mine(
    store: Store,
    source: Source,
    *,
    progress: Progress | None = None,
    link: bool = True,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Mine one source into the store.

    Raises:
        EmbersError: from the source or the store; every page committed before it stays, and is linked.
    """
    progress = progress or Silent()
    report = Report(source.name, source.repo)
    started = time.monotonic()
    with store.writer(f"embers mine --source {source.name}", create=True) as writer:
        try:
            _mine_and_check(store, writer, source, report, progress, sleep)
        except BudgetError as stop:
            report.stopped = str(stop)
        except BaseException as end:
            if link:
                _link_before(end, store, writer, progress)
            raise
        finally:
            report.seconds = time.monotonic() - started
        report.count()
        report.notes += getattr(source, "notes", [])
        report.waiting = _waiting(store, source)
        if link:
            report.links = link_changed(store, writer)
    return report


def _link_before(end: BaseException, store: Store, writer: Writer, progress: Progress) -> None:
    """Link what was stored before a mine ended in an error; that error is the one to report, not one of the links."""
    if isinstance(end, KeyboardInterrupt):
        progress.said("linking what was read; Ctrl-C again ends at once")
    with suppress(EmbersError):
        link_changed(store, writer)


def replay(store: Store, *, progress: Progress | None = None, link: bool = True) -> Report:
    """Rebuild every derived table from the raw pages, without any network.

    Raises:
        StoreError: no database, or it is in use.
    """
    progress = progress or Silent()
    report = Report("replay", "")
    started = time.monotonic()
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: there is nothing to replay, run `embers mine` first")

    def batches() -> Iterator[Batch]:
        for pages in store.pages():
            batch = Batch()
            for page in pages:
                batch.extend(readers.read(page))
                if page.kind == HISTORY_KIND:  # a clone is one transaction of many pages
                    yield batch
                    batch = Batch()
            yield batch

    with store.writer("embers mine --replay") as writer:
        writer.clear_derived()
        _drain(writer, batches(), report, progress)
        report.seconds = time.monotonic() - started
        report.count()
        if link:
            report.links = link_changed(store, writer)
    return report


def mine_catalog(store: Store, repo: str, progress: Progress | None = None, *, link: bool = True) -> Report:
    """Bring the embedded catalog into the store."""
    return mine(store, CatalogSource(repo), progress=progress, link=link)


def link_only(store: Store) -> LinkCounts:
    """Run the link stage alone."""
    with store.writer("embers mine") as writer:
        return link_changed(store, writer)
