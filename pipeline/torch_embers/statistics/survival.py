"""How long something takes when some of it has not ended yet: survival curves with right censoring.

An issue that is still open has lasted *at least* until today. Leaving it out, or counting today as its end, makes every
time to fix look shorter than it is; the Kaplan-Meier estimate avoids both.

The estimate assumes that censoring is independent of the end. That holds where items are cut off by the day of the
data. It fails where items leave for a reason (transferred, locked, closed as duplicate): those are ends of another
kind, and the caller has to decide which are meant. Times are in days, from the start of each item.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats

from torch_embers.statistics.durations import Durations
from torch_embers.statistics.insufficient import InsufficientData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

LEAST_EVENTS = 6
"""Ends that a curve must hold: below six no 95 % interval of a median exists (1 - 2 / 2^5 is 94 %)."""
TINY = 1e-12
"""Rounding by which a curve may miss one half."""


@dataclass(frozen=True, slots=True)
class Quantile:
    """The time by which half have ended, in days; ``None`` where the curve or its band never gets there."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Survival:
    """A Kaplan-Meier curve: a step function of days that starts at 0."""

    items: int
    events: int
    """Ends that were seen; the other items are censored."""
    days: tuple[float, ...]
    """Times of the steps, the first one 0."""
    share: tuple[float, ...]
    """Share that lasts longer than each of these times."""
    low: tuple[float, ...]
    high: tuple[float, ...]
    """Pointwise band (log-log, Greenwood's variance)."""
    at_risk: tuple[int, ...]
    """Items known to have lasted until just before each time."""
    median: Quantile


def kaplan_meier(
    days: Sequence[float], ended: Sequence[bool], *, confidence: float = 0.95, least: int = LEAST_EVENTS
) -> Survival | InsufficientData:
    """Estimate how long items last.

    Curve and band are SciPy's (``scipy.stats.ecdf``); the band is that of log(-log S), which stays within 0..1
    (Kalbfleisch and Prentice, The Statistical Analysis of Failure Time Data, 1980). The interval of the median holds
    the times at which the band holds one half (Brookmeyer and Crowley, Biometrics 38, 1982).

    Args:
        days: how long each item was seen, 0 or more.
        ended: whether it ended then; otherwise it is censored.
        confidence: of all intervals, between 0 and 1.
        least: ends that are needed.

    Raises:
        InputError: lengths differ, or a time is negative or no number.
    """
    return _estimate(Durations.of(days, ended), confidence, least)


def by_group(
    days: Sequence[float],
    ended: Sequence[bool],
    groups: Sequence[str],
    *,
    confidence: float = 0.95,
    least: int = LEAST_EVENTS,
) -> dict[str, Survival | InsufficientData]:
    """One curve per group, by name.

    Raises:
        InputError: as ``kaplan_meier``, or not one group for each item.
    """
    parts = Durations.of(days, ended).split(groups)
    return {name: _estimate(part, confidence, least) for name, part in parts.items()}


def _estimate(seen: Durations, confidence: float, least: int) -> Survival | InsufficientData:
    if seen.events < max(1, least):
        return InsufficientData(f"{seen.events} of {len(seen)} ended, {max(1, least)} are needed")
    steps, share, low, high = _curve(seen, confidence)
    return Survival(
        items=len(seen),
        events=seen.events,
        days=tuple(steps.tolist()),
        share=tuple(share.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        at_risk=tuple(seen.at_risk(steps).tolist()),
        median=Quantile(_half(steps, share), _half(steps, low), _half(steps, high)),
    )


def _curve(seen: Durations, confidence: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Steps, share, and the two limits of the band, from time 0 on."""
    curve = stats.ecdf(stats.CensoredData.right_censored(seen.days, ~seen.ended)).sf
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # it has no limits where the share is 1 or 0: see _low, _high
        band = curve.confidence_interval(confidence_level=confidence, method="log-log")
    share = curve.probabilities
    columns = [curve.quantiles, share, _low(band.low.probabilities, share), _high(band.high.probabilities, share)]
    if columns[0][0] > 0:
        columns = [np.insert(column, 0, start) for column, start in zip(columns, (0.0, 1.0, 1.0, 1.0), strict=True)]
    return columns[0], columns[1], columns[2], columns[3]


def _low(limit: Floats, share: Floats) -> Floats:
    """The lower limit without gaps: 1 before the first end, 0 once nobody is left."""
    return np.where(share >= 1, 1.0, np.where(share <= 0, 0.0, limit))


def _high(limit: Floats, share: Floats) -> Floats:
    """The upper limit without gaps: 1 before the first end; once nobody is left, what it was before."""
    filled = np.where(share >= 1, 1.0, limit)
    gone = np.isnan(filled) | (share <= 0)
    filled[gone] = np.min(filled[~gone], initial=1.0)
    return filled


def _half(steps: Floats, share: Floats) -> float | None:
    """The first time from which half or less are left."""
    there = np.flatnonzero(share <= 0.5 + TINY)
    return float(steps[there[0]]) if there.size else None
