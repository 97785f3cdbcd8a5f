"""A database as pandas frames; nothing here writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import resources, settings
from torch_embers.errors import InputError
from torch_embers.store import schema
from torch_embers.store.store import Store

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd


class Database:
    """One embers database, open for reading only while a frame is made: a mine may go on beside it.

    Times in all frames are UTC without an offset.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def __repr__(self) -> str:
        """Name the file."""
        return f"Database({str(self.path)!r})"

    @property
    def path(self) -> Path:
        """The DuckDB file."""
        return self._store.path

    def sql(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> pd.DataFrame:
        """Run one query and return its rows; docs/store.md describes tables and views.

        Args:
            query: SQL of DuckDB. The file is open for reading only.
            parameters: values for ``?`` or ``$name`` in the query.

        Raises:
            StoreError: the query is wrong, or the file cannot be read now.
        """
        if not query.strip(" \n\t;"):
            raise InputError("the query is empty")
        with self._store.read() as connection:
            return connection.execute(query, parameters).df()

    def items(self) -> pd.DataFrame:
        """Issues and pull requests; one row per item that still exists."""
        return self._frame("items")

    def candidates(self) -> pd.DataFrame:
        """Items that report wrong behaviour in the data path, with the signals that say so."""
        return self._frame("candidates")

    def labels(self) -> pd.DataFrame:
        """Taxonomy labels of annotators, of the classifier and of runs; ``source`` tells them apart."""
        return self._frame("labels")

    def links(self) -> pd.DataFrame:
        """Links between items and commits: fixes, reverts, duplicates and more, with their evidence."""
        return self._frame("links")

    def cases(self) -> pd.DataFrame:
        """Cases with their items, classes, requirements and code."""
        return self._frame("cases")

    def verdicts(self) -> pd.DataFrame:
        """The newest verdict of each case, build and environment, with runs, hits and control."""
        return self._frame("verdicts")

    def statuses(self) -> pd.DataFrame:
        """The status of each item with a case, per backend."""
        return self._frame("statuses")

    def timelines(self) -> pd.DataFrame:
        """What the script of each report does: one row per segment, neighbouring builds with equal behaviour."""
        return self._frame("timelines")

    def fix_tests(self) -> pd.DataFrame:
        """What the tests that merged fixes brought do on which release: one row per test and issue, one run each."""
        return self._frame("fix_tests")

    def answers(self) -> pd.DataFrame:
        """May an issue be closed? One row per issue of which anything ran, with the rule that decided and its reason.

        ``occurs``: whether the bug is there on the newest release, by the report's own case or script; None where
        neither decides.
        """
        import pandas as pd

        from torch_embers.views import answers

        columns = ["repo", "number", "closable", "rule", "because", "canonical", "occurs"]
        return pd.DataFrame(answers.rows(self._store), columns=columns).astype({"canonical": "Int64"})

    def dispositions(self) -> pd.DataFrame:
        """Why each closed issue was closed, with evidence."""
        return self._frame("dispositions")

    def _frame(self, name: str) -> pd.DataFrame:
        return self.sql(resources.package_file("api", "frames", f"{name}.sql").read_text(encoding="utf-8"))


def open_database(path: str | os.PathLike[str] | None = None) -> Database:
    """Open a database for reading.

    Args:
        path: the DuckDB file; without it the one that the settings name (``EMBERS_DATABASE``, ``embers.toml``).

    Raises:
        StoreMissingError: there is no such file; `embers mine` makes one.
        StoreError: the file is no database of embers, or a newer one.
    """
    from pathlib import Path

    store = Store(settings.load(database=None if path is None else Path(path)).database)
    with store.read() as connection:
        schema.require_ours(connection, store.path)
    return Database(store)
