"""What the dataset holds: tables and columns as tables.toml declares them, described by the database's own comments."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

from pydantic import Field

from torch_embers import resources, toml_models
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

FILE = "tables.toml"


class PublishedTable(toml_models.Entry):
    """One table of the dataset; tables.toml says what each key means."""

    name: str
    source: str
    description: str
    key: tuple[str, ...]
    refers: dict[str, str] = Field(default_factory=dict)
    columns: dict[str, str]
    withheld: dict[str, str]

    def described(self, comments: Mapping[tuple[str, str], str]) -> PublishedTable:
        """The same table with every column described.

        Args:
            comments: the database's comments by table and column.

        Raises:
            InputError: neither tables.toml nor the database describes a column.
        """
        texts = {name: text or comments.get((self.source, name), "") for name, text in self.columns.items()}
        if missing := [name for name, text in texts.items() if not text]:
            raise InputError(f"dataset/{FILE}: no description of {self.name}.{missing[0]}")
        return self.model_copy(update={"columns": texts})


class _File(toml_models.Entry):
    table: tuple[PublishedTable, ...]


def read(*parts: str) -> str:
    """Text of a file of this package."""
    return resources.package_file("dataset", *parts).read_text(encoding="utf-8")


def load() -> tuple[PublishedTable, ...]:
    """All tables in the order of the file.

    Raises:
        InputError: the file is malformed.
    """
    return toml_models.validate(_File, tomllib.loads(read(FILE)), FILE).table


def comments(connection: duckdb.DuckDBPyConnection) -> dict[tuple[str, str], str]:
    """What the database says of its columns, by table and column."""
    rows = connection.execute(
        "SELECT table_name, column_name, comment FROM duckdb_columns() WHERE comment IS NOT NULL"
    ).fetchall()
    return {(str(table), str(column)): str(text) for table, column, text in rows}
