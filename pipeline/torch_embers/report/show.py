"""What `embers report` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, size_text, stdout

if TYPE_CHECKING:
    from torch_embers.report.command import Reported


def print_reported(done: Reported) -> None:
    """Print where the site is and how large."""
    out = stdout()
    out.print(
        f"{done.items:,} items, {done.pages:,} with a page of their own; {done.files:,} files, {size_text(done.size)}"
    )
    out.print(f"open {plain(done.folder / 'index.html')}", soft_wrap=True)


def print_served(port: int) -> None:
    """Print where the report can be seen."""
    stdout().print(f"http://127.0.0.1:{port}/ (Ctrl-C ends it)", soft_wrap=True)
