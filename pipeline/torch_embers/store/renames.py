"""A repository that comes with another name: its rows get that name, in every table, in one transaction.

The id that GitHub gives a repository decides, not the name: whoever takes over a name that became free is another
repository. Raw pages keep the name of their time; a replay meets the new name at the same place and renames again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.store import sql
from torch_embers.store.tables import COLUMNS, KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import duckdb

NAMING = ("repo", "target_repo", "other_repo")
"""Columns that name a repository."""
UNCHANGED = ("raw_pages", "repositories")
RECOMPUTED = {
    "links": ("repo", "number", "sha"),
    "components": ("repo", "number"),
    "link_scans": ("repo", "origin", "id"),
    "model_texts": ("repo", "number"),
    "weak_labels": ("repo", "number"),
    "predictions": ("repo", "number"),
    "scripts": ("repo", "number"),
    "incomplete_items": ("repo", "place"),
}
"""Tables that a later stage fills: what has rows of it under both names keeps those under the new one."""


def apply(connection: duckdb.DuckDBPyConnection, seen: Iterable[Mapping[str, Any]]) -> None:
    """Rename what is stored of repositories that come now (rows of ``repositories``, in the order of their arrival)."""
    known = present(connection)
    for repo_id, name, asked_as in ((row["repo_id"], row["full_name"], row["asked_as"]) for row in seen):
        held = {other for key, other in known.items() if key != repo_id}
        for old in sorted({known.get(repo_id, name), asked_as or name} - {name} - held):
            _rename(connection, old, name)
        known[repo_id] = name


def present(connection: duckdb.DuckDBPyConnection) -> dict[int, str]:
    """The name of each repository by its id, as of the last time it was seen."""
    query = "SELECT repo_id, arg_max(full_name, fetched_at) FROM repositories GROUP BY repo_id"
    return dict(connection.execute(query).fetchall())


def former(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Present name by former name; a name that another repository has now is left out."""
    names = present(connection)
    rows = connection.execute(
        "SELECT full_name, repo_id FROM repositories UNION SELECT asked_as, repo_id FROM repositories"
    ).fetchall()
    return {name: names[repo_id] for name, repo_id in rows if name and name not in names.values()}


def _rename(connection: duckdb.DuckDBPyConnection, old: str, name: str) -> None:
    for table, columns in _naming(connection).items():
        if not _any(connection, table, columns, old):
            continue
        if "repo" in columns:
            _make_room(connection, table, old, name)
        values = ", ".join(f"{c} = CASE WHEN {c} = $old THEN $name ELSE {c} END" for c in columns)
        named = " OR ".join(f"{c} = $old" for c in columns)
        connection.execute(f"UPDATE {table} SET {values} WHERE {named}", {"old": old, "name": name})
    connection.execute(
        "UPDATE items SET transferred_to = $name || substr(transferred_to, length($old) + 1) "
        "WHERE starts_with(transferred_to, $old || '#')",
        {"old": old, "name": name},
    )


def _naming(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Tables with the columns of each that name a repository."""
    rows = connection.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() SEMI JOIN duckdb_tables() USING (table_oid) "
        "WHERE list_contains($naming, column_name) AND NOT list_contains($unchanged, table_name) "
        "GROUP BY table_name ORDER BY table_name",
        {"naming": list(NAMING), "unchanged": list(UNCHANGED)},
    ).fetchall()
    return dict(rows)


def _any(connection: duckdb.DuckDBPyConnection, table: str, columns: list[str], name: str) -> bool:
    named = " OR ".join(f"{c} = $name" for c in columns)
    [(found,)] = connection.execute(f"SELECT EXISTS (FROM {table} WHERE {named})", {"name": name}).fetchall()
    return bool(found)


def _make_room(connection: duckdb.DuckDBPyConnection, table: str, old: str, name: str) -> None:
    """Bring rows that stand under both names together, as older releases left them."""
    key = KEYS.get(table) or RECOMPUTED.get(table)
    if not key:
        return
    same = " AND ".join(f"o.{c} IS NOT DISTINCT FROM n.{c}" for c in key if c != "repo")
    twice = f"FROM {table} n WHERE n.repo = $name AND {same}"
    given = {"old": old, "name": name}
    if table == "items":
        _merge_items(connection, f"o.repo = $old AND EXISTS ({twice})", given)
    else:
        connection.execute(f"DELETE FROM {table} o WHERE o.repo = $old AND EXISTS ({twice})", given)


def _merge_items(connection: duckdb.DuckDBPyConnection, where: str, given: dict[str, str]) -> None:
    """Merge items under the former name into those under the new one by the rules of merging."""
    values = ", ".join("$name AS repo" if c == "repo" else f"o.{c}" for c in COLUMNS["items"])
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE stage AS SELECT {values}, row_number() OVER (ORDER BY number) - 1 AS position "
        f"FROM items o WHERE {where}",
        given,
    )
    connection.execute(f"DELETE FROM items o WHERE {where}", given)
    for statement in sql.merge_items():
        connection.execute(statement)
    connection.execute("DROP TABLE stage")
