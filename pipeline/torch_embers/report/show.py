"""What `embers report` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, size_text, stdout
from torch_embers.report.since import FIRST, counted

if TYPE_CHECKING:
    from torch_embers.report.command import Reported


def print_reported(done: Reported) -> None:
    """Print where the site is and how large."""
    out = stdout()
    out.print(
        f"{done.items:,} items, {done.pages:,} with a page of their own; {done.files:,} files, {size_text(done.size)}"
    )
    if done.compared and done.compared != FIRST:
        out.print(f"not compared with the report that was there: {plain(done.compared)}", soft_wrap=True)
    elif not done.compared:
        said = ", ".join(counted(kind, count) for kind, count in done.changes.items())
        out.print(f"since the report that was there: {said or 'nothing changed'}", soft_wrap=True)
    out.print(f"open {plain(done.folder / 'index.html')}", soft_wrap=True)
