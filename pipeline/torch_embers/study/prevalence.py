"""How common each class is among predictions, corrected by the classifier's known errors.

Counts of predictions contain the classifier's errors. If M[i, j] is how often an item of class i
is answered j, the expected shares of answers are q = M^T p; the corrected shares are the p on the simplex for which
M^T p comes closest to q (least squares). With two classes that is Rogan and Gladen's estimate, clipped to 0..1
(American Journal of Epidemiology 107, 1978, pages 71-76); the method for several classes is known as adjusted counting
(Forman, Data Mining and Knowledge Discovery 17, 2008).

It assumes that *items of one true class are predicted alike in the gold labels and in the predicted sample*; the mix
of classes may differ. The assumption fails where the gold items were selected by something that also changes the
predictions inside a class: well-known bugs with clear titles, one backend, one year, items that the labelling
functions found. Then M is too good and the correction too small. A catalog is such a selection, and what is printed
from it must say so. The assumption also fails for items that belong to none of the classes.

The same holds inside ``rest``: merged classes are assumed to be mixed as in the gold labels. If the sample mixes them
differently, ``rest`` and the classes it is mistaken for are biased.

A scheme under a class of its parent (memory types under memory) is corrected among the items that were predicted to be
of that class; wrong ones among them are in the counts and in no row of M.

The intervals cover chance in the gold counts (Dirichlet draws of each row) and in the predictions (multinomial draws),
not a failed assumption. Gold items of one group count as independent, which makes the intervals slightly too short: by
4 % for 506 groups of 550 items if all items of a group were equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import optimize

from torch_embers.errors import InputError
from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.metrics import Interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.confusions import Confusion

    Floats: TypeAlias = NDArray[np.float64]

LEAST_GOLD = 10
"""Gold items of a class: with fewer, the interval of its row covers most of what is possible."""
MOST_CONDITION = 10.0
"""Condition number of M up to which it is inverted: errors of the observed shares grow by that factor at worst."""
LEAST_ITEMS = 100
"""Predictions: with fewer, a class may be predicted never, and draws around zero give it an interval of 0 to 0."""
PRIOR = 1.0
"""Items that are added to each row of the matrix, spread evenly: a cell that was never seen is rare, not impossible."""
SAMPLES = 2_000
FIT_SAMPLES = 999
"""Draws for the test of the fit; with the observed one they make a round number."""
EXACT = 1e-6
"""Chi-squared below which a fit is exact but for rounding."""
ALPHA = 0.05
REST = "rest"
"""Name of the merged classes."""


@dataclass(frozen=True, slots=True)
class Share:
    """One class, as counted and as corrected."""

    name: str
    gold: float
    """Gold items of the class."""
    predicted: int
    raw: Interval
    """Share of the predictions, with Wilson's interval."""
    corrected: Interval


@dataclass(frozen=True, slots=True)
class Prevalence:
    """The shares of all classes of a scheme."""

    scheme: str
    shares: tuple[Share, ...]
    """In the order of the classes; ``rest`` last. Corrected values add up to 1."""
    items: int
    """Predictions that were counted."""
    condition: float
    """Condition number of the matrix that was inverted."""
    merged: tuple[tuple[str, str], ...]
    """Classes in ``rest``, each with the reason."""
    misfit: str = ""
    """Why the corrected shares are not to be used; empty where the model fits."""

    @property
    def fits(self) -> bool:
        """Whether some true shares give the predictions, up to chance."""
        return not self.misfit


def correct(
    confusion: Confusion,
    predicted: Mapping[str, int],
    *,
    confidence: float = 0.95,
    samples: int = SAMPLES,
    seed: int = 0,
    least_gold: float = LEAST_GOLD,
    most_condition: float = MOST_CONDITION,
    least_items: int = LEAST_ITEMS,
) -> Prevalence | InsufficientData:
    """Estimate the true shares of the classes from counts of predictions.

    Classes with little gold are merged into ``rest``. While the matrix is near singular, so is the class that is
    recognised worst: the classifier does not distinguish it.

    Args:
        confusion: what the classifier takes for what.
        predicted: number of items by their likeliest class, abstentions included; absent classes count 0.
        confidence: of the percentile intervals, between 0 and 1.
        samples: draws for the intervals.
        seed: of the draws.
        least_gold: classes with fewer gold items are merged.
        most_condition: the largest condition number that is inverted.
        least_items: fewer predictions than this are refused.

    Returns:
        The shares, or a refusal: too few predictions, predictions of a class without gold, or nothing left to tell
        apart.

    Raises:
        InputError: a negative count.
    """
    if any(count < 0 for count in predicted.values()):
        raise InputError("counts of predictions cannot be negative")
    unknown = sorted(name for name, count in predicted.items() if count and name not in confusion.classes)
    if unknown:
        return InsufficientData(f"no gold for the predicted {', '.join(unknown)}")
    items = sum(predicted.values())
    if items < max(1, least_items):
        return InsufficientData(f"{items} predictions, {max(1, least_items)} are needed")
    table = _merged(confusion, least_gold, most_condition)
    if isinstance(table, InsufficientData):
        return table
    counts = np.array([sum(predicted.get(name, 0) for name in part) for part in table.parts], dtype=np.float64)
    smooth = table.smoothed
    observed = counts / items
    shares = solve(smooth / smooth.sum(axis=1, keepdims=True), observed)
    drawn = _drawn(smooth, counts, samples, seed)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    counted = zip(table.names, table.matrix.sum(axis=1), counts, shares, low, high, strict=True)
    return Prevalence(
        scheme=confusion.scheme,
        shares=tuple(
            Share(
                name,
                round(float(gold), 6),
                int(count),
                Interval(float(count) / items, *wilson(int(count), items, confidence)),
                Interval(float(value), float(min(left, value)), float(max(right, value))),
            )
            for name, gold, count, value, left, right in counted
        ),
        items=items,
        condition=table.condition,
        merged=table.merged,
        misfit=_misfit(table, counts, shares, seed),
    )


