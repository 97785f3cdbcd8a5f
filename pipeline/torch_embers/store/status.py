"""What the database holds, how fresh it is, what its cases say, and how far the tracker was read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.store import schema
from torch_embers.store.rows import mappings

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from torch_embers.store.store import Store

COUNTED = (
    "items",
    "events",
    "comments",
    "pull_files",
    "commits",
    "code_sizes",
    "links",
    "components",
    "gold_labels",
    "predictions",
    "catalog",
    "dispositions",
    "cases",
    "builds",
    "runs",
    "verdicts",
    "rejects",
    "raw",
)
_COUNTED_ROWS = {"verdicts": "verdicts WHERE verdict <> 'untestable'"}
_QUERIES = {
    "items": """
        SELECT repo, coalesce(nullif(kind, ''), 'unknown') AS kind, coalesce(state, 'unknown') AS state,
               count(*) AS items
        FROM items WHERE deleted_at IS NULL GROUP BY ALL ORDER BY ALL""",
    "labels": """
        SELECT scheme, coalesce(gold, 0) AS gold, coalesce(classifier, 0) AS classifier
        FROM (SELECT scheme, count(DISTINCT (repo, number)) AS gold FROM gold_labels GROUP BY ALL)
        FULL JOIN (SELECT scheme, count(value) AS classifier FROM predictions GROUP BY ALL) USING (scheme)
        ORDER BY ALL""",
    "cases": "SELECT origin, count(*) AS cases FROM cases WHERE current GROUP BY ALL ORDER BY ALL",
    "verdicts": """
        SELECT release, count(*) FILTER (verdict = 'occurs') AS occurs, count(*) FILTER (verdict = 'absent') AS absent,
               count(*) FILTER (verdict = 'not_seen') AS not_seen,
               count(*) FILTER (verdict NOT IN ('occurs', 'absent', 'not_seen')) AS other
        FROM (
            SELECT split_part(b.version, '+', 1) AS release, v.verdict
            FROM latest_verdicts v JOIN builds b USING (build) JOIN cases c ON c.case_hash = v.case_hash AND c.current
        ) GROUP BY release
        ORDER BY list_transform(string_split(release, '.'), lambda p: coalesce(try_cast(p AS INTEGER), 0)) DESC""",
    "statuses": "SELECT backend, status, count(*) AS items FROM statuses GROUP BY ALL ORDER BY ALL",
    "sources": """
        SELECT repo, source, count(*) AS objects, sum(strlen(json))::BIGINT AS bytes, max(fetched_at) AS last_fetched
        FROM raw GROUP BY ALL ORDER BY ALL""",
    "listings": """
        SELECT repo, count(*) FILTER (NOT is_absent) AS listed, count(read_of) AS read,
               count(*) FILTER (is_absent) AS absent, (SELECT count(*) FROM todo t WHERE t.repo = l.repo) AS to_read
        FROM listed l GROUP BY ALL ORDER BY ALL""",
}

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that `embers status` shows: rows as mappings, times in UTC without offset."""

    path: Path
    size: int
    version: int
    newest_change: datetime | None
    rows: dict[str, int]
    items: Rows
    labels: Rows
    cases: Rows
    verdicts: Rows
    statuses: Rows
    sources: Rows
    listings: Rows


def status(store: Store) -> Status:
    """Read the state of the database.

    Raises:
        StoreError: one of its kinds.
    """
    with store.read() as connection:
        version = schema.require_ours(connection, store.path)

        counted = " UNION ALL ".join(
            f"SELECT '{table}' AS name, count(*) AS rows FROM {_COUNTED_ROWS.get(table, table)}" for table in COUNTED
        )
        counts = dict(connection.execute(counted).fetchall())
        return Status(
            path=store.path,
            size=store.path.stat().st_size,
            version=version,
            newest_change=connection.execute("SELECT max(updated_at) FROM items").fetchall()[0][0],
            rows={table: counts[table] for table in COUNTED},
            **{name: mappings(connection, query) for name, query in _QUERIES.items()},
        )
