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
class ClassShare:
    """One class, as counted and as corrected."""

    name: str
    predicted: int
    raw: Interval
    """Share of the predictions, with Wilson's 95 % interval."""
    corrected: Interval


@dataclass(frozen=True, slots=True)
class Prevalence:
    """The shares of all classes of a scheme."""

    shares: tuple[ClassShare, ...]
    """In the order of the classes; ``rest`` last. Corrected values add up to 1."""
    items: int
    """Predictions that were counted."""
    merged: tuple[tuple[str, str], ...]
    """Classes in ``rest``, each with the reason."""
    misfit: str
    """Why the corrected shares are not to be used; empty where some true shares give the predictions, up to chance."""


def correct(
    confusion: Confusion, predicted: Mapping[str, int], *, samples: int = SAMPLES, seed: int = 0
) -> Prevalence | InsufficientData:
    """Estimate the true shares of the classes from counts of predictions, with 95 % percentile intervals.

    Args:
        confusion: what the classifier takes for what.
        predicted: number of items by their likeliest class; absent classes count 0.
        samples: draws for the intervals.
        seed: of the draws.

    Returns:
        The shares, or a refusal: too few predictions, predictions of a class without gold, or nothing left to tell
        apart.
    """
    unknown = sorted(name for name, count in predicted.items() if count and name not in confusion.classes)
    if unknown:
        return InsufficientData(f"no gold for the predicted {', '.join(unknown)}")
    items = sum(predicted.values())
    if items < LEAST_ITEMS:
        return InsufficientData(f"{items} predictions, {LEAST_ITEMS} are needed")
    table = _merged(confusion)
    if isinstance(table, InsufficientData):
        return table
    counts = np.array([sum(predicted.get(name, 0) for name in part) for part in table.parts], dtype=np.float64)
    shares = solve(table.rates, counts / items)
    low, high = np.quantile(_drawn(table.counts, counts, samples, seed), [0.025, 0.975], axis=0)
    found = [
        ClassShare(
            REST if part == table.parts[-1] and table.merged else part[0],
            int(count),
            Interval(float(count) / items, *wilson(int(count), items)),
            Interval(float(value), float(min(left, value)), float(max(right, value))),
        )
        for part, count, value, left, right in zip(table.parts, counts, shares, low, high, strict=True)
    ]
    misfit = _misfit(table, counts, shares, [share.name for share in found], seed)
    return Prevalence(tuple(found), items, tuple(table.merged.items()), misfit)


def _misfit(table: _Table, counts: Floats, shares: Floats, names: Sequence[str], seed: int) -> str:
    """Whether the predictions are too far from what the best shares on the simplex lead to: the reason, or nothing.

    Without the bounds of the simplex any predictions have a solution, with negative shares. Pearson's chi-squared of
    the bounded one is compared with that of predictions drawn from the model, whose error rates are drawn from the
    gold, too: they are known no better.
    """
    items = int(counts.sum())
    seen = _chi_squared(counts, table.rates, shares)
    if seen < EXACT:
        return ""
    random = np.random.default_rng(seed)
    drawn = random.standard_gamma(table.counts, size=(FIT_SAMPLES, *table.counts.shape))
    drawn /= drawn.sum(axis=2, keepdims=True)
    larger = 0
    for sample in drawn:
        found = random.multinomial(items, shares @ sample).astype(np.float64)
        larger += _chi_squared(found, table.rates, solve(table.rates, found / items)) >= seen
    p = (1 + larger) / (1 + FIT_SAMPLES)
    if p >= ALPHA:
        return ""
    expected = items * shares @ table.rates
    worst = int(np.argmax((counts - expected) ** 2 / expected))
    return (
        f"the model does not fit: chi-squared {seen:.0f}, p = {p:.2g}; `{names[worst]}` was predicted "
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
    """Classes of each row; those that were merged are the last one."""
    counts: Floats
    """Gold items with the prior: float64 [parts, parts]."""
    merged: Mapping[str, str]
    """Merged classes, each with the reason."""

    @property
    def rates(self) -> Floats:
        """The counts as shares of each row."""
        rates: Floats = self.counts / self.counts.sum(axis=1, keepdims=True)
        return rates


def _merged(confusion: Confusion) -> _Table | InsufficientData:
    """Merge classes with little gold, then the one that is recognised worst, until the matrix can be inverted."""
    counts = np.array(confusion.matrix, dtype=np.float64)
    gold = dict(zip(confusion.classes, counts.sum(axis=1).tolist(), strict=True))
    recognised = dict(zip(confusion.classes, np.diagonal(counts).tolist(), strict=True))
    merged = {name: f"{number:g} gold items" for name, number in gold.items() if number < LEAST_GOLD}
    while True:
        table = _table(confusion.classes, counts, merged)
        single = [name for name in confusion.classes if name not in merged]
        if len(table.parts) < 2:
            return InsufficientData(
                f"{len(single)} classes with {LEAST_GOLD:g} or more gold items that can be told apart"
            )
        condition = float(np.linalg.cond(table.rates))
        if condition <= MOST_CONDITION:
            return table
        worst = min(single, key=lambda name: recognised[name] / gold[name], default="")
        if not worst:
            return InsufficientData(f"the matrix is near singular (condition number {condition:.0f})")
        merged[worst] = f"{recognised[worst] / gold[worst]:.0%} recognised"


def _table(classes: Sequence[str], counts: Floats, merged: Mapping[str, str]) -> _Table:
    rest = tuple(name for name in classes if name in merged)
    parts = (*((name,) for name in classes if name not in merged), *((rest,) if rest else ()))
    sums = np.array([[name in part for name in classes] for part in parts], dtype=np.float64)
    return _Table(parts, sums @ counts @ sums.T + PRIOR / len(parts), {name: merged[name] for name in rest})


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
