"""The database file: who may read and write it."""

from __future__ import annotations

import difflib
import threading
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import StoreMissingError
from torch_embers.store import connection as opening
from torch_embers.store import schema
from torch_embers.store.connection import READ_PATIENCE, connect, ctrl_c, explain

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from torch_embers.store.writer import Writer


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
        """Hold the writer's lock while the block runs.

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

    def as_of(self, moment: datetime) -> pd.DataFrame:
        """The state of the tracker at ``moment`` (aware): one row per item that existed then.

        Columns ``state_known`` and ``labels_known`` are false where the item's history was not fetched, so that
        ``state`` or ``labels`` are today's or a guess from its dates. Times are UTC without offset.
        """
        query = resources.package_file("store", "as_of.sql").read_text(encoding="utf-8")
        with self.read() as connection:
            return connection.execute(query, {"day": moment.astimezone(UTC).replace(tzinfo=None)}).df()


def repository_of(connection: duckdb.DuckDBPyConnection) -> str:
    """The same of an open database."""
    from torch_embers.settings import only_repository  # takes pydantic, which most readers do without

    return only_repository(name for (name,) in connection.execute("SELECT DISTINCT repo FROM items").fetchall())
