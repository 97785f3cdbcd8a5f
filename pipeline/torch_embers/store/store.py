"""The database file: who may open it when, and how a batch gets in whole or not at all.

DuckDB lets no other process open a file that a writer has open. So the writer opens it only for the moment of
each batch, and readers try again for a few seconds: both work while a mine runs for hours.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from typing import TYPE_CHECKING, Any

import duckdb
import zstandard

from torch_embers import resources
from torch_embers.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreMissingError,
    StoreVersionError,
)
from torch_embers.normalize import now_utc
from torch_embers.store import lock, schema, sql, views
from torch_embers.store.records import Batch, Page
from torch_embers.store.tables import (
    BATCH_ATTRIBUTE,
    DERIVED_TABLES,
    KEYS,
    RECORDS,
    numbered,
    pages_to_arrow,
    to_arrow,
)
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

BULK_RECORDS = 5_000
"""A batch of this size makes a row group that is worth leaving alone."""
READ_PATIENCE = 5.0
"""Seconds a reader keeps trying; a writer's batch takes about a second at most."""
WRITE_PATIENCE = 60.0
"""Seconds a writer keeps trying: many short readers may come before it."""
RETRY_PAUSE = 0.02
OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "128MB",
    "force_compression": "zstd",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""DuckDB spills to disk beyond the limit (its default would be 80 % of the machine). Trying every compression on
each write took twice the time of zstd alone and left files half as large again (measured on issue texts). Extensions
stay off: a file that looks like another database's would make DuckDB download one to open it."""
BULK_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"max_vacuum_tasks": 0, "threads": 1}
"""A bulk write leaves the other core to the thread that reads and parses: with two threads of its own it was a third
slower."""
PAGE_LEVEL = 1
INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it runs a statement: a bare RuntimeError."""
STRUCK = "KeyboardInterrupt"
"""What stands in DuckDB's own error when Ctrl-C strikes while it reads a frame of Python's."""

_BUSY = ("Could not set lock", "Conflicting lock", "different configuration", "nique file handle")
_FULL = ("No space left", "Disk quota", "File too large")
_CORRUPT = (
    "not a valid DuckDB",
    "orrupt",
    "erialization",
    "checksum",
    "magic bytes",
    "newer version of DuckDB",
    "Could not read enough bytes",
    "sqlite_scanner",
)


def explain(error: duckdb.Error, path: Path) -> StoreError:
    """Turn DuckDB's error into ours, with advice.

    Raises:
        KeyboardInterrupt: Ctrl-C struck while DuckDB read an object of Python's; it wraps that like any other error.
    """
    if STRUCK in str(error):
        raise KeyboardInterrupt from error
    text = str(error).strip().splitlines()[0][:300]
    said = text.replace(str(path), "")
    if any(mark in said for mark in _BUSY):
        return StoreBusyError(f"{path} is in use by {lock.holder(path)}: try again in a moment")
    if any(mark in said for mark in _FULL):
        return StoreFullError(f"no room for {path}: free some disk and run the same command again ({text})")
    if any(mark in said for mark in _CORRUPT):
        return StoreCorruptError(
            f"{path} cannot be read as a database: restore a copy, or move it away and mine again ({text})"
        )
    return StoreError(f"{path}: {text}")


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Make what DuckDB raises on Ctrl-C, also while it opens a file, what Python raises."""
    try:
        yield
    except RuntimeError as error:
        raise (KeyboardInterrupt if str(error) == INTERRUPTED else error) from error


class Writer:
    """The only one who changes the database; made by ``Store.writer``."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._compressor = zstandard.ZstdCompressor(level=PAGE_LEVEL)
        self._guard = threading.Lock()

    @contextmanager
    def transaction(self, *, bulk: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, run the block in one transaction, close the file.

        ``bulk`` leaves the block's rows in a row group of their own instead of merging them with their neighbours:
        rewriting those at every closing made a bulk load three times slower.

        Raises:
            StoreError: one of its kinds; nothing of the block is kept.
        """
        with self._guard, ctrl_c():
            connection = self._store.connect(read_only=False, patience=WRITE_PATIENCE, bulk=bulk)
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("COMMIT")
            except duckdb.Error as error:
                raise explain(error, self._store.path) from error
            finally:
                self._close(connection)

    def _close(self, connection: duckdb.DuckDBPyConnection) -> None:
        try:
            connection.close()
        except duckdb.Error as error:
            raise explain(error, self._store.path) from error

    def prepare(self, batch: Batch) -> Prepared:
        """Bring a batch into the form that DuckDB takes; may run in another thread than ``commit``."""
        tables = {
            table: [to_arrow(table, rows)]
            for table in RECORDS
            if (rows := getattr(batch, BATCH_ATTRIBUTE.get(table, table)))
        }
        if batch.pages:
            tables["raw_pages"] = [pages_to_arrow(batch.pages, self._compressor)]
        return Prepared(tables)

    def commit(self, batch: Batch | Prepared) -> None:
        """Write a batch, its pages and its cursors: all of it, or nothing."""
        prepared = batch if isinstance(batch, Prepared) else self.prepare(batch)
        if not prepared.tables:
            return
        with self.transaction(bulk=prepared.size() >= BULK_RECORDS) as connection:
            for table, parts in prepared.tables.items():
                connection.register("stage", numbered(parts))
                for statement in _statements(connection, table):
                    connection.execute(statement)
                connection.unregister("stage")

    def clear_derived(self) -> None:
        """Empty what a replay rebuilds, rows from pages and links; pages, cursors and labels by hand stay."""
        with self.transaction() as connection:
            for table in DERIVED_TABLES:
                connection.execute(f"DELETE FROM {table} WHERE page_id IS NOT NULL")
            for table in ("links", "components", "link_scans"):
                connection.execute(f"DELETE FROM {table}")


