"""Reads what is published: one Arrow table per table of the dataset, clean, sorted, described."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from torch_embers import resources
from torch_embers.dataset import table_definitions
from torch_embers.errors import InputError
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import schema
from torch_embers.store.store import repository_of
from torch_embers.taxonomy import Taxonomy
from torch_embers.verdicts.matrix import version_key
from torch_embers.views import answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from torch_embers.dataset.table_definitions import PublishedTable
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
        left_out: rows that the database has and the dataset has not: what they are, how many.
        schema_version: of the database.
    """

    tables: tuple[PublishedTable, ...]
    rows: Mapping[str, pa.Table]
    left_out: tuple[tuple[str, int], ...]
    schema_version: int


def collect(store: Store) -> Content:
    """Read everything that may be published.

    Raises:
        StoreError: the database cannot be read; none is there.
        InputError: the database is empty, or of an older embers.
    """
    with store.read() as connection:
        version = schema.require_ours(connection, store.path)
        if not connection.execute("SELECT 1 FROM items WHERE deleted_at IS NULL LIMIT 1").fetchall():
            raise InputError(f"{store.path} holds no items, so there is nothing to publish: run `embers mine` first")
    known = answers.rows(store)
    with store.read() as connection:
        repo = repository_of(connection)
        connection.register("about", pa.table({"repo": [repo]}))
        connection.execute(table_definitions.read("sql", "views.sql"))
        _rank_releases(connection)
        connection.register("words", _words())
        connection.register("answers", pa.Table.from_pylist(known, schema=_ANSWERS))
        comments = table_definitions.comments(connection)
        tables = tuple(table.described(comments) for table in table_definitions.load())
        rows = {table.name: own_rows(_read(connection, table), repo) for table in tables}
        left_out = tuple(connection.execute(table_definitions.read("sql", "left_out.sql")).fetchall())
    return Content(tables, rows, left_out, version)


def _rank_releases(connection: duckdb.DuckDBPyConnection) -> None:
    builds = connection.execute("SELECT build, version FROM chosen_builds").fetchall()
    ordered = sorted(builds, key=lambda row: (version_key(row[1]), row[0]))
    names = [build for build, _ in ordered]
    positions = pa.array(range(1, len(names) + 1), pa.int32())
    connection.register("releases", pa.table({"build": pa.array(names, pa.string()), "position": positions}))


def _read(connection: duckdb.DuckDBPyConnection, table: PublishedTable) -> pa.Table:
    """Rows with columns of the types that the files have, and with their descriptions."""
    query = table_definitions.read("sql", f"{table.name}.sql")
    rows = connection.sql(query).to_arrow_table()
    if rows.column_names != list(table.columns):
        raise InputError(f"dataset/sql/{table.name}.sql: its columns are not those of {table_definitions.FILE}")
    columns = [_clean_column(column) for column in rows.columns]
    fields = [
        pa.field(name, column.type, metadata={"description": table.columns[name]})
        for name, column in zip(rows.column_names, columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)).combine_chunks()


def own_rows(rows: pa.Table, repo: str) -> pa.Table:
    """The rows of the repository that a database is about: runs bring those of PyTorch's cases along."""
    if repo == DEFAULT_REPO or "repo" not in rows.column_names:
        return rows
    return rows.filter(pc.equal(rows["repo"], repo)).combine_chunks()


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


def _words() -> pa.Table:
    """Every word with its meaning; columns as the table ``vocabulary`` has them.

    Raises:
        InputError: one of the files that define words is missing or malformed.
    """
    rows: list[tuple[str | None, ...]] = [
        (scheme.name, entry.name, entry.parent_class, entry.definition, entry.rule)
        for scheme in Taxonomy.load().schemes.values()
        for entry in scheme.classes
    ]
    relations = resources.load_toml("relations.toml")["relation"]
    rows += [("relation", entry["name"], None, entry["meaning"], None) for entry in relations]
    others = tomllib.loads(table_definitions.read("words.toml"))["vocabulary"]
    rows += [(kind, word, None, meaning, None) for kind, known in others.items() for word, meaning in known.items()]
    names = ("word_of", "word", "parent", "meaning", "rule")
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return pa.Table.from_arrays(columns, names=names)
