"""Oracles for a user's own loop: ``with embers.LayoutOracle() as oracle: train()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.oracles import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch_embers.oracles.finding import Finding


class LayoutOracle(layout.LayoutOracle):
    """Repeats calls on tensors that are not dense on dense copies, and keeps what differs in ``findings``.

    Args:
        every: look at one call in so many on average, for long trainings.
        ops: look at these operators alone, such as ``addcmul_``.
        on_finding: is called with each new finding.
        reproduce: whether to write a case file for each finding.
    """

    def __init__(
        self,
        every: int = 1,
        ops: Sequence[str] = (),
        on_finding: Callable[[Finding], None] | None = None,
        *,
        reproduce: bool = True,
    ) -> None:
        super().__init__(resources.load_toml("oracles.toml"), every, ops, on_finding, reproduce)
