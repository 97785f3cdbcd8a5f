"""How a batch gets into the database: whole, or not at all."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import duckdb
import zstandard

from torch_embers.errors import StoreBusyError, StoreError, StoreFullError
from torch_embers.normalize import now_utc
from torch_embers.store import lock, outdated, readings, renames, schema, sql, views
from torch_embers.store.connection import WRITE_PATIENCE, connect, ctrl_c, explain, remember
from torch_embers.store.tables import (
    DERIVED_TABLES,
    KEYS,
    OF_ONE_FILE,
    PAGE_COLUMNS,
    TABLES,
    joined,
    numbered,
    pages_to_arrow,
    to_arrow,
)
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from torch_embers.store.records import Batch, Outdated, Reading

BULK_RECORDS = 5_000
"""A batch of this size makes a row group that is worth leaving alone."""
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
PAGE_LEVEL = 1


class Writer:
    """The only one who changes the database; made by ``Store.writer``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._compressor = zstandard.ZstdCompressor(level=PAGE_LEVEL)
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

    def prepare(self, batch: Batch) -> Prepared:
        """Bring a batch into the form that DuckDB takes; may run in another thread than ``commit``."""
        tables = {
            table: [to_arrow(table, rows)] for attribute, table in TABLES.items() if (rows := getattr(batch, attribute))
        }
        if batch.pages:
            tables["raw_pages"] = [pages_to_arrow(batch.pages, self._compressor)]
        return Prepared(tables, list(batch.readings), list(batch.outdated))

    def commit(self, batch: Batch | Prepared) -> None:
        """Write a batch, its pages and its cursors: all of it, or nothing."""
        prepared = batch if isinstance(batch, Prepared) else self.prepare(batch)
        if not prepared.tables and not prepared.readings and not prepared.outdated:
            return
        with self.transaction(bulk=prepared.size() >= BULK_RECORDS, alone=True) as connection:
            # first, because the rows that follow have the new names
            for part in prepared.tables.get("repositories", ()):
                renames.apply(connection, part.to_pylist())
            outdated.forget(connection, prepared.outdated)
            _put(connection, prepared.kept)
            _put(connection, prepared.tables)
            if prepared.readings:
                staged = {table: joined(parts) for table, parts in prepared.tables.items()}
                readings.settle(connection, prepared.readings, staged)

    def clear_derived(self) -> None:
        """Empty what a replay rebuilds, rows from pages and links; pages, cursors and labels by hand stay."""
        with self.transaction() as connection:
            for table in (*DERIVED_TABLES, "incomplete_items"):
                connection.execute(f"DELETE FROM {table} WHERE page_id IS NOT NULL")
            for table in ("links", "components", "link_scans"):
                connection.execute(f"DELETE FROM {table}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Batches as arrow tables by table name, in order of arrival."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)
    readings: list[Reading] = field(default_factory=list)
    outdated: list[Outdated] = field(default_factory=list)
    kept: dict[str, list[pa.Table]] = field(default_factory=dict)
    """Rows of earlier pages that are written again between what is outdated and the new rows."""

    def count(self, table: str) -> int:
        """Rows for one table."""
        return sum(part.num_rows for part in self.tables.get(table, ()))

    def size(self) -> int:
        """Rows for all tables."""
        return sum(self.count(table) for table in self.tables)

    def bytes(self) -> int:
        """Memory that the rows take."""
        return sum(part.nbytes for parts in self.tables.values() for part in parts)

    def stands_alone(self) -> bool:
        """Whether it changes what was committed before it, so that it must begin a transaction."""
        return bool(self.count("repositories") or self.outdated)

    def extend(self, other: Prepared) -> None:
        """Append what came after this."""
        _append(self.tables, other.tables)
        _append(self.kept, other.kept)
        self.readings.extend(other.readings)
        self.outdated.extend(other.outdated)

    def keep(self, rows: Prepared) -> None:
        """Write these again, behind what goes and before everything else."""
        _append(self.kept, rows.tables)


def _append(tables: dict[str, list[pa.Table]], more: Mapping[str, list[pa.Table]]) -> None:
    for table, parts in more.items():
        tables.setdefault(table, []).extend(parts)


def _put(connection: duckdb.DuckDBPyConnection, tables: Mapping[str, list[pa.Table]]) -> None:
    """Write rows of several tables."""
    for table, parts in tables.items():
        if table in _ROW_BY_ROW:
            _ROW_BY_ROW[table](connection, [row for part in parts for row in part.to_pylist()])
            continue
        connection.register("stage", numbered(parts))
        of_one_file = sql.only_last_page(table) if table in OF_ONE_FILE else []
        for statement in (*_statements(connection, table), *of_one_file):
            connection.execute(statement)
        connection.unregister("stage")


_SMALL_GROUPS = f"""
SELECT count(*) FROM (SELECT max(count) AS size FROM pragma_storage_info('{{table}}') GROUP BY row_group_id)
WHERE size < {BULK_RECORDS}
"""


def _put_pages(connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add the pages that the store does not have yet."""
    page_ids = [row["page_id"] for row in rows]
    query = "SELECT page_id FROM raw_pages WHERE page_id IN (SELECT unnest(?))"
    known = {page_id for (page_id,) in connection.execute(query, [page_ids]).fetchall()}
    query = "SELECT coalesce(max(seq), 0), coalesce(max(batch), 0) + 1 FROM raw_pages"
    [(last, batch)] = connection.execute(query).fetchall()
    for seq, row in enumerate((row for row in rows if row["page_id"] not in known), start=last + 1):
        connection.execute(_PAGE_INSERT, [seq, batch, *(row[name] for name in _PAGE_VALUES)])


def _put_cursors(connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Save the last cursor of each stream."""
    key = KEYS["sync_state"]
    latest: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for row in rows:
        place = tuple(row[name] for name in key)
        latest.pop(place, None)
        latest[place] = row
    for place, row in latest.items():
        connection.execute(_CURSOR_DELETE, place)
        connection.execute(_CURSOR_INSERT, [*place, row["cursor"], row["updated_at"]])


_PAGE_VALUES = (*PAGE_COLUMNS, "size", "body")
_PAGE_INSERT = f"""
INSERT INTO raw_pages (seq, batch, {", ".join(_PAGE_VALUES)})
VALUES (?, ?, {", ".join("?::TIMESTAMP" if name == "fetched_at" else "?" for name in _PAGE_VALUES)})
"""
_CURSOR_DELETE = "DELETE FROM sync_state WHERE repo = ? AND source = ? AND stream = ?"
_CURSOR_INSERT = """
INSERT INTO sync_state (repo, source, stream, cursor, updated_at) VALUES (?, ?, ?, ?, try_cast(? AS TIMESTAMP))
"""
_ROW_BY_ROW = {"raw_pages": _put_pages, "sync_state": _put_cursors}
"""Tables of which a transaction writes a few rows: plain statements take 2 ms of CPU for them, staging took 20."""


def _statements(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """What to run for the staged rows of a table."""
    if not KEYS[table]:
        return sql.append_rows(table)
    if table == "users":
        return sql.merge_users()
    new = all(connection.execute(query).fetchall() == [(True,)] for query in sql.all_new(table))
    if table == "items":
        return sql.insert_new_items() if new else sql.merge_items()
    if new:
        return sql.append_rows(table)
    return sql.merge_events() if table == "events" else sql.replace_rows(table)


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
    """Hold the writer's lock while the block runs; creates or upgrades the database first.

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
