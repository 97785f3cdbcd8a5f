"""What reading one item may cost, so that no text can stop a run.

Each step that reads text says how many characters it is about to read. The count is the same on every machine and in
every run, so that a text always gives the same extraction. Processor time is only the second guard: for a text that is
slow in a way that the count does not see.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class OverBudgetError(Exception):
    """An item costs more than it may; the message says what ran out."""


@dataclass(slots=True)
class Budget:
    """What is left for one item."""

    chars: int
    seconds: float
    spent: int = 0
    begun: float = field(default_factory=time.thread_time)

    def spend(self, chars: int) -> None:
        """Count characters that are about to be read.

        Raises:
            OverBudgetError: they are more than is left, or the time is over.
        """
        self.spent += chars + STEP
        if self.spent > self.chars:
            raise OverBudgetError(f"more than {self.chars:,} characters to read, counting repetitions")
        if time.thread_time() - self.begun > self.seconds:
            raise OverBudgetError(f"more than {self.seconds:g} s")


STEP = 100
"""Characters that a step counts beside those it reads: its own fixed cost."""
_CURRENT: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def limited(chars: int, seconds: float) -> Iterator[Budget]:
    """Give the steps within the block a budget of their own."""
    budget = Budget(chars, seconds)
    token = _CURRENT.set(budget)
    try:
        yield budget
    finally:
        _CURRENT.reset(token)


def spend(chars: int) -> None:
    """Count characters that are about to be read; nothing is counted outside of ``limited``.

    Raises:
        OverBudgetError: the item costs more than it may.
    """
    budget = _CURRENT.get()
    if budget is not None:
        budget.spend(chars)
