"""The one schema: a new file gets schema.sql and the views; a file of any other version is refused."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError, StoreVersionError

if TYPE_CHECKING:
    from pathlib import Path

VERSION = 100
"""What schema.sql describes; from files of lower versions what is the user's own is taken over."""
OLDEST = 46
"""The oldest version from which rows are taken over: its cases, builds and environments have the keys of today."""
_VERSIONS = ("table", "schema_version")
_FILES = ("schema.sql", "closings.sql")
_CREATED = re.compile(r"^CREATE (?:OR REPLACE )?(TABLE|VIEW) (\w+)", re.MULTILINE)
_OF_CANDIDATES = ("signals", "judged_items", "candidates", "funnel")
"""Views that views.py makes from data."""
_NOT_OURS = "{path} holds no tables of embers: name its database, `embers mine` makes a new one"
_OF_FILE = "WHERE database_name <> 'system' AND database_name <> 'temp'"
_HELD = f"""
SELECT 'macro', function_name FROM system.main.duckdb_functions() {_OF_FILE}
UNION ALL SELECT 'table', table_name FROM system.main.duckdb_tables() {_OF_FILE}
UNION ALL SELECT 'view', view_name FROM system.main.duckdb_views() {_OF_FILE}
UNION ALL SELECT 'schema', schema_name FROM system.main.duckdb_schemas() {_OF_FILE} AND schema_name <> 'main'
UNION ALL SELECT 'sequence', sequence_name FROM system.main.duckdb_sequences() {_OF_FILE}
UNION ALL SELECT 'index', index_name FROM system.main.duckdb_indexes() {_OF_FILE}
UNION ALL SELECT 'type', type_name FROM system.main.duckdb_types() {_OF_FILE} AND NOT internal
"""
"""Kind and name of everything in the file. The column "internal" is the file's own word: a macro could claim it."""
_TRIGGERS = f"SELECT 'trigger', trigger_name FROM system.main.duckdb_triggers() {_OF_FILE}"


def _texts() -> list[str]:
    return [resources.package_file("store", name).read_text(encoding="utf-8") for name in _FILES]


@cache
def created() -> frozenset[tuple[str, str]]:
    """Kind and name of every table and view that this release makes."""
    facts = resources.package_file("store", "item_facts.sql").read_text(encoding="utf-8")
    found = _CREATED.findall("\n".join([*_texts(), facts]))
    return frozenset({(kind.lower(), name) for kind, name in found} | {("view", name) for name in _OF_CANDIDATES})


def file_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of an open database; 0 for a file without our schema."""
    # to ask duckdb_tables() first takes a third of the time that opening a database takes; a cursor of its own, because
    # the error would abort the caller's transaction
    with connection.cursor() as cursor:
        try:
            versions = cursor.execute("SELECT version FROM schema_version").fetchall()
        except duckdb.CatalogException:
            return 0
    return max((version for (version,) in versions), default=0)


def check(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database that holds what this release does not make, or that another release made.

    It may come from somebody else: a macro or a view with the name of a function takes its place in every query. So
    this comes before any other query, names functions in full, and uses no operator that a macro can replace.

    Raises:
        InputError
        StoreVersionError
    """
    held = _held(connection)
    foreign = held - created()
    ours = _VERSIONS in held
    if ours and {kind for kind, _ in foreign} <= {"table", "view"}:
        check_version(connection, path)
    if foreign and not ours:
        raise InputError(_NOT_OURS.format(path=path))
    _refuse(foreign, path)


def check_former(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database from which nothing can be taken over: one of today, too old a one, or one with macros.

    Raises:
        InputError
        StoreVersionError
    """
    held = _held(connection)
    if _VERSIONS not in held:
        raise InputError(_NOT_OURS.format(path=path))
    _refuse({(kind, name) for kind, name in held if kind not in ("table", "view")}, path)
    version = file_version(connection)
    if not OLDEST <= version < VERSION:
        why = "name it with --database" if version == VERSION else f"only {OLDEST} to {VERSION - 1} can be taken over"
        raise StoreVersionError(f"{path} has schema version {version}: {why}")


def _held(connection: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    held = set(connection.execute(_HELD).fetchall())
    with suppress(duckdb.CatalogException):  # DuckDB before 2.0 has no triggers
        held |= set(connection.execute(_TRIGGERS).fetchall())
    return held


def _refuse(foreign: set[tuple[str, str]], path: Path) -> None:
    if foreign:
        named = ", ".join(f"{kind} {name[:60]!r}" for kind, name in sorted(foreign)[:3])
        more = f" and {len(foreign) - 3:,} more" if len(foreign) > 3 else ""
        raise InputError(
            f"{path} holds what embers did not make: {named}{more}. Move it to a file of its own (ATTACH reads both), "
            "or drop it; if you did not make it, do not trust this file"
        )


def check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database of another release whose tables are not those of this one.

    Raises:
        StoreVersionError
    """
    version = file_version(connection)
    if version > VERSION:
        raise StoreVersionError(
            f"{path} has schema version {version}, this embers knows {VERSION}: "
            "upgrade torch-embers (`pip install -U torch-embers`), or name another database with --database"
        )
    if version < VERSION:
        raise StoreVersionError(
            f"{path} is of an older embers (schema version {version}, now {VERSION}): "
            f"`embers mine --take-over {path} --database NEW.duckdb` brings its runs, verdicts and labels along"
        )


def require_ours(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Refuse a DuckDB file that is no database of embers; return its version.

    Raises:
        InputError
    """
    version = file_version(connection)
    if not version:
        raise InputError(_NOT_OURS.format(path=path))
    return version


def make(connection: duckdb.DuckDBPyConnection, moment: str, release: str) -> None:
    """Make all tables and views of an empty database, inside the caller's transaction."""
    for text in _texts():
        connection.execute(text)
    connection.execute("INSERT INTO schema_version VALUES (?, ?::TIMESTAMP, ?)", [VERSION, moment, release])
