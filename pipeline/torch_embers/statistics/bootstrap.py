"""Bootstrap interval of any statistic of rows.

SciPy's bootstrap draws and corrects; what is drawn here are *groups* of rows (threads, near-duplicates, annotators),
whole, since rows of one group are not independent. Without groups each row is its own.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import numpy as np

from torch_embers.errors import InputError
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.metrics import Interval
from torch_embers.statistics.packages import need

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

Row = TypeVar("Row")
Method: TypeAlias = Literal["BCa", "percentile"]

SAMPLES = 2_000
LEAST_GROUPS = 10
"""Groups to draw from: with fewer, the samples repeat each other and the interval is too short."""


def interval(
    rows: Sequence[Row],
    statistic: Callable[[Sequence[Row]], float],
    groups: Sequence[Hashable] | None = None,
    *,
    method: Method = "BCa",
    confidence: float = 0.95,
    samples: int = SAMPLES,
    seed: int = 0,
    least: int = LEAST_GROUPS,
) -> Interval | InsufficientData:
    """Value and bootstrap interval of a statistic.

    BCa corrects the percentiles for bias and skew (B. Efron, JASA 82, 1987, pages 171-185). Where it is not defined,
    as for a median of few values, percentiles are the better choice.

    Args:
        rows: what was seen.
        statistic: of any such rows, in any order and with repetitions.
        groups: the group of each row; each row on its own when not given.
        method: ``BCa`` or ``percentile``.
        confidence: between 0 and 1.
        samples: bootstrap samples.
        seed: of the draws.
        least: fewer groups than this are refused.

    Returns:
        The interval; the value alone three times where every sample gives it; a refusal where there are too few
        groups or the statistic is not defined on some sample.

    Raises:
        InputError: not one group for each row, or SciPy is missing.
    """
    if groups is not None and len(groups) != len(rows):
        raise InputError(f"lengths differ: {len(rows)} rows, {len(groups)} groups")
    parts: dict[Hashable, list[Row]] = defaultdict(list)
    for place, row in enumerate(rows):
        parts[place if groups is None else groups[place]].append(row)
    if len(parts) < max(2, least):
        return InsufficientData(f"{len(parts)} independent rows, {max(2, least)} are needed")
    bundles = list(parts.values())

    def of(chosen: NDArray[np.int64]) -> float:
        return float(statistic([row for place in chosen.tolist() for row in bundles[place]]))

    value = of(np.arange(len(bundles)))
    if not math.isfinite(value):
        return InsufficientData("the statistic is not defined on these rows")
    return _found(of, len(bundles), value, method, confidence, samples, seed)


def _found(
    of: Callable[[NDArray[np.int64]], float],
    count: int,
    value: float,
    method: Method,
    confidence: float,
    samples: int,
    seed: int,
) -> Interval | InsufficientData:
    stats: Any = need("scipy.stats")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what it warns of comes out as no number, and is answered below
        found = stats.bootstrap(
            (np.arange(count),),
            of,
            n_resamples=samples,
            vectorized=False,
            confidence_level=confidence,
            method=method,
            random_state=np.random.default_rng(seed),
        )
    drawn = found.bootstrap_distribution
    if np.isfinite(drawn).all() and np.ptp(drawn) == 0:
        return Interval(value, float(drawn[0]), float(drawn[0]))
    low, high = found.confidence_interval
    if not (math.isfinite(low) and math.isfinite(high)):
        missing = int((~np.isfinite(drawn)).sum())
        reason = f"on {missing} of {samples} samples" if missing else f"by {method}"
        return InsufficientData(f"no interval: the statistic is not defined {reason}")
    return Interval(value, float(low), float(high))
