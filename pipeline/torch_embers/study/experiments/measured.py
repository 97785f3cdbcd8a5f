"""One measurement, and what has to be known beside the measurements to read them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.study.experiments.plan import Plan

AUGMENTATION = "augmentation"
PERMUTATION = "permutation"
DEFAULT = "default"
AWARE = "contiguity-aware"
CHAIN = "chain"
"""The step of a measurement of the whole chain."""
COPYING = "contiguous() "
"""What the step of a ``contiguous()`` call behind an operation begins with."""
FRESH = "fresh"
"""Into memory that is asked for with each call, as ``contiguous()`` and ``clone()`` do."""
PLACED = "placed"
"""Into memory that was there and written to before: the movement alone."""
YARDSTICK = "plain copy"
VISION = "torchvision"
"""What the names of series of torchvision's chain begin with."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One time.

    Args:
        experiment: ``augmentation`` (figure 8) or ``permutation`` (figure 9).
        device: cpu, cuda or mps.
        series: ``batch 1`` or ``d = 25``: what is only compared among itself.
        variant: the arm, the order of dimensions (``0 1 2 3 5 4``), or the yardstick.
        step: the whole chain or one operation of it; ``fresh`` or ``placed``.
        repeat: from 0; the same number means measured side by side.
        seconds: time of one pass over the images, or of one call.
        amount: images of a pass, or bytes of the tensor.
    """

    experiment: str
    device: str
    series: str
    variant: str
    step: str
    repeat: int
    seconds: float
    amount: int


@dataclass(frozen=True, slots=True)
class Facts:
    """What stands beside the times.

    Args:
        machine: description without names of hosts or paths.
        profile: name of the settings in data/experiments.toml.
        settings: the settings that were used, options of the command included.
        seed: of images, draws, orders and of the order of measuring.
        images: where the images came from, in words.
        differences: (device, series) to the greatest difference between the results of the two arms.
        layouts: series to step to the layout of its result in the default arm.
        notes: what was left out and why.
    """

    machine: Mapping[str, str | int | float]
    profile: str
    settings: Plan
    seed: int
    images: str
    differences: dict[tuple[str, str], float] = field(default_factory=dict)
    layouts: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
