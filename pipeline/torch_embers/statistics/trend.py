"""Whether something grows or shrinks over time: counts per period, and shares per period.

Counts are fitted with log rate = a + b * period (Poisson, maximum likelihood); what is printed is exp(b) per year,
the rate ratio. Counts of bugs vary more than Poisson's law lets them: releases and bug hunts come in waves. So the
interval is widened by the dispersion that is seen (quasi-Poisson; McCullagh and Nelder, Generalized Linear Models,
1989, section 6.2), never narrowed, and taken from Student's t. One ratio describes a steady trend only: look at the
figure before believing it. A last period that is not over yet needs its exposure, or must be left out.

Shares are tested by Cochran and Armitage (P. Armitage, Biometrics 11, 1955, pages 375-386).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.errors import InputError
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.metrics import Interval
from torch_embers.statistics.packages import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

LEAST_PERIODS = 5
"""Periods of a trend: a line through fewer leaves too little to see the scatter by (t with 3 degrees: 3.2 errors)."""
LEAST_EVENTS = 20
"""Events of a trend: with fewer the interval of a yearly ratio reaches from halving to doubling."""
STEPS = 100
"""Newton steps; a fit takes less than ten."""


@dataclass(frozen=True, slots=True)
class CountTrend:
    """How a rate changes."""

    ratio: Interval
    """Rate ratio per year: 1 is no trend, 1.2 a growth by a fifth each year."""
    p: float
    """Of no trend."""
    dispersion: float
    """Pearson's chi-squared per degree of freedom; above 1 the counts vary more than chance alone would have it."""
    periods: int
    events: int


@dataclass(frozen=True, slots=True)
class ShareTrend:
    """Whether a share changes steadily."""

    z: float
    """Positive where the share grows."""
    p: float
    """Two-sided."""
    slope: float
    """Change of the share per unit of ``scores``, by weighted least squares."""
    periods: int
    events: int
    items: int


def count_trend(
    counts: Sequence[int],
    exposure: Sequence[float] | None = None,
    *,
    periods_per_year: float = 2.0,
    confidence: float = 0.95,
    least_periods: int = LEAST_PERIODS,
    least_events: int = LEAST_EVENTS,
) -> CountTrend | InsufficientData:
    """Fit a steady growth to counts of successive periods.

    Args:
        counts: one per period, in order, zeros included.
        exposure: what each count is out of (days of the period, all reports in it); equal when not given. Periods
            without exposure and without counts are skipped, but keep their place in time.
        periods_per_year: 2 for half years, 1 for years.
        confidence: between 0 and 1.
        least_periods: fewer are refused.
        least_events: fewer are refused.

    Returns:
        The trend; a refusal where there is too little, or all events fall into the first or into the last period, so
        that no finite ratio fits best.

    Raises:
        InputError: lengths differ, negative numbers, counts without exposure, or SciPy is missing.
    """
    seen, size, time = _periods(counts, exposure, periods_per_year)
    events = int(seen.sum())
    if len(seen) < max(3, least_periods) or events < max(1, least_events):
        wanted = f"{max(3, least_periods)} and {max(1, least_events)} are needed"
        return InsufficientData(f"{events} events in {len(seen)} periods, {wanted}")
    if seen[0] == events or seen[-1] == events:
        return InsufficientData(f"all {events} events fall into the {'first' if seen[0] else 'last'} period")
    slope, error, dispersion = _fitted(seen, size, time)
    stats: Any = need("scipy.stats")
    freedom, widened = len(seen) - 2, error * math.sqrt(max(1.0, dispersion))
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * widened
    return CountTrend(
        ratio=Interval(*(_exp(value) for value in (slope, slope - reach, slope + reach))),
        p=float(2 * stats.t.sf(abs(slope) / widened, freedom)),
        dispersion=dispersion,
        periods=len(seen),
        events=events,
    )


