"""A repository that comes with another name: its rows get that name, in every table, in one transaction.

The id that GitHub gives a repository decides, not the name: whoever takes over a name that became free is another
repository. Inside the JSON of ``raw`` names stay as they were said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.store.rows import KEYS

if TYPE_CHECKING:
    import duckdb

NAMING = ("repo", "target_repo", "other_repo")
"""Columns that name a repository."""
RECOMPUTED = {
    "links": ("repo", "number", "sha"),
    "components": ("repo", "number"),
    "link_scans": ("repo", "origin", "id"),
    "model_texts": ("repo", "number"),
    "weak_labels": ("repo", "number"),
    "predictions": ("repo", "number"),
    "scripts": ("repo", "number"),
}
"""Tables that a later stage fills: what has rows of it under both names keeps those under the new one."""


def apply(
    connection: duckdb.DuckDBPyConnection, repo_id: int, name: str, asked_as: str | None, fetched_at: str
) -> bool:
    """Note a repository as it comes now, and give what is stored of it its present name.

    Args:
        connection: inside the caller's transaction.
        repo_id: what GitHub calls it by, whatever its name.
        name: owner/name as it is now.
        asked_as: the name that was asked for.
        fetched_at: when it was looked up (UTC).

    Returns:
        Whether rows were renamed: what is derived from ``raw`` is then to be derived again.
    """
    known = present(connection)
    held = {other for key, other in known.items() if key != repo_id}
    former_names = {known.get(repo_id, name), asked_as or name} - {name} - held
    renamed = [_rename(connection, old, name) for old in sorted(former_names)]
    if known.get(repo_id) != name or former_names:
        connection.execute("DELETE FROM repositories WHERE repo_id = ? AND full_name = ?", [repo_id, name])
        connection.execute(
            "INSERT INTO repositories VALUES (?, ?, ?, ?::TIMESTAMP)", [repo_id, name, asked_as, fetched_at]
        )
    return any(renamed)


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


def _rename(connection: duckdb.DuckDBPyConnection, old: str, name: str) -> bool:
    given, found = {"old": old, "name": name}, False
    for table, columns in _naming(connection).items():
        named = " OR ".join(f"{c} = $old" for c in columns)
        if connection.execute(f"FROM {table} WHERE {named} LIMIT 1", {"old": old}).fetchall():
            found = True
            if "repo" in columns:
                _make_room(connection, table, given)
            values = ", ".join(f"{c} = CASE WHEN {c} = $old THEN $name ELSE {c} END" for c in columns)
            connection.execute(f"UPDATE {table} SET {values} WHERE {named}", given)
    connection.execute(
        "UPDATE items SET transferred_to = $name || substr(transferred_to, length($old) + 1) "
        "WHERE starts_with(transferred_to, $old || '#')",
        given,
    )
    return found


def _naming(connection: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Tables with the columns of each that name a repository."""
    rows = connection.execute(
        "SELECT table_name, list(column_name) FROM duckdb_columns() "
        "SEMI JOIN duckdb_tables() USING (database_oid, table_oid) "
        "WHERE list_contains($naming, column_name) AND database_name <> 'temp' GROUP BY table_name ORDER BY table_name",
        {"naming": list(NAMING)},
    ).fetchall()
    return dict(rows)


def _make_room(connection: duckdb.DuckDBPyConnection, table: str, given: dict[str, str]) -> None:
    """Of what stands under both names, keep the rows under the new one."""
    if key := KEYS.get(table) or RECOMPUTED.get(table):
        same = " AND ".join(f"o.{c} IS NOT DISTINCT FROM n.{c}" for c in key if c != "repo")
        twice = f"FROM {table} n WHERE n.repo = $name AND {same}"
        connection.execute(f"DELETE FROM {table} o WHERE o.repo = $old AND EXISTS ({twice})", given)
