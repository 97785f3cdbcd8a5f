"""The tables of the report as files: JSON and Parquet for programs, SQLite with metadata for Datasette."""

from __future__ import annotations

import io
import json
import sqlite3
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from torch_embers.atom_output import iso
from torch_embers.errors import InputError
from torch_embers.report.report_rules import columns
from torch_embers.settings import only_repository, project_of
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SQLITE_TYPES = {"text": "TEXT", "number": "INTEGER", "share": "REAL", "yes": "INTEGER", "time": "TEXT", "texts": "TEXT"}
ROWS = 5_000
"""Rows in memory as Python's objects or JSON at a time."""
FACETS = {
    "items": ["kind", "state", "disposition", "verdict"],
    "verdicts": ["build", "verdict", "control"],
    "statuses": ["status", "backend"],
    "cases": ["origin", "bug_type", "memory_type"],
}
"""Columns that Datasette offers for filtering."""


def files(tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, bytes | Iterator[bytes]]]:
    """Names and contents of the JSON and Parquet files; equal tables give equal bytes."""
    for name, rows in tables.items():
        yield f"data/{name}.json", to_json(rows)
        sink = io.BytesIO()
        pq.write_table(rows, sink, compression="zstd")
        yield f"data/{name}.parquet", sink.getvalue()


def to_json(rows: pa.Table) -> Iterator[bytes]:
    """A list of objects, one a line, in pieces; times are UTC in ISO 8601."""
    times = [field.name for field in rows.schema if pa.types.is_timestamp(field.type)]
    texts = ", ".join(f"strftime(make_timestamp(epoch_us({name})), '%Y-%m-%dT%H:%M:%SZ') AS {name}" for name in times)
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        shown = f"SELECT * REPLACE ({texts}) FROM rows" if times else "FROM rows"
        lines = connection.execute(f"SELECT to_json(shown)::VARCHAR FROM ({shown}) shown")
        before = b"[\n"
        while piece := lines.fetchmany(ROWS):
            yield before + ",\n".join(line for (line,) in piece).encode()
            before = b",\n"
    yield b"\n]\n" if rows.num_rows else b"[\n\n]\n"


def write_sqlite(tables: Mapping[str, pa.Table], path: Path) -> None:
    """Write all tables to a SQLite file, and beside it ``.metadata.json`` for Datasette; each is whole or not there.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{path.name}.", suffix=".part", dir=path.parent) as folder:
            made = Path(folder) / path.name
            connection = sqlite3.connect(made)
            try:
                for table in columns().table:
                    _fill(connection, table.name, [(c.name, c.kind) for c in table.column], tables[table.name])
                connection.commit()
                connection.execute("VACUUM")
            finally:
                connection.close()
            repos = tables["items"]["repo"].unique().to_pylist()
            about = made.with_name(metadata_path(path).name)
            about.write_text(json.dumps(metadata(path.stem, repos), indent=1) + "\n", encoding="utf-8")
            made.replace(path)
            about.replace(metadata_path(path))
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"--sqlite {path}: cannot be written: {error}; choose another file") from error


def metadata_path(path: Path) -> Path:
    """The file beside a SQLite file that explains it to Datasette."""
    return path.with_name(f"{path.stem}.metadata.json")


def _fill(connection: sqlite3.Connection, name: str, fields: list[tuple[str, str]], rows: pa.Table) -> None:
    kinds = ", ".join(f'"{field}" {SQLITE_TYPES[kind]}' for field, kind in fields)
    connection.execute(f'CREATE TABLE "{name}" ({kinds})')
    marks = ", ".join("?" * len(fields))
    plain = (row for batch in rows.to_batches(max_chunksize=ROWS) for row in batch.to_pylist())
    values = (tuple(_sqlite_value(row[field]) for field, _ in fields) for row in plain)
    connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(value)
    return json.dumps(value) if isinstance(value, list) else value


def metadata(database: str, repos: Iterable[str]) -> dict[str, Any]:
    """What Datasette shows of the database: titles, the meaning of each column, columns to filter by."""
    described = {
        table.name: {
            "description": table.description,
            "columns": {column.name: column.meaning for column in table.column},
            **({"facets": FACETS[table.name]} if table.name in FACETS else {}),
        }
        for table in columns().table
    }
    return {
        "title": f"embers: {project_of(only_repository(repos))} bugs, re-checked",
        "source": f"embers {__version__}",
        "databases": {database: {"tables": described}},
    }
