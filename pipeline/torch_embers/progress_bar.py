"""The progress line of a command, on standard error."""

from __future__ import annotations

from typing import Any, Self

from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from torch_embers import console


class _Rate(ProgressColumn):
    """Items per second since the start."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Any) -> Text:
        """Draw the column."""
        rate = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{rate:,.0f} {self._unit}/s")


class ProgressBar:
    """A progress line for work that is counted in items, on standard error; quiet where that is no terminal."""

    def __init__(self, what: str, *more: ProgressColumn, unit: str = "items") -> None:
        self._console = console.stderr()
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

    def __exit__(self, *_exc: object) -> None:
        """Stop drawing."""
        self.stop()

    def stop(self) -> None:
        """Stop drawing before the end: what follows is printed."""
        self._progress.stop()

    def expects(self, total: int | None) -> None:
        """Set the end of the bar."""
        self._progress.update(self._task, total=total)

    def advanced(self, count: int) -> None:
        """Count finished items."""
        self._progress.advance(self._task, count)

    def said(self, text: str) -> None:
        """Print a line above the bar."""
        self._progress.console.print(console.plain(text), style="dim", soft_wrap=True)
