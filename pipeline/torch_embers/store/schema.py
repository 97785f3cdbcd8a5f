"""Schema versions: a new file gets schema.sql, an older one the migrations it lacks, a newer one is refused."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError, StoreVersionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BASE_VERSION = 1
"""The version that schema.sql describes; later ones are files migrations/0002_....sql and so on."""
_MIGRATION = re.compile(r"(\d{4})_\w+\.sql")
_READ = re.compile(r"^\.read (\w+\.sql)$", re.MULTILINE)
"""A line of a migration that stands for a file of this package, as in DuckDB's shell: a view that several make."""


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


@cache
def created() -> frozenset[tuple[str, str]]:
    """Kind and name of every table and view that a release made."""
    texts = [
        resources.package_file("store", name).read_text(encoding="utf-8") for name in ("schema.sql", "item_facts.sql")
    ]
    found = _CREATED.findall("\n".join([*texts, *migrations().values()]))
    return frozenset({(kind.lower(), name) for kind, name in found} | {("view", name) for name in _OF_CANDIDATES})


@cache
def migrations() -> MappingProxyType[int, str]:
    """SQL text of every migration by the version it leads to."""
    folder = resources.PACKAGE_DIR / "store" / "migrations"
    named = ((_MIGRATION.fullmatch(path.name), path) for path in folder.glob("*.sql"))
    return MappingProxyType({int(match[1]): _whole(path.read_text(encoding="utf-8")) for match, path in named if match})


def _whole(text: str) -> str:
    """The text of a migration with the files that it reads."""
    return _READ.sub(lambda read: resources.package_file("store", read[1]).read_text(encoding="utf-8"), text)


def latest_version(steps: Mapping[int, str] | None = None) -> int:
    """The newest version this release knows."""
    return max([BASE_VERSION, *(migrations() if steps is None else steps)])


def file_version(connection: duckdb.DuckDBPyConnection) -> int:
    """Version of an open database; 0 for a file without our schema."""
    return max(_applied(connection), default=0)


def _applied(connection: duckdb.DuckDBPyConnection) -> set[int]:
    """The steps that a database has been through; none in an empty one."""
    # to ask duckdb_tables() first takes a third of the time that opening a database takes; a cursor of its own, because
    # the error would abort the caller's transaction
    with connection.cursor() as cursor:
        try:
            return {version for (version,) in cursor.execute("SELECT version FROM schema_version").fetchall()}
        except duckdb.CatalogException:
            return set()


def check(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database that holds what no release made, or that a newer release made.

    It may come from somebody else: a macro or a view with the name of a function takes its place in every query. So
    this comes before any other query, names functions in full, and uses no operator that a macro can replace.

    Raises:
        InputError
        StoreVersionError
    """
    held = set(connection.execute(_HELD).fetchall())
    with suppress(duckdb.CatalogException):  # DuckDB before 2.0 has no triggers
        held |= set(connection.execute(_TRIGGERS).fetchall())
    foreign = sorted(held - created())
    ours = ("table", "schema_version") in held
    if ours and {kind for kind, _ in foreign} <= {"table", "view"}:
        check_version(connection, path)
    if foreign and not ours:
        raise InputError(_NOT_OURS.format(path=path))
    if foreign:
        named = ", ".join(f"{kind} {name[:60]!r}" for kind, name in foreign[:3])
        more = f" and {len(foreign) - 3:,} more" if len(foreign) > 3 else ""
        raise InputError(
            f"{path} holds what embers did not make: {named}{more}. Move it to a file of its own (ATTACH reads both), "
            "or drop it; if you did not make it, do not trust this file"
        )


def check_version(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a database from the future.

    Raises:
        StoreVersionError
    """
    version = file_version(connection)
    if version > latest_version():
        raise StoreVersionError(
            f"{path} has schema version {version}, this embers knows up to {latest_version()}: "
            "upgrade torch-embers (`pip install -U torch-embers`), or name another database with --database"
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


def require_latest(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Refuse a database that lacks what newer queries read; return its version.

    Raises:
        InputError
    """
    applied = _applied(connection)
    version = require_ours(connection, path)
    if {BASE_VERSION, *migrations()} - applied:
        raise InputError(
            f"{path} is of an older embers (schema version {version}): run `embers mine` once, it upgrades it"
        )
    return version


def upgrade(
    connection: duckdb.DuckDBPyConnection,
    moment: str,
    release: str,
    steps: Mapping[int, str] | None = None,
) -> int:
    """Bring the database to the newest version inside the caller's transaction; return that version."""
    steps = migrations() if steps is None else steps
    applied = _applied(connection)
    # not by the highest number: steps of a lower one can come later, from a branch that was merged after
    todo = {v: text for v, text in steps.items() if v not in applied and v > BASE_VERSION}
    if not applied:
        todo[BASE_VERSION] = resources.package_file("store", "schema.sql").read_text(encoding="utf-8")
    for target in sorted(todo):
        connection.execute(todo[target])
        connection.execute("INSERT INTO schema_version VALUES (?, ?::TIMESTAMP, ?)", [target, moment, release])
    return latest_version(steps)


@cache
def case_hashes() -> dict[str, str]:
    """The hash of today by the former one of a case."""
    with duckdb.connect() as scratch:
        scratch.execute(resources.package_file("store", "case_hashes.sql").read_text(encoding="utf-8"))
        return dict(scratch.execute("FROM case_hashes").fetchall())


def renew_environments(connection: duckdb.DuckDBPyConnection) -> None:
    """Bring environments that hold the release of a kernel into the form of today, inside the caller's transaction."""
    connection.execute(resources.package_file("store", "environment_keys.sql").read_text(encoding="utf-8"))
