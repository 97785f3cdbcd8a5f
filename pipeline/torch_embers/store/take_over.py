"""What is the user's own in a database of an older embers, brought into one of today.

The tracker's part is mined anew. What was computed on this machine, or said by its people, comes along: runs, verdicts
and what follows from them, and labels by hand. Rows that come with embers do not: they are written by every mine.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import duckdb

from torch_embers.errors import InputError
from torch_embers.store.connection import READ_PATIENCE, connect, explain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from torch_embers.store.store import Store

_OWN_ROWS = "provenance = 'own'"
OWN: Mapping[str, str] = {
    "runs": "true",
    "verdicts": _OWN_ROWS,
    "status_history": _OWN_ROWS,
    "announcements": "true",
    "gold_labels": "source = 'label'",
    "observations": "true",
    "timelines": _OWN_ROWS,
    "fix_tests": _OWN_ROWS,
    "fix_test_classes": _OWN_ROWS,
    "artifacts": "true",
    "edits": "true",
    "oracle_runs": "true",
    "oracle_findings": "true",
    "bisections": "true",
    "bisection_steps": "true",
    "bisection_commits": "true",
    "reductions": "true",
}
"""Tables that are taken over, with the condition that tells the user's own rows."""
SHARED: Mapping[str, tuple[str, ...]] = {
    "builds": ("build",),
    "environments": ("environment",),
    "cases": ("case_hash", "name"),
    "case_items": ("case_hash",),
}
"""Tables to which the others refer: rows that a mine has written already, by these columns, stay."""
_COLUMNS = """
SELECT column_name FROM system.main.duckdb_columns() c
SEMI JOIN system.main.duckdb_tables() t USING (database_oid, table_oid)
WHERE c.table_name = ? AND c.database_name <> 'temp' ORDER BY c.column_index
"""
_TAKEN = "FROM listing_marks WHERE listing = $1 AND onward = $2"
_AT_ONCE = 10_000


def take_over(store: Store, old: Path) -> dict[str, int]:
    """Bring the user's own rows of an older database into a new one, in one transaction.

    Args:
        store: the new database; it is made where there is none.
        old: the file of an older embers; it is only read.

    Returns:
        How many rows came, by table; tables without any are left out. Nothing of a file that was taken over already.

    Raises:
        InputError: the file is no database of embers, or the new one has rows of its own already.
        StoreError: one of both files cannot be opened or written, or the old one is too old.
    """
    if not old.is_file():
        raise InputError(f"--take-over {old}: no such file")
    if store.path.exists() and old.samefile(store.path):
        raise InputError(f"--take-over {old}: name another file with --database, this one stays as it is")
    source = connect(old, read_only=True, patience=READ_PATIENCE, former=True)
    try:
        with (
            store.writer("embers mine --take-over", create=True) as writer,
            writer.transaction(bulk=True) as target,
        ):
            mark = [f"take-over {old.resolve()}", str(old.stat().st_size)]
            if target.execute(_TAKEN, mark).fetchall():
                return {}  # the mine that follows may have to be repeated
            _refuse_second(target, store.path)
            taken = {name: _take(source, target, name, old) for name in (*SHARED, *OWN)}
            changed = datetime.fromtimestamp(old.stat().st_mtime, UTC).replace(tzinfo=None)
            target.execute("INSERT INTO listing_marks VALUES ('', $1, $3, $2)", [*mark, changed])
    finally:
        source.close()
    return {name: count for name, count in taken.items() if count}


def _refuse_second(target: duckdb.DuckDBPyConnection, path: Path) -> None:
    for name, own in OWN.items():
        if target.execute(f"FROM {name} WHERE {own} LIMIT 1").fetchall():
            raise InputError(f"{path} has {name} of its own: take over into a new file (--database NEW.duckdb)")


def _take(source: duckdb.DuckDBPyConnection, target: duckdb.DuckDBPyConnection, name: str, old: Path) -> int:
    held = [column for (column,) in source.execute(_COLUMNS, [name]).fetchall()]
    columns = [column for (column,) in target.execute(_COLUMNS, [name]).fetchall() if column in held]
    if not columns:  # a table that the older version did not have
        return 0
    listed = ", ".join(f'"{column}"' for column in columns)
    own = OWN.get(name, "true")
    query = f"SELECT {listed} FROM main.{name} WHERE {own}"
    key = SHARED.get(name)
    known = f"ANTI JOIN {name} USING ({', '.join(key)})" if key else ""
    try:
        target.register("taken", source.sql(query).to_arrow_reader(_AT_ONCE))
        [(count,)] = target.execute(f"INSERT INTO {name} BY NAME SELECT {listed} FROM taken {known}").fetchall()
    except duckdb.Error:
        _require_readable(source, query, old)  # the error does not say which of both files it is about
        raise
    target.unregister("taken")
    return int(count)


def _require_readable(source: duckdb.DuckDBPyConnection, query: str, old: Path) -> None:
    try:
        for _ in source.sql(query).to_arrow_reader(_AT_ONCE):
            pass
    except duckdb.Error as error:
        raise explain(error, old) from error
