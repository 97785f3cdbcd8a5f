"""The result of a statistic that has too few data: printed where the number would stand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InsufficientData:
    """Why there is no number."""

    reason: str
    """One short clause, as ``3 events, 6 are needed``."""

    def __str__(self) -> str:
        """The reason, as tables print it."""
        return self.reason
