"""The facts about fix tests that come with embers (``data/fix_test_facts.csv``): out of a database, and into all mined.

A row is a test of a merged fix, or a file or commit that gave none, with its reason: numbers, names and versions, no
code and no message. What a user's own clone and runs say of a commit goes before what is shipped.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import duckdb

FILE = "fix_test_facts.csv"
SHIPPED = "shipped"
_TEST = ("commit_sha", "committed_at", "pull_number", "path", "owner", "test", "change", "status", "reason", "name")
_RELEASE = ("first_release", "first_release_by", "later", "rules")
_CLASS = ("name", "class", "validated_before", "validated_after", "variants", "variants_run", "rules")
_LISTS = ("failed", "passed", "unusable", "unusable_because")
_DECIDED = "2000-01-01"
"""Nobody noted when."""


def write(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write what a database says of the fix tests that were read and run there.

    Raises:
        OSError: the file cannot be written.
    """
    found = connection.execute(resources.package_file("cases", "write_fix_tests.sql").read_text(encoding="utf-8"))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column[0] for column in found.description or ()])
        writer.writerows(found.fetchall())


def facts() -> Iterator[dict[str, str]]:
    """The shipped facts as text, lists with spaces between.

    Raises:
        InputError: the file is missing.
    """
    with resources.data_file(FILE).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def load(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the shipped facts of the database those of this embers.

    Args:
        connection: in a transaction of the writer.

    Raises:
        InputError: the file is missing or malformed.
    """
    for table in ("fix_tests", "fix_test_classes"):
        connection.execute(f"DELETE FROM {table} WHERE provenance = ?", [SHIPPED])
    commits, names = (
        {value for (value,) in connection.execute(query, asked).fetchall()}
        for query, asked in (
            ("SELECT DISTINCT commit_sha FROM fix_tests WHERE repo = ?", [DEFAULT_REPO]),
            ("SELECT name FROM fix_test_classes", []),
        )
    )
    try:
        found = list(facts())
        tests = [_test(row) for row in found if row["commit_sha"] not in commits]
        classes = [_class(row) for row in found if row["class"] and row["name"] not in names]
    except (KeyError, ValueError, AttributeError) as error:
        raise InputError(f"data/{FILE}: {error!r}; `python tools/fix_test_facts.py` writes it anew") from error
    rows.append(connection, "fix_tests", tests)
    rows.append(connection, "fix_test_classes", classes)


def _test(row: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {column: row[column] or None for column in (*_TEST, *_RELEASE)}
    lists = {column: row[column].split() for column in ("issues", "same")}
    number = int(row["pull_number"]) if row["pull_number"] else None
    shared = {"repo": DEFAULT_REPO, "decided_at": _DECIDED, "provenance": SHIPPED}
    return found | lists | shared | {"pull_number": number, "committed_at": row["committed_at"].rstrip("Z") or None}


def _class(row: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {column: row[column] or None for column in _CLASS}
    lists = {column: row[column].split() for column in _LISTS}
    numbers = {column: int(row[column]) if row[column] else None for column in ("variants", "variants_run")}
    fails = {"true": True, "false": False}.get(row["fails_on_newest"].lower())
    shared = {"decided_at": _DECIDED, "provenance": SHIPPED, "reason": row["class_reason"] or None}
    return found | lists | numbers | shared | {"fails_on_newest": fails}