def _misfit(table: _Table, counts: Floats, shares: Floats, seed: int) -> str:
    """Whether the predictions are too far from what the best shares on the simplex lead to: the reason, or nothing.

    Without the bounds of the simplex any predictions have a solution, with negative shares. Pearson's chi-squared of
    the bounded one is compared with that of predictions drawn from the model, whose error rates are drawn from the
    gold, too: they are known no better.
    """
    smooth = table.smoothed
    rates = smooth / smooth.sum(axis=1, keepdims=True)
    items = int(counts.sum())
    seen = _chi_squared(counts, rates, shares)
    if seen < EXACT:
        return ""
    random = np.random.default_rng(seed)
    drawn = random.standard_gamma(smooth, size=(FIT_SAMPLES, *smooth.shape))
    drawn /= drawn.sum(axis=2, keepdims=True)
    larger = 0
    for sample in drawn:
        found = random.multinomial(items, shares @ sample).astype(np.float64)
        larger += _chi_squared(found, rates, solve(rates, found / items)) >= seen
    p = (1 + larger) / (1 + FIT_SAMPLES)
    if p >= ALPHA:
        return ""
    expected = items * shares @ rates
    worst = int(np.argmax((counts - expected) ** 2 / expected))
    return (
        f"the model does not fit: chi-squared {seen:.0f}, p = {p:.2g}; `{table.names[worst]}` was predicted "
        f"{counts[worst]:.0f} times, and {expected[worst]:.0f} times in the nearest fit"
    )


def _chi_squared(counts: Floats, rates: Floats, shares: Floats) -> float:
    expected = counts.sum() * shares @ rates
    return float(((counts - expected) ** 2 / expected).sum())


def solve(rates: Floats, observed: Floats) -> Floats:
    """The shares p on the simplex that minimise ||rates^T p - observed||.

    Since p adds up to 1, the difference is (rates - observed)^T p: a homogeneous problem, whose solution on the simplex
    is that of non-negative least squares with one more equation, scaled to the sum 1 (the optimality conditions of the
    two are the same up to that scale).

    Args:
        rates: float64 [classes, answers], each row adds up to 1.
        observed: float64 [answers], adds up to 1.

    Returns:
        float64 [classes].
    """
    count = len(rates)
    system = np.vstack([(rates - observed).T, np.ones(count)])
    solution, _ = optimize.nnls(system, np.append(np.zeros(len(observed)), 1.0))
    shares: Floats = solution / solution.sum()
    return shares


@dataclass(frozen=True, slots=True)
class _Table:
    """The matrix after merging."""

    parts: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    matrix: Floats
    merged: tuple[tuple[str, str], ...]

    @property
    def smoothed(self) -> Floats:
        """The counts with the prior: float64 [parts, parts]."""
        smooth: Floats = self.matrix + PRIOR / len(self.matrix)
        return smooth

    @property
    def condition(self) -> float:
        """Of the rates."""
        return float(np.linalg.cond(self.smoothed / self.smoothed.sum(axis=1, keepdims=True)))


def _merged(confusion: Confusion, least_gold: float, most_condition: float) -> _Table | InsufficientData:
    """Merge classes that the classifier does not distinguish, until the matrix can be inverted."""
    counts = np.array(confusion.matrix, dtype=np.float64)
    gold = dict(zip(confusion.classes, counts.sum(axis=1).tolist(), strict=True))
    recognised = dict(zip(confusion.classes, np.diagonal(counts).tolist(), strict=True))
    merged = {name: f"{number:g} gold items" for name, number in gold.items() if number < least_gold}
    while True:
        table = _table(confusion.classes, counts, merged)
        single = [name for name in confusion.classes if name not in merged]
        if len(table.parts) < 2:
            return InsufficientData(
                f"{len(single)} classes with {least_gold:g} or more gold items that can be told apart"
            )
        if table.condition <= most_condition:
            return table
        worst = min(single, key=lambda name: recognised[name] / gold[name], default="")
        if not worst:
            return InsufficientData(f"the matrix is near singular (condition number {table.condition:.0f})")
        merged[worst] = f"{recognised[worst] / gold[worst]:.0%} recognised"


def _table(classes: Sequence[str], counts: Floats, merged: Mapping[str, str]) -> _Table:
    rest = tuple(name for name in classes if name in merged)
    parts = (*((name,) for name in classes if name not in merged), *((rest,) if rest else ()))
    sums = np.array([[name in part for name in classes] for part in parts], dtype=np.float64)
    names = tuple(REST if part == rest else part[0] for part in parts)
    return _Table(parts, names, sums @ counts @ sums.T, tuple((name, merged[name]) for name in rest))


def _drawn(smooth: Floats, counts: Floats, samples: int, seed: int) -> Floats:
    """Shares from redrawn gold and redrawn predictions: float64 [samples, classes]."""
    random = np.random.default_rng(seed)
    rates = random.standard_gamma(smooth, size=(samples, *smooth.shape))
    rates /= rates.sum(axis=2, keepdims=True)
    items = int(counts.sum())
    observed = random.multinomial(items, counts / items, size=samples) / items
    # where the exact solution is on the simplex it is the best one; only the others need the slower search
    system = np.swapaxes(rates, 1, 2)
    shares = np.asarray(np.linalg.solve(system, observed[:, :, None])[:, :, 0], dtype=np.float64)
    for place in np.flatnonzero((shares < 0).any(axis=1)):
        shares[place] = solve(rates[place], observed[place])
    return shares
