"""What the dataset holds: tables and columns as tables.toml declares them, described by the database's own comments."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

FILE = "tables.toml"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the dataset.

    Attributes:
        source: table of the database that it is made of.
        key: columns that name a row.
        refers: column -> table whose key it is.
        columns: description by column, in order; empty where the database describes it.
        withheld: reason by column of ``source`` that is not published.
    """

    name: str
    source: str
    description: str
    key: tuple[str, ...]
    refers: Mapping[str, str]
    columns: Mapping[str, str]
    withheld: Mapping[str, str]

    def query(self) -> str:
        """The SQL that reads its rows, in order."""
        return read("sql", f"{self.name}.sql")

    def described(self, comments: Mapping[tuple[str, str], str]) -> Table:
        """The same table with every column described.

        Args:
            comments: the database's comments by table and column.

        Raises:
            InputError: neither tables.toml nor the database describes a column.
        """
        texts = {name: text or comments.get((self.source, name), "") for name, text in self.columns.items()}
        if missing := [name for name, text in texts.items() if not text]:
            raise InputError(f"dataset/{FILE}: nobody describes {self.name}.{missing[0]}")
        return Table(self.name, self.source, self.description, self.key, self.refers, texts, self.withheld)


def read(*parts: str) -> str:
    """Text of a file of this room."""
    return resources.package_file("dataset", *parts).read_text(encoding="utf-8")


def load() -> list[Table]:
    """All tables in the order of the file."""
    return [_table(entry) for entry in tomllib.loads(read(FILE))["table"]]


def comments(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], str]:
    """What the database says of its columns, by table and column."""
    rows = connection.execute(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL"
    ).fetchall()
    return {(str(table), str(column)): str(text) for table, column, text in rows}


def _table(entry: dict[str, Any]) -> Table:
    return Table(
        entry["name"],
        entry["source"],
        entry["description"],
        tuple(entry["key"]),
        entry.get("refers", {}),
        entry["columns"],
        entry["withheld"],
    )
