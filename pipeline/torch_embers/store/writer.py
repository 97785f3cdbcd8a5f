"""How rows get into the database: those of a transaction all, or none."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from torch_embers.errors import StoreBusyError, StoreError, StoreFullError
from torch_embers.normalize import now_utc
from torch_embers.store import lock, schema, views
from torch_embers.store.connection import WRITE_PATIENCE, connect, ctrl_c, explain, remember
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BULK_RECORDS = 5_000
"""Rows of a transaction that make a row group worth leaving alone."""
MERGE_EVERY = 200
"""Small transactions after which row groups are merged with their neighbours. To do it at every closing of the file
rewrote up to 100,000 items for each page, two thirds of the time of a commit. Unmerged, a page takes 0.3 MB more."""
MERGE_LEAST = 10
"""Small transactions that are worth merging when the writer is done; fewer wait for a later one. Those that earlier
writers left count, too. What a load leaves is no such row group: to merge that rewrote the whole file for nothing."""
MERGED_TABLES = ("items", "comments", "events")
"""Tables whose row groups show what small transactions left: every source writes to one of them."""
MERGE_PATIENCE = 1.0
"""Seconds to wait for a reader before row groups are left as they are at the end; the next writer merges them."""


class Writer:
    """The only one who changes the database; made by ``Store.writer``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.Lock()
        self._unmerged = 0

    @contextmanager
    def transaction(
        self, *, bulk: bool = False, alone: bool = False, patience: float | None = None
    ) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, run the block in one transaction, close the file.

        ``bulk`` says that the block's rows make a row group that can stay as it is; others are merged now and then.
        ``alone`` says that one thread is enough for it, as for every bulk write.

        Raises:
            StoreError: one of its kinds; nothing of the block is kept.
        """
        with self._guard, lock.writers_turn(self.path), ctrl_c():
            merge = self._unmerged >= MERGE_EVERY
            seconds = WRITE_PATIENCE if patience is None else patience
            connection = connect(self.path, read_only=False, patience=seconds, alone=bulk or alone, merge=merge)
            self._unmerged = 0 if merge else self._unmerged + (not bulk)
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except duckdb.Error as error:
                raise explain(error, self.path) from error
            finally:
                self._close(connection)

    def count_unmerged(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Count the small row groups that earlier writers left."""
        counts = (connection.execute(_SMALL_GROUPS.format(table=table)).fetchall()[0][0] for table in MERGED_TABLES)
        self._unmerged = max(counts)

    def merge_next(self) -> None:
        """Let the next transaction merge row groups."""
        self._unmerged = MERGE_EVERY

    def merge(self) -> None:
        """Merge the row groups that small transactions left, unless somebody has the file or the disk is full."""
        if self._unmerged >= MERGE_LEAST:
            self.merge_next()
            with suppress(StoreBusyError, StoreFullError), self.transaction(patience=MERGE_PATIENCE) as connection:
                views.refresh(connection)  # DuckDB merges nothing where nothing was written

    def _close(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            connection.close()
            remember(self.path)
        except duckdb.Error as error:
            raise explain(error, self.path) from error


_SMALL_GROUPS = f"""
SELECT count(*) FROM (SELECT max(count) AS size FROM pragma_storage_info('{{table}}') GROUP BY row_group_id)
WHERE size < {BULK_RECORDS}
"""


def create(path: Path) -> None:
    """Make a database with its tables under another name first: a kill must leave none without tables."""
    unfinished = path.with_name(f"{path.name}.new")
    try:
        for leftover in (unfinished, unfinished.with_name(f"{unfinished.name}.wal")):
            leftover.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{error.filename} is in the way of {path}: move it away ({error.strerror})") from error
    with Writer(unfinished).transaction() as connection:
        schema.make(connection, now_utc(), __version__)
        views.refresh(connection)
    unfinished.replace(path)


@contextmanager
def writer(path: Path, purpose: str) -> Iterator[Writer]:
    """Hold the writer's lock while the block runs; creates the database where there is none.

    Raises:
        StoreBusyError: another writer is at work; the message names it.
    """
    with lock.writer_lock(path, purpose):
        if not os.path.lexists(path):
            create(path)
        made = Writer(path)
        with made.transaction() as connection:
            if not schema.file_version(connection):
                schema.make(connection, now_utc(), __version__)
            views.refresh(connection)
            made.count_unmerged(connection)
        yield made
        made.merge()
