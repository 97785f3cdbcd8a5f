"""What the commands print: tables, the progress line of a mine, trees. Text from outside is always escaped."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.classify.embedding.search import Hit
    from torch_embers.mine.client import GitHubClient
    from torch_embers.mine.runner import Report
    from torch_embers.store.export import Exported
    from torch_embers.store.status import Status
    from torch_embers.store.store import Prepared

CONTROL = {c: None for c in (*range(32), 127, *range(128, 160)) if chr(c) not in "\n\t"}
"""Control characters of foreign text could move the cursor or recolour a terminal."""


def plain(text: object) -> str:
    """Foreign text that a terminal can show safely."""
    return escape(str(text).translate(CONTROL))


def stdout() -> Console:
    """Console for results."""
    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def stderr() -> Console:
    """Console for messages and progress, so that results can be piped."""
    return Console(stderr=True, highlight=False)


def age(moment: datetime | None) -> str:
    """How long ago, in words."""
    if moment is None:
        return "never"
    seconds = (datetime.now(UTC).replace(tzinfo=None) - moment).total_seconds()
    if seconds < 90:
        return "just now"
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size or unit == "minutes":
            return f"{seconds / size:,.0f} {unit} ago"
    return "just now"


def size_text(size: float) -> str:
    """Bytes in a readable unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.2f} GB"


def table(title: str, columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[object]]) -> Table:
    """A table; each column is (heading, right-aligned)."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for heading, right in columns:
        made.add_column(heading, justify="right" if right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(f"{cell:,}" if isinstance(cell, int) else plain(cell) for cell in row))
    return made


def print_status(found: Status) -> None:
    """Print what `embers status` shows."""
    out = stdout()
    out.print(f"{plain(found.path)}: {size_text(found.size)}, schema version {found.version}")
    out.print(f"newest change in the tracker: {found.newest_change or 'unknown'} ({age(found.newest_change)})\n")
    out.print(table("Rows", [("table", False), ("rows", True)], found.counts.items()))
    columns = [("repository", False), ("kind", False), ("state", False), ("items", True)]
    out.print(table("\nItems", columns, found.kinds))
    rows = [
        (s.repo, s.source, s.pages, size_text(s.bytes), f"{s.last_fetched} ({age(s.last_fetched)})")
        for s in found.sources
    ]
    columns = [
        ("repository", False),
        ("source", False),
        ("pages", True),
        ("stored", True),
        ("last fetched (UTC)", False),
    ]
    out.print(table("\nSources", columns, rows))
    cursors = [(s.repo, s.source, s.stream, s.cursor[:80]) for s in found.streams]
    columns = [("repository", False), ("source", False), ("stream", False), ("cursor", False)]
    out.print(table("\nCursors", columns, cursors))


def print_export(done: list[Exported]) -> None:
    """Print which files were written."""
    rows = [(e.table, e.rows, str(e.path)) for e in done]
    stdout().print(table("", [("table", False), ("rows", True), ("file", False)], rows))


def print_funnel(rows: list[tuple[Any, ...]], candidates: int) -> None:
    """Print the funnel beside the study's numbers."""
    out = stdout()
    columns = [("stage", False), ("here", True), ("study", True), ("what is counted", False)]
    out.print(table("", columns, [(name, here, study, text) for _, name, here, study, text in rows]))
    out.print(f"\ncandidates (open or closed, data path, wrong behaviour): {candidates:,}")


def print_report(report: Report) -> None:
    """Print what a mine did, with what to do about what it could not do."""
    out = stdout()
    counted = [
        (report.items, "items"),
        (report.comments, "comments"),
        (report.events, "events"),
        (report.commits, "commits"),
    ]
    parts = [f"{n:,} {what}" for n, what in counted if n] or ["nothing new"]
    rate = f", {report.items / report.seconds:,.0f} items/s" if report.items > 1 and report.seconds > 0.5 else ""
    out.print(f"{plain(report.source)}: {', '.join(parts)} in {report.seconds:,.1f} s{rate}")
    if report.links is not None:
        found = report.links
        out.print(f"links: {found.links:,} and {found.components:,} components in the database")
    if report.rejects:
        out.print(f"{report.rejects:,} records were set aside, see `embers export --table rejects`")
    for note in report.notes:
        out.print(f"note: {plain(note)}")
    if report.stopped:
        out.print(f"stopped: {plain(report.stopped)}")


def print_hits(hits: list[Hit]) -> None:
    """Print found items."""
    rows = [(f"{h.score:.2f}", str(h.number), h.title) for h in hits]
    stdout().print(table("", [("score", True), ("number", True), ("title", False)], rows))


class _Quota(ProgressColumn):
    """Requests used, quota left, cost to finish, time to the next reset."""

    def __init__(self, client: GitHubClient | None) -> None:
        super().__init__()
        self._client = client

    def render(self, task: Any) -> Text:
        """Draw the column."""
        if self._client is None:
            return Text("")
        used = self._client.usage.requests
        parts = [f"{used} requests"]
        if (left := self._client.quota_left()) is not None:
            parts.append(f"{left:,} left")
        if task.total and task.completed and used > 1:
            rest = max(task.total - task.completed, 0) * used / task.completed
            parts.append(f"~{rest:,.0f} to finish")
        if (reset := self._client.next_reset()) is not None:
            parts.append(f"reset in {reset / 60:,.0f} min")
        return Text(" · ".join(parts), style="dim")


class _Rate(ProgressColumn):
    """Items per second since the start."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Any) -> Text:
        """Draw the column."""
        rate = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{rate:,.0f} {self._unit}/s")


class Counting:
    """A progress line for work that is counted in items, on standard error; quiet where that is no terminal."""

    def __init__(self, what: str, *more: ProgressColumn, unit: str = "items") -> None:
        self._console = stderr()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn(f"{{task.completed:,.0f}} {unit}"),
            _Rate(unit),
            TimeElapsedColumn(),
            *more,
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Self:
        """Start drawing."""
        self._progress.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop drawing."""
        self._progress.stop()

    def expects(self, total: int | None) -> None:
        """Set the end of the bar."""
        self._progress.update(self._task, total=total)

    def advanced(self, count: int) -> None:
        """Count finished items."""
        self._progress.advance(self._task, count)

    def said(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(plain(text), style="dim")


class MineProgress(Counting):
    """The progress line of a mine, with the quota where there is one."""

    def __init__(self, client: GitHubClient | None = None) -> None:
        super().__init__("mining", _Quota(client))

    def committed(self, batch: Prepared) -> None:
        """Count a committed batch."""
        self.advanced(batch.count("items") + batch.count("commits"))
