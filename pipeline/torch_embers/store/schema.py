"""Schema versions: a new file gets schema.sql, an older one the migrations it lacks, a newer one is refused."""

from __future__ import annotations

import re
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
        raise InputError(f"{path} holds no tables of embers: name its database, `embers mine` makes a new one")
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
