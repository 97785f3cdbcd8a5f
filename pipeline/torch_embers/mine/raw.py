"""Raw objects and the tables that are derived from them: two functions, ``put`` and ``derive``; the rest is SQL.

An object is stored as its source gave it: an item of GraphQL without the nodes of its comments, timeline and files,
which are objects of their own (``part_id``), but with those of its labels, closing references, parent and sub-issues.
Two keys are ours and stand in the JSON of an item. ``whole``, a list of ``comments``, ``events`` and ``files``, names
the parts that were read to their end in the same reading: rows that were last read earlier are gone then. ``absent``
says that the tracker has no such item any more (with ``transferred_to`` as ``owner/name#number``, where it is known).
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from torch_embers import resources
from torch_embers.store import renames

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    import duckdb

_SAID = ("said.sql", "said_by_archive.sql", "said_by_catalog.sql", "said_parts.sql")
"""Views of what each raw object says."""
COPIED = 5_000
"""Items whose raw objects are copied before they are read; those of more would take the memory for the derived rows."""
OF_TRACKER = ("items", "comments", "events", "pull_files", "stated_links")
OF_READERS = ("catalog", "gold_labels", "dispositions")
"""Tables whose rows belong to an item: each is filled from the temporary table ``derived_<name>``."""
_UNSTORABLE = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(?:0000|d[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})|(?<!\\ud[89ab]..\\u)d[c-f][0-9a-f]{2})",
    re.IGNORECASE,
)


class Said(NamedTuple):
    """One object as a source gave it."""

    repo: str
    kind: str
    """item, comment, event, file, link, happening (an event of GH Archive), judgement or commit."""
    id: str
    """Number of an item; of a part what ``part_id`` makes of both."""
    source: str
    said_at: str | datetime | None
    """Last change of an item or a comment; ``None`` where the object does not say."""
    sequence: int | None
    """Order among statements of one time; ``None`` numbers by arrival."""
    fetched_at: str | datetime
    """All objects of one reading share it: a part that was read whole leaves none that was read before."""
    json_text: str


def part_id(number: int, part: str | int) -> str:
    """Id of a comment, event, file or link: it holds the number of its item."""
    return f"{number}/{part}"


def storable(json_text: str) -> str:
    """JSON whose texts UTF-8 and C strings can carry: lone surrogates and NUL become U+FFFD."""
    return _UNSTORABLE.sub(r"\1\\ufffd", json_text) if "\\u" in json_text else json_text


@cache
def text_of(name: str) -> str:
    """A file of SQL of this package."""
    return resources.package_file("mine", name).read_text(encoding="utf-8")


def put(connection: duckdb.DuckDBPyConnection, objects: Iterable[Said]) -> int:
    """Store objects inside the caller's transaction; what was said before is only marked as read again.

    Returns:
        How many objects came.

    Raises:
        duckdb.Error: a text that is no JSON, or a time that is none.
    """
    import pyarrow as pa  # brings numpy, and a mine with nothing new does without

    rows = [said._replace(json_text=storable(said.json_text)) for said in objects]
    if not rows:
        return 0
    columns = [[str(value) if name.endswith("_at") and value is not None else value for value in column]
               for name, column in zip(Said._fields, zip(*rows, strict=True), strict=True)]  # fmt: skip
    types = [pa.int64() if name == "sequence" else pa.string() for name in Said._fields]
    arrays = [pa.array(column, kind) for column, kind in zip(columns, types, strict=True)]
    connection.register("came", pa.table(arrays, names=list(Said._fields)))
    try:
        connection.execute(text_of("put.sql"))
    finally:
        connection.unregister("came")
    return len(rows)


def derive(
    connection: duckdb.DuckDBPyConnection, repo: str, numbers: Iterable[int], tables: Sequence[str] = OF_TRACKER
) -> None:
    """Make the derived rows of these items anew, inside the caller's transaction.

    Args:
        connection: to a database of embers.
        repo: of the items.
        numbers: of all items that were told of since they were last derived.
        tables: ``OF_TRACKER``, with ``OF_READERS`` where the catalog was read.
    """
    touched = list(numbers)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE touched AS SELECT $1 AS repo, unnest($2::INTEGER[]) AS number", [repo, touched]
    )
    connection.execute(text_of("concerned.sql"))
    found = "raw_of_near"
    if len(touched) <= COPIED:  # each kind of object is looked for apart, and `raw` is long
        connection.execute("CREATE OR REPLACE TEMP TABLE near_raw AS FROM raw_of_near")
        found = "near_raw"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW concerned AS FROM {found}")
    _derive(connection, tables)


def derive_all(connection: duckdb.DuckDBPyConnection) -> None:
    """Make all derived rows anew beside the old ones, which they then replace, inside the caller's transaction.

    A failure leaves everything as it was. What cannot be read of ``raw`` is a reject, counted and named.
    """
    connection.execute(text_of("all_concerned.sql"))
    _derive(connection, (*OF_TRACKER, *OF_READERS))


def _derive(connection: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> None:
    known = {name for (name,) in connection.execute("SELECT view_name FROM duckdb_views() WHERE temporary").fetchall()}
    if "said_items" not in known:
        for name in ("macros.sql", *_SAID):
            connection.execute(text_of(name))
    for name in ("items", "parts", *(["catalog"] if "catalog" in tables else [])):
        connection.execute(text_of(f"derive_{name}.sql"))
    for old, name in renames.former(connection).items():  # what was said names repositories as they were called then
        connection.execute("UPDATE derived_events SET other_repo = $2 WHERE other_repo = $1", [old, name])
        for column in ("repo", "target_repo"):
            connection.execute(f"UPDATE derived_stated_links SET {column} = $2 WHERE {column} = $1", [old, name])
    for table in tables:
        ends = [("repo", "number"), *([("target_repo", "target_number")] if table == "stated_links" else [])]
        own = " OR ".join(f"({repo}, {number}) IN (FROM touched)" for repo, number in ends)
        by_hand = " AND source <> 'label'" if table == "gold_labels" else ""
        connection.execute(f"DELETE FROM {table} WHERE ({own}){by_hand}")
        connection.execute(f"INSERT INTO {table} BY NAME FROM derived_{table} WHERE {own}")
        connection.execute(f"DROP TABLE derived_{table}")
