"""How record classes become rows: one table, its key and its rule for an existing row.

pyarrow, which brings numpy, is imported where rows are made: a mine with nothing new makes none.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, get_args, get_type_hints

from torch_embers import packages
from torch_embers.store.records import Batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    import zstandard

    from torch_embers.store.records import Page

KEYS: dict[str, tuple[str, ...]] = {
    "repositories": ("repo_id", "full_name"),
    "items": ("repo", "number"),
    "events": ("repo", "event_id"),
    "comments": ("repo", "comment_id"),
    "pull_files": ("repo", "number", "path"),
    "reviews": ("repo", "review_id"),
    "review_comments": ("repo", "comment_id"),
    "pull_commits": ("repo", "number", "sha"),
    "checks": ("repo", "number", "kind", "state"),
    "item_people": ("repo", "number", "role", "login"),
    "reactions": ("repo", "number", "subject", "subject_id"),
    "users": ("repo", "login"),
    "commits": ("repo", "sha"),
    "commit_files": ("repo", "sha", "path"),
    "code_sizes": ("repo", "tag", "component", "subcomponent"),
    "gold_labels": ("repo", "number", "scheme", "value", "annotator"),
    "catalog": ("repo", "number"),
    "dispositions": ("repo", "number", "annotator"),
    "stated_links": ("repo", "number", "relation", "target_repo", "target_number", "evidence"),
    "rejects": (),
    "raw_pages": ("page_id",),
    "sync_state": ("repo", "source", "stream"),
}
"""Key of each table that a batch writes; an empty key means: append only."""

OF_ONE_FILE = frozenset({"dispositions"})
"""Tables that hold what the last page of a file says, and nothing of its earlier pages: lines leave the file."""

FOLLOWS = {"milestone_number": "milestone", "milestone_due_at": "milestone", "lock_reason": "locked"}
"""Columns of items that go with another one: who states that one states them too, and NULL then means none."""

TABLES = {
    name: "sync_state" if name == "cursors" else name
    for name in get_type_hints(Batch)
    if name not in ("pages", "readings", "outdated")
}
"""Table of each attribute of ``Batch``; pages become rows in ``pages_to_arrow``, readings and outdated none."""
DERIVED_TABLES = tuple(table for table in TABLES.values() if table != "sync_state")
"""Tables that a replay empties and rebuilds from the raw pages."""


def _columns(record: type) -> dict[str, str]:
    return {f.name: str(f.type).removesuffix(" | None") for f in fields(record)}


COLUMNS: dict[str, dict[str, str]] = {
    TABLES[name]: _columns(get_args(kind)[0]) for name, kind in get_type_hints(Batch).items() if name in TABLES
}
"""Columns of each table with their types as records declare them."""


@cache
def _arrow_types() -> dict[str, pa.DataType]:
    """Type in arrow of each type that records declare."""
    without_pandas()
    import pyarrow as pa

    return {
        "str": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "tuple[str, ...]": pa.list_(pa.string()),
    }


def without_pandas() -> None:
    """Spare a process that makes no data frames the import of pandas, a quarter of a second.

    pyarrow imports it with the first array that it makes of Python's values, to know a frame's column when it meets
    one, and wherever it finds out a type by itself. Where a frame is wanted later, pyarrow imports it then.
    """
    import pyarrow as pa

    with packages.left_out("pandas"):
        pa.array([], pa.bool_())


def to_arrow(table: str, rows: Sequence[object]) -> pa.Table:
    """Turn records of one table into an arrow table.

    The reading thread makes it and the writing thread frees it: pyarrow's own memory pool keeps such memory for
    itself, which took 25 MB more in a load of 100,000 events.
    """
    types = _arrow_types()
    import pyarrow as pa

    columns = COLUMNS[table].items()
    pool = pa.system_memory_pool()
    made = {name: pa.array(map(attrgetter(name), rows), types[kind], memory_pool=pool) for name, kind in columns}
    return pa.table(made)


PAGE_COLUMNS = ("page_id", "repo", "source", "kind", "request", "fetched_at")


def pages_to_arrow(pages: Sequence[Page], compressor: zstandard.ZstdCompressor) -> pa.Table:
    """Turn pages into an arrow table, their bodies compressed."""
    import pyarrow as pa

    pool = pa.system_memory_pool()  # as in to_arrow
    columns = {name: pa.array((getattr(page, name) for page in pages), pa.string()) for name in PAGE_COLUMNS}
    columns["size"] = pa.array((len(page.body) for page in pages), pa.int64())
    columns["body"] = pa.array((compressor.compress(page.body) for page in pages), pa.binary(), memory_pool=pool)
    return pa.table(columns)


def joined(parts: Sequence[pa.Table]) -> pa.Table:
    """One table of several."""
    import pyarrow as pa

    return pa.concat_tables(parts)


def numbered(parts: Sequence[pa.Table]) -> pa.Table:
    """One table of several; column ``position`` holds the order of arrival."""
    import pyarrow as pa

    whole = joined(parts)
    return whole.append_column("position", pa.array(range(whole.num_rows), pa.int64()))
