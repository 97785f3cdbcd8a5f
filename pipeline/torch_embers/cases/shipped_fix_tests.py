"""The facts about fix tests that come with embers (``data/fix_test_facts.csv``): out of a database, and into all mined.

A row is a test of a merged fix, or a file or commit that gave none, with its reason: numbers, names and versions, no
code and no message. What a user's own clone and runs say of a commit goes before what is shipped.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "fix_test_facts.csv"


def write(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Write what a database says of the fix tests that were read and run there.

    Raises:
        OSError: the file cannot be written.
    """
    found = connection.execute(_query("write_fix_tests.sql"))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column[0] for column in found.description or ()])
        writer.writerows(found.fetchall())


def load(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the shipped facts of the database those of this embers.

    Args:
        connection: in a transaction of the writer.

    Raises:
        InputError: the file is missing or malformed.
    """
    path = str(resources.data_file(FILE))
    try:
        with duckdb.connect() as reader:  # the connection to a database of embers opens no other file
            facts = reader.sql("FROM read_csv($path, header = true, all_varchar = true)", params={"path": path})
            connection.register("shipped_facts", facts.to_arrow_table())
        connection.execute(_query("load_fix_tests.sql"))
        connection.unregister("shipped_facts")
    except duckdb.Error as error:
        told = str(error).splitlines()[0]
        raise InputError(f"data/{FILE}: {told}; `python tools/fix_test_facts.py` writes it anew") from error


def _query(name: str) -> str:
    return resources.package_file("cases", name).read_text(encoding="utf-8")