def share_trend(
    counts: Sequence[int],
    totals: Sequence[int],
    scores: Sequence[float] | None = None,
    *,
    least_periods: int = LEAST_PERIODS,
    least_events: int = LEAST_EVENTS,
) -> ShareTrend | InsufficientData:
    """Test whether a share grows or shrinks with the period.

    Args:
        counts: how many have the property, one per period.
        totals: out of how many; periods with none are skipped.
        scores: time of each period; 0, 1, 2 ... when not given.
        least_periods: fewer are refused.
        least_events: fewer, of those with the property or of those without it, are refused.

    Raises:
        InputError: lengths differ, a count outside 0..total, or SciPy is missing.
    """
    hits, size = np.asarray(counts, dtype=np.float64), np.asarray(totals, dtype=np.float64)
    time = np.arange(len(hits), dtype=np.float64) if scores is None else np.asarray(scores, dtype=np.float64)
    if not len(hits) == len(size) == len(time):
        raise InputError(f"lengths differ: {len(hits)} counts, {len(size)} totals, {len(time)} scores")
    if not ((hits >= 0) & (hits <= size)).all() or not np.isfinite(time).all():
        raise InputError("a count must lie between 0 and its total, a score must be a number")
    hits, size, time = (column[size > 0] for column in (hits, size, time))
    events, items = int(hits.sum()), int(size.sum())
    few = min(events, items - events)
    if len(set(time.tolist())) < max(2, least_periods) or few < max(1, least_events):
        wanted = f"{max(2, least_periods)} periods and {max(1, least_events)} with and without it are needed"
        return InsufficientData(f"{events} of {items} in {len(hits)} periods, {wanted}")
    stats: Any = need("scipy.stats")
    share, away = events / items, time - float(time @ size) / items
    product, spread = float(away @ hits), float(size @ away**2)
    z = product / math.sqrt(share * (1 - share) * spread)
    return ShareTrend(z, float(2 * stats.norm.sf(abs(z))), product / spread, len(hits), events, items)


def _periods(
    counts: Sequence[int], exposure: Sequence[float] | None, periods_per_year: float
) -> tuple[Floats, Floats, Floats]:
    """Counts, exposure and time in years of the periods that have exposure."""
    seen = np.asarray(counts, dtype=np.float64)
    size = np.ones(len(seen)) if exposure is None else np.asarray(exposure, dtype=np.float64)
    if len(seen) != len(size):
        raise InputError(f"lengths differ: {len(seen)} counts, {len(size)} exposures")
    if not (np.isfinite(size) & (seen >= 0) & (size >= 0)).all() or not periods_per_year > 0:
        raise InputError("counts and exposures cannot be negative, and a year has periods")
    if (seen[size == 0] > 0).any():
        raise InputError("a period without exposure has counts")
    time = np.arange(len(seen)) / periods_per_year
    return seen[size > 0], size[size > 0], time[size > 0]


def _fitted(seen: Floats, size: Floats, time: Floats) -> tuple[float, float, float]:
    """Slope per year, its error by Poisson's law, and the dispersion.

    The intercept has a closed form for a given slope, so that one number is left to find: the slope at which the mean
    time of the fitted events is that of the events seen. The difference falls steadily, so Newton's steps, halved
    where they are long, end there.
    """
    total, centre = float(seen.sum()), float(seen @ time) / float(seen.sum())
    slope = 0.0
    for _ in range(STEPS):
        mean, variance, _ = _moments(slope, size, time)
        step = (centre - mean) / max(variance, 1e-12)
        slope += max(-1.0, min(1.0, step))
        if abs(step) < 1e-12:
            break
    _, variance, weight = _moments(slope, size, time)
    expected = total * weight
    held = expected > 0
    pearson = float(((seen[held] - expected[held]) ** 2 / expected[held]).sum())
    return slope, 1 / math.sqrt(total * variance), pearson / (len(seen) - 2)


def _moments(slope: float, size: Floats, time: Floats) -> tuple[float, float, Floats]:
    """Mean and variance of the time of an event under a slope, and the share of events in each period."""
    logs = slope * time + np.log(size)
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    mean = float(weight @ time)
    return mean, float(weight @ (time - mean) ** 2), weight


def _exp(value: float) -> float:
    return math.exp(value) if value < 700 else math.inf
