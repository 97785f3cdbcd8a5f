"""Reads what is published: one Arrow table per table of the dataset, clean, sorted, described."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from torch_embers.dataset import definitions, vocabulary
from torch_embers.errors import InputError
from torch_embers.run import answers
from torch_embers.run.matrix import version_key
from torch_embers.store import schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from torch_embers.dataset.definitions import PublishedTable
    from torch_embers.store.store import Store

_ANSWERS = pa.schema(
    [("repo", pa.string()), ("number", pa.int64()), ("closable", pa.string()), ("because", pa.string())]
)
MOMENT = pa.timestamp("ms", tz="UTC")


@dataclass(frozen=True, slots=True)
class Content:
    """Everything that is published.

    Attributes:
        tables: the declarations, every column described, in order.
        rows: the rows of each table.
        left_out: how many rows of what kind the database has and the dataset has not, by reason.
        schema_version: of the database.
    """

    tables: tuple[PublishedTable, ...]
    rows: Mapping[str, pa.Table]
    left_out: Mapping[str, int]
    schema_version: int


def collect(store: Store) -> Content:
    """Read everything that may be published.

    Raises:
        StoreError: the database cannot be read; none is there.
        InputError: the database is empty, or of an older embers.
    """
    with store.read() as connection:
        version = _usable(connection, store)
    known = answers.rows(store)
    with store.read() as connection:
        connection.execute(definitions.read("sql", "views.sql"))
        _rank_releases(connection)
        connection.register("words", vocabulary.words())
        connection.register("answers", pa.Table.from_pylist(known, schema=_ANSWERS))
        comments = definitions.comments(connection)
        tables = tuple(table.described(comments) for table in definitions.load())
        rows = {table.name: _read(connection, table) for table in tables}
        left_out = _left_out(connection)
    return Content(tables, rows, left_out, version)


def _usable(connection: duckdb.DuckDBPyConnection, store: Store) -> int:
    version = schema.require_latest(connection, store.path)
    [(items,)] = connection.execute("SELECT count(*) FROM items WHERE deleted_at IS NULL").fetchall()
    if not items:
        raise InputError(f"{store.path} holds no items, so there is nothing to publish: run `embers mine` first")
    return version


def _rank_releases(connection: duckdb.DuckDBPyConnection) -> None:
    builds = connection.execute("SELECT build, version FROM chosen_builds").fetchall()
    ordered = sorted(builds, key=lambda row: (version_key(row[1]), row[0]))
    names = pa.array([build for build, _ in ordered], pa.string())
    connection.register(
        "releases", pa.table({"build": names, "position": pa.array(range(1, len(ordered) + 1), pa.int32())})
    )


def _read(connection: duckdb.DuckDBPyConnection, table: PublishedTable) -> pa.Table:
    rows = connection.sql(table.query()).to_arrow_table()
    if rows.column_names != list(table.columns):
        raise InputError(f"dataset/sql/{table.name}.sql: its columns are not those of {definitions.FILE}")
    return _clean(rows, table)


def _clean(rows: pa.Table, table: PublishedTable) -> pa.Table:
    """Columns of the types that the files have, with their descriptions."""
    columns = [_clean_column(column) for column in rows.columns]
    fields = [
        pa.field(name, column.type, metadata={"description": table.columns[name]})
        for name, column in zip(rows.column_names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)).combine_chunks()


def _clean_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.floor_temporal(column, unit="second").cast(pa.timestamp("ms")).cast(MOMENT)
    if pa.types.is_string(column.type):
        # no line end but \n and no NUL: CSV readers disagree about both
        for old, new in (("\r\n", "\n"), ("\r", "\n"), ("\0", "\ufffd")):
            column = pc.replace_substring(column, old, new)
        return column
    if pa.types.is_list(column.type):
        return column.cast(pa.list_(pa.string()))
    return column


def _left_out(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    counted = {
        "items that the tracker no longer shows": "FROM gone",
        "cases that were not written by hand": ("FROM cases WHERE current AND origin <> 'curated'"),
        "earlier texts of cases by hand": "FROM cases WHERE NOT current AND origin = 'curated'",
        "newest verdicts of those cases and texts": (
            "FROM latest_verdicts ANTI JOIN (FROM cases WHERE current AND origin = 'curated') USING (case_hash)"
        ),
    }
    return {
        reason: int(connection.execute(f"SELECT count(*) {rest}").fetchall()[0][0]) for reason, rest in counted.items()
    }
