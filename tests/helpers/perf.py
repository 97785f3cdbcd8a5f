"""What the tests in test_perf.py share."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

from torch_embers.run import perf

LIMITS = perf.Rules.load().limits
BUILDS: Any = [
    SimpleNamespace(name=name, version=name, python=name, identity=name)
    for name in ("2.0.1", "2.1.2", "2.2.2", "2.3.1")
]


def timed(**by_build: float) -> perf.Timed:
    """Times of one call with the noise of a machine: two per cent."""
    draw = random.Random(1)
    names = [build.name for build in BUILDS]
    rounds = {
        name: [seconds * draw.lognormvariate(0, 0.02) for _ in range(8)]
        for name, seconds in zip(names, by_build.values(), strict=True)
    }
    return perf.Timed(names, {"call": rounds}, [], LIMITS.margin)
