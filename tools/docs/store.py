"""docs/store.md: tables and views of the database, from the comments of its schema."""

from __future__ import annotations

from functools import cache

import duckdb

from torch_embers import __version__
from torch_embers.store import schema, views
from torch_embers.store.tables import KEYS

from .markdown import cell, code, table


@cache
def _empty_database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    schema.upgrade(connection, "2000-01-01T00:00:00", __version__)  # with migrations; the date is not shown
    views.refresh(connection)
    return connection


def _columns(name: str) -> list[tuple[str, str, str]]:
    query = """SELECT column_name, data_type, coalesce(comment, '') FROM duckdb_columns()
               WHERE table_name = ? AND NOT internal ORDER BY column_index"""
    return [(str(a), str(b), str(c)) for a, b, c in _empty_database().execute(query, [name]).fetchall()]


def _relations_of(kind: str) -> list[tuple[str, str]]:
    query = f"SELECT {kind}_name, coalesce(comment, '') FROM duckdb_{kind}s() WHERE NOT internal ORDER BY {kind}_oid"
    return [(str(a), str(b)) for a, b in _empty_database().execute(query).fetchall()]


def tables() -> str:
    """Every table with its key and columns."""
    parts = []
    for name, comment in _relations_of("table"):
        key = KEYS.get(name, ())
        about = f"{cell(comment)} Key: {', '.join(code(k) for k in key)}." if key else cell(comment)
        rows = [(code(column), kind, cell(meaning)) for column, kind, meaning in _columns(name)]
        parts.append(f"### {name}\n\n{about}\n\n{table(('column', 'type', 'meaning'), rows)}")
    return "\n\n".join(parts)


def view_list() -> str:
    """Every view with its columns."""
    parts = []
    for name, comment in sorted(_relations_of("view")):
        shown = ", ".join(f"{code(column)} {kind}" for column, kind, _ in _columns(name))
        parts.append(f"### {name}\n\n{cell(comment)}\n\nColumns: {shown}.")
    return "\n\n".join(parts)
