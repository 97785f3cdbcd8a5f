"""Whether a share grows or shrinks over time: the test of Cochran and Armitage (P. Armitage, Biometrics 11, 1955)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special  # scipy.stats takes a second to import

from torch_embers.errors import InputError
from torch_embers.statistics.insufficient import InsufficientData

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_PERIODS = 5
"""Periods of a trend: fewer show too little of the scatter around it."""
LEAST_EVENTS = 20
"""Items with the property, and items without it, that a trend needs."""


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
        least_periods: fewer are insufficient.
        least_events: needed of those with the property and of those without it.

    Raises:
        InputError: lengths differ, or a count outside 0..total.
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
    share, away = events / items, time - float(time @ size) / items
    product, spread = float(away @ hits), float(size @ away**2)
    z = product / math.sqrt(share * (1 - share) * spread)
    return ShareTrend(z, float(2 * special.ndtr(-abs(z))), product / spread, len(hits), events, items)
