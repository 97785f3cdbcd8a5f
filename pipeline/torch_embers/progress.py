"""Who watches long work: rooms tell it how far they are, the command line draws it (``progress_bar.ProgressBar``)."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told how work goes on."""

    def expects(self, total: int | None) -> None:
        """How much there is to do; None where nobody knows."""

    def advanced(self, count: int) -> None:
        """So much more is done."""

    def said(self, text: str) -> None:
        """Something worth a line."""


class Silent:
    """Progress that nobody watches."""

    def expects(self, total: int | None) -> None:
        """Tell nobody."""

    def advanced(self, count: int) -> None:
        """Tell nobody."""

    def said(self, text: str) -> None:
        """Tell nobody."""
