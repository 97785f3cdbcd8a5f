"""How many runs show that a behaviour is gone: data/verdicts.toml, [runs]."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from pydantic import Field

from torch_embers import resources
from torch_embers.toml_models import Explained, validate

if TYPE_CHECKING:
    from torch_embers.signature import Family

FILE = "verdicts.toml"


class AbsenceRules(Explained):
    """``[runs]`` of ``data/verdicts.toml``: how many runs make a verdict."""

    confidence: float = Field(gt=0, lt=1)
    miss: float = Field(gt=0, lt=1)
    control_batch: int = Field(gt=0)
    slow_control_batch: int = Field(gt=0)
    slow_after: float = Field(gt=0)
    without_control: int = Field(gt=0)
    most: int = Field(gt=0)
    injected_batch: int = Field(gt=0)
    zygotes: int = Field(gt=0)
    most_timeouts: int = Field(gt=0)
    busy_share: float = Field(gt=0, lt=1)
    busy_after: float = Field(ge=0)
    busy_repeats: int = Field(ge=0)
    confirmations: int = Field(ge=0)
    layout_kinds: tuple[str, ...]
    layout_forks: int = Field(gt=0)
    layout_most: int = Field(gt=0)

    def by_start(self, family: Family) -> bool:
        """Whether a failure of this family depends on what lies where in memory.

        Forks of one zygote share that, so a fresh start with all its forks counts as one run.
        """
        return any(signature.kind in self.layout_kinds for signature in family)

    @staticmethod
    @cache
    def load() -> AbsenceRules:
        """Read the file.

        Raises:
            InputError: it is missing or an entry is wrong.
        """
        return validate(AbsenceRules, resources.load_toml(FILE)["runs"], FILE)


def lower_bound(hits: int, runs: int, confidence: float) -> float:
    """One-sided Clopper-Pearson lower bound of a rate after ``hits`` of ``runs``."""
    if hits <= 0 or runs <= 0:
        return 0.0
    low, high = 0.0, hits / runs
    for _ in range(60):
        middle = (low + high) / 2
        at_least = sum(math.comb(runs, i) * middle**i * (1 - middle) ** (runs - i) for i in range(hits, runs + 1))
        low, high = (middle, high) if at_least < 1 - confidence else (low, middle)
    return low


def runs_needed(hits: int, runs: int, rules: AbsenceRules) -> int | None:
    """Clean runs that prove an absence, given the control's hits; None where the control never hit."""
    rate = lower_bound(hits, runs, rules.confidence)
    if rate <= 0:
        return None
    # without this a bound of 0.05000000001 asks for 90 runs on one machine and 89 on another
    return max(1, math.ceil(round(math.log(rules.miss) / math.log1p(-rate), 6)))
