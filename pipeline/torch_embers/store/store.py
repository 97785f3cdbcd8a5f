"""The database file: who may read and write it."""

from __future__ import annotations

import difflib
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

import duckdb

from torch_embers import resources
from torch_embers.errors import StoreMissingError
from torch_embers.store import connection as opening
from torch_embers.store import schema
from torch_embers.store.connection import READ_PATIENCE, WRITE_PATIENCE, connect, ctrl_c, explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from torch_embers.store.records import Page
    from torch_embers.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item that waits to be read again: a row of ``incomplete_items``."""

    place: str
    """#number, or the place in a listing of an item whose number is not known."""
    number: int | None
    tries: int
    known: bool
    """Whether ``items`` has it."""


class Store:
    """The embers database at ``path``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether the file is there and not empty."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def require(self) -> None:
        """Check that the database is there.

        Raises:
            StoreMissingError: it is not; the message names the database beside it that is called nearly the same.
        """
        if self.exists():
            return
        names = {path.stem: path for path in self.path.parent.glob("*.duckdb") if path != self.path}
        near = difflib.get_close_matches(self.path.stem, names, n=1)
        hint = f"did you mean {names[near[0]]}? `embers mine` makes a new one" if near else ""
        raise StoreMissingError(f"no database at {self.path}: {hint or 'run `embers mine` first'}")

    @contextmanager
    def read(self, patience: float = READ_PATIENCE, folder: Path | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open for reading while the block runs; keep the block short while a mine is running.

        Statements reach no other file, but those of ``folder``, and end after ``connection.QUERY_LIMIT``.
        """
        with ctrl_c():
            self.require()
            connection = connect(self.path, read_only=True, patience=patience, folder=folder)
            limit = threading.Timer(opening.QUERY_LIMIT, connection.interrupt)
            limit.daemon = True
            limit.start()
            try:
                yield connection
            except duckdb.CatalogException as error:
                schema.require_ours(connection, self.path)  # a missing table says less than the reason
                raise explain(error, self.path) from error
            except duckdb.Error as error:
                raise explain(error, self.path) from error
            finally:
                limit.cancel()
                limit.join()
                connection.close()

    @contextmanager
    def writer(self, purpose: str, *, create: bool = False) -> Iterator[Writer]:
        """Hold the writer's lock while the block runs; an older database is upgraded first.

        Args:
            purpose: what others read who find the database locked.
            create: make the database where there is none. Only a mine does: a mistyped name must not leave a file.

        Raises:
            StoreMissingError: there is no database and none is to be made.
            StoreBusyError: another writer is at work; the message names it.
        """
        if not create:
            self.require()
        from torch_embers.store.writer import writer  # brings pyarrow, which readers do without

        with writer(self.path, purpose) as held:
            yield held

    def repository(self) -> str:
        """The only repository of which the database has items; PyTorch's where it has none, or of several."""
        from torch_embers.settings import DEFAULT_REPO

        if not self.exists():
            return DEFAULT_REPO
        with self.read() as connection:
            return repository_of(connection)

    def cursors(self, repo: str, source: str) -> dict[str, str]:
        """Saved cursors (JSON text) by stream; empty for a new database."""
        if not self.exists():
            return {}
        with self.read() as connection:
            rows = connection.execute(
                "SELECT stream, cursor FROM sync_state WHERE repo = ? AND source = ?", [repo, source]
            ).fetchall()
        return {str(stream): str(cursor) for stream, cursor in rows}

    def waiting(self, repo: str, source: str) -> list[Waiting]:
        """Items that a source has to read again, those first that were tried least."""
        with self.read() as connection:
            rows = connection.execute(
                "SELECT w.place, w.number, w.tries, i.number IS NOT NULL AND i.deleted_at IS NULL "
                "FROM incomplete_items w LEFT JOIN items i USING (repo, number) "
                "WHERE lower(w.repo) = lower(?) AND w.source = ? ORDER BY w.tries, w.number, w.place",
                [repo, source],
            ).fetchall()
        return [Waiting(*row) for row in rows]

    def as_of(self, moment: datetime) -> pd.DataFrame:
        """The state of the tracker at ``moment`` (aware): one row per item that existed then.

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
            batches = connection.execute("SELECT DISTINCT batch FROM raw_pages ORDER BY 1").fetchall()
        for (batch,) in batches:
            with self.read(WRITE_PATIENCE) as connection:
                rows = connection.execute(
                    "SELECT page_id, repo, source, kind, request, fetched_at, body FROM raw_pages "
                    "WHERE batch = ? ORDER BY seq",
                    [batch],
                ).fetchall()
            yield list(_pages_of(rows))

    def pages_of(self, names: Iterable[str], kinds: Iterable[str]) -> Iterator[tuple[int, Page]]:
        """Raw pages of some kinds, of a repository by its names, each with its number in the order of arrival."""
        with self.read(WRITE_PATIENCE) as connection:
            places = connection.execute(
                "SELECT seq FROM raw_pages WHERE list_contains(?, repo) AND list_contains(?, kind) ORDER BY seq",
                [list(names), list(kinds)],
            ).fetchall()
        for (place,) in places:
            with self.read(WRITE_PATIENCE) as connection:
                rows = connection.execute(
                    "SELECT page_id, repo, source, kind, request, fetched_at, body FROM raw_pages WHERE seq = ?",
                    [place],
                ).fetchall()
            for page in _pages_of(rows):
                yield place, page


def repository_of(connection: duckdb.DuckDBPyConnection) -> str:
    """The same of an open database."""
    from torch_embers.settings import only_repository  # takes pydantic, which most readers do without

    return only_repository(name for (name,) in connection.execute("SELECT DISTINCT repo FROM items").fetchall())


def _pages_of(rows: Iterable[tuple[Any, ...]]) -> Iterator[Page]:
    import zstandard  # only a replay reads pages, and needs these

    from torch_embers.store.records import Page

    decompressor = zstandard.ZstdDecompressor()
    for page_id, repo, source, kind, request, fetched_at, body in rows:
        moment = fetched_at.isoformat() + "Z"
        yield Page(page_id, repo, source, kind, request, moment, decompressor.decompress(body))
