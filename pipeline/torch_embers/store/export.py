"""Tables as files for other tools: Parquet, CSV or JSON Lines, each file whole or not there at all."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from torch_embers.errors import InputError
from torch_embers.escaping import csv_sql
from torch_embers.store import schema
from torch_embers.store.connection import quoted
from torch_embers.store.rows import KEYS

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store

FORMATS = {"parquet": "FORMAT parquet, COMPRESSION zstd", "csv": "FORMAT csv, HEADER", "jsonl": "FORMAT json"}
"""COPY options of DuckDB by the name of the format, which is also the file's suffix."""
TABLES = (
    "items",
    "labels",
    "events",
    "comments",
    "pull_files",
    "commits",
    "commit_files",
    "code_sizes",
    "links",
    "components",
    "gold_labels",
    "catalog",
    "dispositions",
    "cases",
    "case_items",
    "builds",
    "environments",
    "latest_verdicts",
    "statuses",
    "candidates",
    "funnel",
    "rejects",
)
"""What an export holds: tables and views of general use. The table raw only on request: it is large."""


_NO_TEXT = frozenset({"BOOLEAN", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "DATE", "TIMESTAMP", "BLOB"})
"""Types whose values hold no untrusted text."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One written file."""

    table: str
    path: Path
    rows: int


def export(store: Store, folder: Path, form: str, tables: tuple[str, ...] = TABLES) -> list[Exported]:
    """Write ``tables`` to ``folder``/<table>.<format>; a file that was there is replaced at once.

    Raises:
        InputError: unknown format or table, or the folder cannot be written.
    """
    if form not in FORMATS:
        raise InputError(f"--format {form!r}: one of {', '.join(FORMATS)}")
    if unknown := sorted(set(tables) - {*TABLES, "raw"}):
        raise InputError(f"no table {unknown[0]!r}: one of {', '.join((*TABLES, 'raw'))}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--to {folder}: {error.strerror}") from error
    with store.read(folder=folder) as connection:
        schema.require_ours(connection, store.path)
        return [_write(connection, table, folder / f"{table}.{form}", FORMATS[form]) for table in tables]


def _write(connection: duckdb.DuckDBPyConnection, table: str, path: Path, options: str) -> Exported:
    """Write one file beside its place and move it there when it is whole."""
    partial = path.with_name(path.name + ".part")
    try:
        rows = _safe_to_open(connection, table) if path.suffix == ".csv" else f"FROM {table}"
        # the file of an equal database is equal, in whatever order its rows came; long texts are in no key
        order = ", ".join(KEYS.get(table) or ["ALL"])
        copied = connection.execute(f"COPY ({rows} ORDER BY {order}) TO {quoted(str(partial))} ({options})").fetchall()
        partial.replace(path)
    except (duckdb.IOException, OSError) as error:
        # an error that names the file is about the target, any other about the database
        if str(partial) not in str(error):
            raise
        with suppress(OSError):
            partial.unlink()
        raise InputError(f"{path} cannot be written: {str(error).splitlines()[0]}") from error
    return Exported(table, path, int(copied[0][0]))


def _safe_to_open(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """A query of a table whose texts a spreadsheet or an editor shows as they are; numbers and times stay."""
    columns = connection.execute(f"DESCRIBE {table}").fetchall()
    named = [(f'"{name}"', str(kind)) for name, kind, *_ in columns]
    cells = [name if kind in _NO_TEXT else f"{csv_sql(f'{name}::VARCHAR')} AS {name}" for name, kind in named]
    return f"SELECT {', '.join(cells)} FROM {table}"
