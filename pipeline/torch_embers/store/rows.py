"""Rows as plain mappings: read, added, or put in the place of rows with the same key."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import packages

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb
    import pyarrow as pa

KEYS: dict[str, tuple[str, ...]] = {
    "raw": ("repo", "kind", "id", "source", "said_at", "hash"),
    "listed": ("repo", "number"),
    "listing_marks": ("repo", "listing"),
    "repositories": ("repo_id", "full_name"),
    "items": ("repo", "number"),
    "events": ("repo", "event_id"),
    "comments": ("repo", "comment_id"),
    "pull_files": ("repo", "number", "path"),
    "stated_links": ("repo", "number", "relation", "target_repo", "target_number", "evidence"),
    "catalog": ("repo", "number"),
    "gold_labels": ("repo", "number", "scheme", "value", "annotator"),
    "dispositions": ("repo", "number", "annotator"),
    "commits": ("repo", "sha"),
    "commit_files": ("repo", "sha", "path"),
    "code_sizes": ("repo", "tag", "component", "subcomponent"),
}
"""Columns that tell the rows of a table apart."""

FEW = 20
"""Rows up to which plain statements do: to stage the first row of a process imports pyarrow and numpy."""


@cache
def _arrow_types() -> Mapping[str, pa.DataType]:
    """How a column type is staged; times go as ISO texts and get their type in the database."""
    without_pandas()
    import pyarrow as pa

    return {
        "VARCHAR": pa.string(),
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "TIMESTAMP": pa.string(),
        "VARCHAR[]": pa.list_(pa.string()),
    }


def without_pandas() -> None:
    """Spare a process that makes no data frames the import of pandas, a quarter of a second.

    pyarrow imports it with the first array that it makes of Python's values, to know a frame's column when it meets
    one, and wherever it finds out a type by itself. Where a frame is wanted later, pyarrow imports it then.
    """
    import pyarrow as pa

    with packages.left_out("pandas"):
        pa.array([], pa.bool_())


def _staged(columns: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa  # brings numpy, and a mine with nothing new does without

    types = _arrow_types()
    arrays = [pa.array([_as_text(row.get(name)) for row in rows], types[kind]) for name, kind in columns.items()]
    return pa.table(arrays, names=list(columns))


def _as_text(value: Any) -> Any:
    return value.isoformat(sep=" ") if isinstance(value, datetime) else value


def append(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows; keys of a mapping are columns, missing ones become NULL.

    Raises:
        duckdb.Error: a value does not fit its column.
    """
    if not rows:
        return
    columns = _columns(connection, table)
    if len(rows) <= FEW:
        values = ", ".join(f"?::{kind}" for kind in columns.values())
        added = [[row.get(name) for name in columns] for row in rows]
        connection.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", added)
        return
    connection.register("added", _staged(columns, rows))
    values = ", ".join(f"{name}::TIMESTAMP" if kind == "TIMESTAMP" else name for name, kind in columns.items())
    try:
        connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) SELECT {values} FROM added")
    finally:
        connection.unregister("added")


def append_numbered(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add rows with their numbers in the order of writing, in the column ``written``.

    Raises:
        duckdb.Error: a value does not fit its column.
    """
    [(last,)] = connection.execute(f"SELECT coalesce(max(written), 0) FROM {table}").fetchall()
    append(connection, table, [dict(row, written=number) for number, row in enumerate(rows, start=last + 1)])


def replace(
    connection: duckdb.DuckDBPyConnection, table: str, key: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Remove every row that has the key of one of these, then add these.

    Raises:
        duckdb.Error: a value does not fit its column.
    """
    if not rows:
        return
    columns = _columns(connection, table)
    if len(rows) <= FEW:
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM ?::{columns[name]}" for name in key)
        connection.executemany(f"DELETE FROM {table} WHERE {same}", [[row[name] for name in key] for row in rows])
        append(connection, table, rows)
        return
    connection.register("replaced", _staged({name: columns[name] for name in key}, rows))
    same = " AND ".join(f"{table}.{name} IS NOT DISTINCT FROM replaced.{name}" for name in key)
    try:
        connection.execute(f"DELETE FROM {table} USING replaced WHERE {same}")
    finally:
        connection.unregister("replaced")
    append(connection, table, rows)


def mappings(connection: duckdb.DuckDBPyConnection, query: str, parameters: Any = None) -> list[dict[str, Any]]:
    """The rows of a query, as mappings from column to value."""
    result = connection.execute(query, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def _columns(connection: duckdb.DuckDBPyConnection, table: str) -> dict[str, str]:
    columns = connection.execute(f"DESCRIBE {table}").fetchall()
    return {str(name): str(kind) for name, kind, *_ in columns}
