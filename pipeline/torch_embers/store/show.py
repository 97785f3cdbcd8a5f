"""What `embers status`, `export` and `funnel` print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import console

if TYPE_CHECKING:
    from torch_embers.store.export import Exported
    from torch_embers.store.status import Status


def print_status(found: Status) -> None:
    """Print what `embers status` shows."""
    out = console.stdout()
    out.print(f"{console.plain(found.path)}: {console.size_text(found.size)}, schema version {found.version}")
    out.print(
        f"newest change in the tracker: {found.newest_change or 'unknown'} ({console.age(found.newest_change)})\n"
    )
    out.print(console.table("Rows", [("table", False), ("rows", True)], found.counts.items()))
    columns = [("repository", False), ("kind", False), ("state", False), ("items", True)]
    out.print(console.table("\nItems", columns, found.kinds))
    rows = [
        (s.repo, s.source, s.pages, console.size_text(s.bytes), f"{s.last_fetched} ({console.age(s.last_fetched)})")
        for s in found.sources
    ]
    columns = [
        ("repository", False),
        ("source", False),
        ("pages", True),
        ("stored", True),
        ("last fetched (UTC)", False),
    ]
    out.print(console.table("\nSources", columns, rows))
    cursors = [(s.repo, s.source, s.stream, s.cursor[:80]) for s in found.streams]
    columns = [("repository", False), ("source", False), ("stream", False), ("cursor", False)]
    out.print(console.table("\nCursors", columns, cursors))


def print_export(done: list[Exported]) -> None:
    """Print which files were written."""
    rows = [(e.table, e.rows, str(e.path)) for e in done]
    console.stdout().print(console.table("", [("table", False), ("rows", True), ("file", False)], rows))


def print_funnel(rows: list[tuple[Any, ...]], candidates: int) -> None:
    """Print the funnel beside the study's numbers."""
    out = console.stdout()
    columns = [("stage", False), ("here", True), ("study", True), ("what is counted", False)]
    out.print(console.table("", columns, [(name, here, study, text) for _, name, here, study, text in rows]))
    out.print(f"\ncandidates (open or closed, data path, wrong behaviour): {candidates:,}")
