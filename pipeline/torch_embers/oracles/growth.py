"""How an error grows with the number of accumulated terms, and what accumulator that speaks for.

Rounding the running sum to a type with unit roundoff u adds about u times the partial sum at each step. Relative to the
result this grows as the square root of the count, and faster once increments are lost. That of an honest result (fp32
accumulation, one rounding at the end) does not, visibly, below 2**24 terms. A wrong formula or one rounding too many
gives an error that does not depend on the count. So three things together are called accumulation in low
precision: an error well above the honest one at high counts, growth with the count, and no more than such an
accumulator would lose. Pure: numbers in, a statement out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles.draws import SKEWED, Draw

EXCESS = 4.0
"""Root-mean-square error over the honest one from which a result is called less precise. Honest implementations that
differ in the order of summation, or round twice, stay below 2."""
SLOPE = 0.25
"""Exponent of error against count from which it grows: a low-precision accumulator has 0.5 or more, one rounding 0."""
GROWTH = 3.0
"""Error at the highest counts over that at the lowest ones: growth that noise does not make."""
_POINTS = 3
"""Different counts that a statement on growth needs."""
_BEYOND = 8.0
"""An error of more than this times that of a bf16 accumulator is another fault."""
_FLOOR = 1e-9
"""Errors below fp32's own are all alike."""
_LONGEST = 4096
"""Longer sums are not simulated: the loss of a sequential sum grows at most with its length."""
_COLUMNS = 64
"""Sums that are simulated side by side."""
_NEAR = 4.0
"""Mean factor between errors and the losses of the type that is named; orders of summation differ by less than 2."""
ACCUMULATORS = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Point:
    """Elements of one result into which about the same number of terms flow.

    Attributes:
        distribution: of the inputs.
        n: size of the inputs.
        count: terms per element (middle of the bin).
        error: root-mean-square error, relative to the root mean square of the reference.
        honest: the same of an honest implementation, at least one rounding of the result.
        elements: how many.
        place: which result or gradient.
    """

    distribution: str
    n: int
    count: float
    error: float
    honest: float
    elements: int
    place: str = "result"

    @property
    def excess(self) -> float:
        """Error in units of the honest one."""
        return self.error / self.honest if self.honest else math.inf


@dataclass(frozen=True)
class Accumulation:
    """What the growth of an error speaks for.

    Attributes:
        accumulator: name of the one type whose simulated accumulator loses about as much; empty where there is none,
            or where nobody said how many terms there are.
        slope: exponent of error against count, steepest of the distributions.
        distributions: where the error is beyond the honest one.
        spared: where it is not; a test with these alone would pass.
        worst: the point with the largest excess.
    """

    accumulator: str
    slope: float
    distributions: Tuple[str, ...]
    spared: Tuple[str, ...]
    worst: Point


def series(points: Iterable[Point]) -> Dict[str, List[Point]]:
    """Points by distribution, in order of the count."""
    found: Dict[str, List[Point]] = {}
    for point in sorted(points, key=lambda point: point.count):
        found.setdefault(point.distribution, []).append(point)
    return found


def slope(points: Sequence[Point]) -> float:
    """Exponent of error against count by least squares, over errors that are not hidden by the last rounding."""
    floor = min(point.honest for point in points) / 4
    pairs = [(math.log(point.count), math.log(max(point.error, floor))) for point in points]
    middle = sum(x for x, _ in pairs) / len(pairs)
    spread = sum((x - middle) ** 2 for x, _ in pairs)
    return sum((x - middle) * y for x, y in pairs) / spread if spread else 0.0


def grows(points: Sequence[Point]) -> bool:
    """Whether the error of one distribution grows with the count as that of an accumulator does."""
    if len({point.count for point in points}) < _POINTS:
        return False
    floor = min(point.honest for point in points) / 4
    first = max(points[0].error, floor)
    return points[-1].error >= GROWTH * first and slope(points) >= SLOPE


@lru_cache(maxsize=1024)
def simulated(distribution: str, count: int, dtype: torch.dtype) -> float:
    """Relative error of sums of ``count`` terms whose running sum is rounded to ``dtype`` after each addition."""
    terms = Draw(distribution, count).values(count, _COLUMNS, dtype=dtype).double()
    total = torch.zeros(_COLUMNS, dtype=dtype)
    for term in terms.to(dtype):
        total += term
    exact = terms.sum(0)
    return float((total.double() - exact).pow(2).mean().sqrt() / exact.pow(2).mean().sqrt())


def one_by_one(distribution: str, count: float) -> float:
    """Relative error of an honest sum at its worst: in fp32, one term after the other."""
    steps = min(_LONGEST, 1 << max(1, math.ceil(math.log2(max(1.0, count)))))
    return simulated(distribution, steps, torch.float32) * max(1.0, count / steps)


def accumulation(points: Iterable[Point], *, counted: bool) -> Optional[Accumulation]:
    """The statement on a sweep over distributions and sizes: an accumulator in low precision, or nothing.

    Needs an excess with growth under at least one skewed distribution: there each low-precision accumulator shows.

    Args:
        points: of one result.
        counted: whether their counts are known; by the size of the inputs bf16 may look like fp16.
    """
    by_name = series(points)
    beyond = [name for name, line in by_name.items() if line[-1].excess >= EXCESS]
    growing = [name for name in beyond if grows(by_name[name])]
    if not any(name in SKEWED for name in growing):
        return None
    worst = max((by_name[name][-1] for name in growing), key=lambda point: point.excess)
    if worst.error > _BEYOND * max(losses(worst).values()):
        return None
    return Accumulation(
        accumulator=_nearest([by_name[name][-1] for name in growing]) if counted else "",
        slope=max(slope(by_name[name]) for name in growing),
        distributions=tuple(beyond),
        spared=tuple(name for name in by_name if name not in beyond),
        worst=worst,
    )


def losses(point: Point) -> Dict[str, float]:
    """Error of a simulated accumulator in each type, on the same distribution and count."""
    count = max(2, round(point.count))
    return {str(dtype).replace("torch.", ""): simulated(point.distribution, count, dtype) for dtype in ACCUMULATORS}


def _nearest(points: Sequence[Point]) -> str:
    """The one type whose simulated accumulator loses about as much over all points together; empty without one."""
    gaps: Dict[str, float] = {}
    for point in points:
        for name, loss in losses(point).items():
            gaps[name] = gaps.get(name, 0.0) + abs(math.log(max(point.error, _FLOOR) / max(loss, _FLOOR)))
    near = [name for name, gap in gaps.items() if gap <= len(points) * math.log(_NEAR)]
    return near[0] if len(near) == 1 else ""
