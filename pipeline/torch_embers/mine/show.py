"""What `embers mine` prints: its progress line, and its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import ProgressColumn
from rich.text import Text

from torch_embers import console
from torch_embers.mine.records.graphql_answers import place_name
from torch_embers.progress_bar import ProgressBar

if TYPE_CHECKING:
    from torch_embers.mine.github.client import GitHubClient
    from torch_embers.mine.runner import Report


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


class MineProgress(ProgressBar):
    """The progress line of a mine, with the quota where there is one."""

    def __init__(self, client: GitHubClient | None = None) -> None:
        super().__init__("mining", _Quota(client))


def print_report(report: Report) -> None:
    """Print what a mine did, with what to do about what it could not do."""
    out = console.stdout()
    counted = [
        (report.items, "items"),
        (report.comments, "comments"),
        (report.events, "events"),
        (report.commits, "commits"),
    ]
    parts = [f"{n:,} {what}" for n, what in counted if n] or ["nothing new"]
    rate = f", {report.items / report.seconds:,.0f} items/s" if report.items > 100 and report.seconds > 0.5 else ""
    out.print(f"{console.plain(report.source)}: {', '.join(parts)} in {report.seconds:,.1f} s{rate}")
    if report.links is not None:
        found = report.links
        out.print(f"links: {found.links:,} and {found.components:,} components in the database")
    if report.rejects:
        out.print(f"{report.rejects:,} records were set aside, see `embers data export --table rejects`")
    if report.waiting:
        named = [place_name(entry.place) for entry in report.waiting[:5]]
        places = ", ".join(named) + (" ..." if len(report.waiting) > 5 else "")
        out.print(
            f"{len(report.waiting):,} items are incomplete and are read again by the next mine: {console.plain(places)}"
        )
    for note in report.notes:
        out.print(f"note: {console.plain(note)}")
    if report.stopped:
        out.print(f"stopped: {console.plain(report.stopped)}")
