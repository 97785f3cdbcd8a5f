"""What the database holds, how fresh it is, and where each stream stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.store import schema

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
    "catalog",
    "dispositions",
    "rejects",
    "raw_pages",
)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What one source brought for one repository."""

    repo: str
    source: str
    pages: int
    bytes: int
    last_fetched: datetime


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Where one stream stands."""

    repo: str
    source: str
    stream: str
    cursor: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Status:
    """Everything that `embers status` shows. Times are UTC without offset."""

    path: Path
    size: int
    version: int
    counts: dict[str, int]
    kinds: list[tuple[str, str, str, int]]
    sources: list[SourceStatus]
    streams: list[StreamStatus]
    newest_change: datetime | None


def status(store: Store) -> Status:
    """Read the state of the database.

    Raises:
        StoreError: one of its kinds.
    """
    with store.read() as connection:

        def rows(sql: str) -> list[tuple[Any, ...]]:
            return connection.execute(sql).fetchall()

        counts = {table: int(rows(f"SELECT count(*) FROM {table}")[0][0]) for table in COUNTED}
        kinds = rows(
            "SELECT repo, coalesce(nullif(kind, ''), 'unknown') AS kind, coalesce(state, 'unknown') AS state, count(*) "
            "FROM items WHERE deleted_at IS NULL GROUP BY ALL ORDER BY ALL"
        )
        sources = rows(
            "SELECT repo, source, count(*), sum(octet_length(body)), max(fetched_at) "
            "FROM raw_pages GROUP BY ALL ORDER BY ALL"
        )
        streams = rows("SELECT repo, source, stream, cursor, updated_at FROM sync_state ORDER BY ALL")
        newest = rows("SELECT max(updated_at) FROM items")[0][0]
        version = schema.file_version(connection)
    return Status(
        path=store.path,
        size=store.path.stat().st_size,
        version=version,
        counts=counts,
        kinds=[(str(a), str(b), str(c), int(n)) for a, b, c, n in kinds],
        sources=[SourceStatus(str(a), str(b), int(n), int(size), at) for a, b, n, size, at in sources],
        streams=[StreamStatus(*row) for row in streams],
        newest_change=newest,
    )
