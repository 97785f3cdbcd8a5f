"""What `embers mine` prints: its progress line, and its report."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich.progress import ProgressColumn
from rich.text import Text

from torch_embers import console
from torch_embers.progress_bar import ProgressBar

if TYPE_CHECKING:
    from torch_embers.mine.github_api import GitHubApi
    from torch_embers.mine.report import Report


class _Quota(ProgressColumn):
    """Requests used, what GitHub allows in this hour, cost to finish."""

    def __init__(self, api: GitHubApi | None) -> None:
        super().__init__()
        self._api = api

    def render(self, task: Any) -> Text:
        """Draw the column."""
        if self._api is None:
            return Text("")
        used = self._api.requests
        parts = [f"{used} requests"]
        if math.isfinite(left := self._api.left):
            parts.append(f"{left:,.0f} left in this hour")
        if task.total and task.completed and used > 1:
            rest = max(task.total - task.completed, 0) * used / task.completed
            parts.append(f"~{rest:,.0f} to finish")
        return Text(" · ".join(parts), style="dim")


class MineProgress(ProgressBar):
    """The progress line of a mine, with what is left of the hour where there is such a limit."""

    def __init__(self, api: GitHubApi | None = None) -> None:
        super().__init__("mining", _Quota(api))


def print_report(report: Report) -> None:
    """Print what a mine did, with what to do about what it could not do."""
    out = console.stdout()
    counted = [
        (report.items, "items"),
        (report.comments, "comments"),
        (report.events, "events"),
        (report.commits, "commits"),
        (report.absent, "items that are gone"),
    ]
    parts = [f"{n:,} {what}" for n, what in counted if n] or ["nothing read" if report.stopped else "nothing new"]
    rate = f", {report.items / report.seconds:,.0f} items/s" if report.items > 100 and report.seconds > 0.5 else ""
    out.print(f"{console.plain(report.source)}: {', '.join(parts)} in {report.seconds:,.1f} s{rate}")
    if report.links is not None:
        found = report.links
        out.print(f"links: {found.links:,} and {found.components:,} components in the database")
    if report.rejects:
        out.print(f"{report.rejects:,} records were set aside, see `embers data export --table rejects`")
    for note in report.notes:
        out.print(f"note: {console.plain(note)}")
    if report.stopped:
        out.print(f"stopped: {console.plain(report.stopped)}")
