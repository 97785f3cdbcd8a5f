"""What answers out of fold teach a classifier: one temperature, and the threshold below which it abstains.

Key insight: scikit-learn's temperature takes the logarithm of probabilities only where every row of what it is given
sums to 1, and takes the numbers for logits otherwise. So it gets logits here, and an item is answered the same alone
and beside any others.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TINY = 1e-6
"""Least probability: a class that a fold never saw must not make a logarithm infinite."""
RISK = 0.05
"""How often a threshold may be set although the share of right answers above it misses the wanted precision."""
FIRST_ERRORS = 1
"""Wrong answers that the strictest threshold which is tested allows. With none, one slip among the surest 29 answers
would end the search; each further one needs some fifteen items more."""
DIGITS = 6
"""Decimal places of probabilities in a saved classifier. Thresholds are rounded down to as many: the answer that set
one still reaches it."""


class Logits(ClassifierMixin, BaseEstimator):
    """Passes logits on, so that scikit-learn calibrates what was answered out of fold."""

    def fit(self, x: Floats, y: NDArray[Any], sample_weight: Floats | None = None) -> Logits:
        """Take the classes, one per column of x; weights change nothing."""
        del sample_weight
        self.n_features_in_, self.classes_ = x.shape[1], np.unique(y)
        return self

    def decision_function(self, x: Floats) -> Floats:
        """X itself; of two classes how far the second is above the first, as scikit-learn has it."""
        return x if x.shape[1] > 2 else x[:, 1] - x[:, 0]

    def predict(self, x: Floats) -> NDArray[Any]:
        """The likeliest class of each row."""
        return np.asarray(self.classes_[x.argmax(axis=1)])


def logits(probabilities: Floats) -> Floats:
    """Logarithms of probabilities float64 [items, classes], none of them below ``TINY``."""
    kept = np.maximum(probabilities, TINY)
    return np.asarray(np.log(kept / kept.sum(axis=1, keepdims=True)))


def fit_temperature(held_out: Floats, truth: NDArray[Any], judged: NDArray[np.bool_]) -> CalibratedClassifierCV:
    """Fit one temperature.

    Args:
        held_out: probabilities float64 [items, classes], each by a classifier that did not see the item.
        truth: the class of each item; every class occurs.
        judged: the items that set the temperature.
    """
    everything = np.arange(len(truth))
    made = CalibratedClassifierCV(Logits(), method="temperature", cv=[(everything, everything)], ensemble=False)
    return made.fit(logits(held_out), truth, sample_weight=judged.astype(np.float64))


def threshold_for(confidence: Floats, right: NDArray[np.bool_], precision: float) -> float:
    """The lowest confidence for which the tests say that answers from there on are right often enough.

    Fixed-sequence testing: the surest answers are tested first, then more and more of them, each time that many which
    may hold one wrong answer more; the first test that fails ends it. How many are tested is known before any label is
    looked at, so the chance that one of the thresholds which pass is too low is at most ``RISK`` (exact binomial tests;
    the answers of a sample like those to come).

    Args:
        confidence: of each answer.
        right: whether it is right.
        precision: the wanted share of right answers.

    Returns:
        Infinity where the first test fails, or there are too few answers for it: the classifier then always abstains.
    """
    ordered, found = np.sort(confidence)[::-1], math.inf
    for size in _sizes(len(ordered), precision):
        above = confidence >= ordered[size - 1]  # with equals, which are answered together
        if binom.cdf(int((~right[above]).sum()), int(above.sum()), 1 - precision) > RISK:
            break
        found = float(ordered[size - 1])
    rounded = round(found, DIGITS) if math.isfinite(found) else found
    return rounded if rounded <= found else round(rounded - 10**-DIGITS, DIGITS)


def _sizes(count: int, precision: float) -> list[int]:
    """How many of the surest answers are tested, one after the other; last all of them."""
    every = np.arange(1, count + 1)
    errors = binom.ppf(RISK, every, 1 - precision)
    errors -= binom.cdf(errors, every, 1 - precision) > RISK  # the most that may be wrong among so many
    first = every[(np.diff(errors, prepend=-1) > 0) & (errors >= FIRST_ERRORS)]
    return sorted({*first.tolist(), *every[-1:].tolist()})