@dataclass(frozen=True, slots=True)
class Prepared:
    """Batches as arrow tables by table name, in order of arrival."""

    tables: dict[str, list[pa.Table]] = field(default_factory=dict)

    def count(self, table: str) -> int:
        """Rows for one table."""
        return sum(part.num_rows for part in self.tables.get(table, ()))

    def size(self) -> int:
        """Rows for all tables."""
        return sum(self.count(table) for table in self.tables)

    def extend(self, other: Prepared) -> None:
        """Append what came after this."""
        for table, parts in other.tables.items():
            self.tables.setdefault(table, []).extend(parts)


_PAGE_INSERT = """
INSERT INTO raw_pages (seq, batch, page_id, repo, source, kind, request, fetched_at, size, body)
SELECT coalesce((SELECT max(seq) FROM raw_pages), 0) + row_number() OVER (ORDER BY position),
       coalesce((SELECT max(batch) FROM raw_pages), 0) + 1,
       page_id, repo, source, kind, request, fetched_at::TIMESTAMP, size, body
FROM stage ANTI JOIN raw_pages USING (page_id)
"""


def _statements(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    """What to run for the staged rows of a table."""
    if table == "raw_pages":
        return [_PAGE_INSERT]
    if not KEYS[table]:
        return sql.append_rows(table)
    [(new,)] = connection.execute(sql.all_new(table)).fetchall()
    if table == "items":
        return sql.insert_new_items() if new else sql.merge_items()
    return sql.append_rows(table) if new else sql.replace_rows(table)


class Store:
    """The embers database at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether the file is there and not empty."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def connect(self, *, read_only: bool, patience: float, bulk: bool = False) -> duckdb.DuckDBPyConnection:
        """Open the file, trying again while somebody else has it, and check its schema version.

        Raises:
            StoreMissingError, StoreBusyError, StoreCorruptError, StoreVersionError
        """
        if read_only and not self.exists():
            raise StoreMissingError(f"no database at {self.path}: run `embers mine` first")
        deadline = time.monotonic() + patience
        while True:
            try:
                connection = duckdb.connect(
                    str(self.path), read_only=read_only, config=OPTIONS | (BULK_OPTIONS if bulk else {})
                )
                break
            except duckdb.Error as error:
                known = explain(error, self.path)
                if not isinstance(known, StoreBusyError) or time.monotonic() >= deadline:
                    raise known from error
                time.sleep(RETRY_PAUSE)
        try:
            schema.check_version(connection, self.path)
        except (duckdb.Error, StoreVersionError, RuntimeError) as error:
            connection.close()
            if isinstance(error, duckdb.Error):
                raise explain(error, self.path) from error
            raise
        return connection

    @contextmanager
    def read(self, patience: float = READ_PATIENCE) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for reading while the block runs; keep the block short while a mine is running."""
        with ctrl_c():
            connection = self.connect(read_only=True, patience=patience)
            try:
                yield connection
            except duckdb.Error as error:
                raise explain(error, self.path) from error
            finally:
                connection.close()

    @contextmanager
    def writer(self, purpose: str) -> Iterator[Writer]:
        """Hold the writer's lock while the block runs; creates or upgrades the database first.

        Raises:
            StoreBusyError: another writer is at work; the message names it.
        """
        with lock.writer_lock(self.path, purpose):
            writer = Writer(self)
            with writer.transaction() as connection:
                schema.upgrade(connection, now_utc(), __version__)
                views.refresh(connection)
            yield writer

    def cursors(self, repo: str, source: str) -> dict[str, str]:
        """Saved cursors (JSON text) by stream; empty for a new database."""
        if not self.exists():
            return {}
        with self.read() as connection:
            rows = connection.execute(
                "SELECT stream, cursor FROM sync_state WHERE repo = ? AND source = ?", [repo, source]
            ).fetchall()
        return {str(stream): str(cursor) for stream, cursor in rows}

    def as_of(self, moment: datetime) -> pd.DataFrame:
        """What the tracker said at ``moment`` (aware): one row per item that existed then.

        Columns ``state_known`` and ``labels_known`` are false where the item's history was not fetched, so that
        ``state`` or ``labels`` are today's or a guess from its dates. Times are UTC without offset.
        """
        query = resources.package_file("store", "as_of.sql").read_text(encoding="utf-8")
        with self.read() as connection:
            return connection.execute(query, {"day": moment.astimezone(UTC).replace(tzinfo=None)}).df()

    def pages(self) -> Iterator[list[Page]]:
        """All raw pages in order of arrival, grouped as they were committed."""
        # a replay reads these while its own writer writes: it must have a writer's patience
        with self.read(WRITE_PATIENCE) as connection:
            found = connection.execute("SELECT DISTINCT batch FROM raw_pages ORDER BY 1").fetchall()
        batches = [int(row[0]) for row in found]
        for batch in batches:
            with self.read(WRITE_PATIENCE) as connection:
                rows = connection.execute(
                    "SELECT page_id, repo, source, kind, request, fetched_at, body FROM raw_pages "
                    "WHERE batch = ? ORDER BY seq",
                    [batch],
                ).fetchall()
            yield list(_pages_of(rows))


def _pages_of(rows: Iterable[tuple[Any, ...]]) -> Iterator[Page]:
    decompressor = zstandard.ZstdDecompressor()
    for page_id, repo, source, kind, request, fetched_at, body in rows:
        moment = fetched_at.isoformat() + "Z"
        yield Page(page_id, repo, source, kind, request, moment, decompressor.decompress(body))
