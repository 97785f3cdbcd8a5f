"""Whether a database holds already what comes with embers: told without reading a case, which costs more than a mine.

A mark stands for the shipped files, the code that reads them, and every row that follows from them or decides about
them.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.builds import releases
from torch_embers.cases import shipped_fix_tests, shipped_verdicts
from torch_embers.settings import DEFAULT_REPO
from torch_embers.timeline import stored as timelines
from torch_embers.verdicts.status import tracked_items

if TYPE_CHECKING:
    import duckdb

    from torch_embers.store.store import Store

CASES = "cases/uncovered.toml"
"""A file of the folder of cases."""
_CODE = ("cases", "fixtests", "verdicts", "oracles", "timeline")
_READ = (".py", ".sql", ".toml")
ORIGIN, ID = "shipped", "cases"
"""Where the mark stands in ``link_scans``."""
_ROWS = {
    "cases c": "origin = 'curated'",
    "case_items c": "true",
    "verdicts v": "provenance = 'shipped'",
    "status_history s": "provenance = 'shipped'",
    "timelines t": "provenance = 'shipped'",
    "fix_tests f": "provenance = 'shipped'",
    "fix_test_classes f": "provenance = 'shipped'",
}
"""The rows that come with embers; what decides about statuses beside them is read as it is (``tracked_items``)."""


@cache
def _of_files() -> bytes:
    """Digest of all that is shipped, and of the code that makes rows of it (its hashes differ by Python's version)."""
    found = blake2b(repr(sys.version_info[:2]).encode(), digest_size=16)
    folders = (resources.data_file(CASES).parent, *(resources.PACKAGE_DIR / name for name in _CODE))
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.suffix in _READ):
            found.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    for file in (shipped_verdicts.FILE, timelines.FILE):
        found.update(resources.analysis_text(*file).encode())
    for data in (releases.FILE, shipped_fix_tests.FILE):
        found.update(resources.data_file(data).read_bytes())
    return found.digest()


def _now(connection: duckdb.DuckDBPyConnection) -> str:
    found = blake2b(_of_files(), digest_size=16)
    found.update(repr(sorted(tracked_items(connection).items())).encode())
    for table, which in _ROWS.items():
        query = f"SELECT count(*), bit_xor(hash({table[-1]})) FROM {table} WHERE {which}"
        found.update(f"{table} {connection.execute(query).fetchall()}".encode())
    return found.hexdigest()


def is_current(store: Store) -> bool:
    """Whether nothing would change if cases, shipped verdicts and statuses were brought up to date.

    Raises:
        StoreError: the database cannot be read.
    """
    with store.read() as connection:
        if not connection.execute("FROM items WHERE repo = ? LIMIT 1", [DEFAULT_REPO]).fetchall():
            return True
        return is_noted(connection)


def is_noted(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the database was brought up to date, and nothing has changed since."""
    query = "SELECT content_hash FROM link_scans WHERE repo = ? AND origin = ? AND id = ?"
    known = connection.execute(query, [DEFAULT_REPO, ORIGIN, ID]).fetchall()
    return bool(known) and known == [(_now(connection),)]


def note(connection: duckdb.DuckDBPyConnection) -> None:
    """Note, in the writer's transaction, that the database is up to date."""
    place = [DEFAULT_REPO, ORIGIN, ID]
    connection.execute("DELETE FROM link_scans WHERE repo = ? AND origin = ? AND id = ?", place)
    connection.execute("INSERT INTO link_scans VALUES (?, ?, ?, ?)", [*place, _now(connection)])
