"""The classifier of one question: fitted, calibrated and given a threshold on answers out of fold.

Folds hold groups (threads, near-duplicates) out whole. What was answered out of fold calibrates the classifier
(``CalibratedClassifierCV``, one temperature) and sets the threshold below which it abstains: the lowest confidence
from which on the lower bound of the share of right answers reaches the wanted precision.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV

from torch_embers.classify.learning.ensemble import TINY, Probabilities, TextAndVotes
from torch_embers.classify.learning.features import VOTES, View, columns_of, fit_features, readable
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.errors import InputError
from torch_embers.statistics.intervals import wilson
from torch_embers.statistics.splits import join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray
    from sklearn.compose import ColumnTransformer

    Floats = NDArray[np.float64]

DEFAULT_VIEWS = (View("word"), View("char"), View("vector"))
ONE_SIDED = 0.90
"""Two-sided level of the interval whose lower end is the one-sided 95 % bound."""
LEAST_JUDGED = 10
"""With fewer judged items all that are held out set the temperature and the threshold."""
LEAST_ANSWERS = 10
"""A share over fewer answers is luck and is not believed."""
DIGITS = 6
"""Decimal places of probabilities in a saved classifier. Thresholds are rounded down to as many: the answer that set
one still reaches it."""


@dataclass(frozen=True)
class Settings:
    """How a classifier is fitted. The defaults were chosen by grouped cross-validation; see docs/evaluation.md."""

    views: tuple[View, ...] = DEFAULT_VIEWS
    C: float = 1.0
    """Inverse regularisation of each regression, as in scikit-learn."""
    min_df: int = 1
    """A term must stand in this many training texts. One is enough for titles: a rare class has few examples, and the
    regularisation keeps terms seen once small."""
    max_features: int = 20_000
    """Terms kept per view, the most frequent: this bounds the size of a saved model."""
    folds: int = 5
    """Parts for the answers out of fold; 0 leaves them out: not calibrated, no abstention, a sixth of the time."""
    precision: float = 0.9
    """Share of right answers that the lower bound at the threshold must reach."""
    seed: int = 0


@dataclass(frozen=True)
class Reason:
    """One term of a text and how much it spoke for the class (log-odds against the average class)."""

    term: str
    weight: float


@dataclass
class Classifier:
    """Predicts the class of an item in one question, with a calibrated probability; abstains below a threshold."""

    question: str
    settings: Settings = field(default_factory=Settings)
    votes: Mapping[str, str] = field(default_factory=dict)
    """Labelling function -> the class it votes for; empty where the text alone decides."""
    classes: tuple[str, ...] = ()
    threshold: float = math.inf
    trained_on: Mapping[str, int] = field(default_factory=dict)
    """Number of calibration items per class."""
    groups: int = 0
    """Number of groups of calibration items, held out whole."""
    features: ColumnTransformer | None = None
    """Makes the columns that the estimator reads; one for all questions of a bundle."""
    estimator: Any = None
    calibrator: Any = None
    out_of_fold: Floats | None = None
    """After ``fit``: calibrated probabilities float64 [calibration items, classes], each by a classifier that saw
    neither the item nor its group. Not saved."""

    def fit(
        self,
        items: pd.DataFrame,
        labels: Sequence[str],
        groups: Sequence[Hashable] | None = None,
        weights: Sequence[float] | None = None,
        calibration: Sequence[bool] | None = None,
        features: ColumnTransformer | None = None,
        judged: Sequence[bool] | None = None,
    ) -> Classifier:
        """Learn from labelled items.

        Args:
            items: a table of ``features.table``.
            labels: the class of each item.
            groups: items of one group are held out together; each item is its own group when not given.
            weights: how much each item counts; 1 when not given.
            calibration: which items are held out, calibrated on and give the threshold; all when not given. The
                others, whose labels are doubtful, are learned from and nothing else.
            features: fitted before, for several questions; fitted on these items when not given.
            judged: which of the items that are held out set the temperature and the threshold, as they are like those
                that will be answered; all when not given, or when there are too few.

        Returns:
            Itself.

        Raises:
            InputError: lengths differ, fewer than two classes or groups, a broken vector, a weight that is not
            positive.
        """
        truth = np.asarray(labels, dtype=object)
        sample_weight = np.ones(len(items)) if weights is None else np.asarray(weights, dtype=np.float64)
        known = np.ones(len(items), dtype=bool) if calibration is None else np.asarray(calibration, dtype=bool)
        numbers = np.arange(len(items)) if groups is None else join_groups(groups)
        self._check_training(items, truth, sample_weight, known, numbers)
        how = self.settings
        self.features = features or fit_features(items, how.views, how.min_df, how.max_features, list(self.votes))
        matrix = self.features.transform(items)
        self.estimator = self._estimator()
        self.classes = tuple(sorted(set(truth.tolist())))
        self.trained_on = dict(sorted(Counter(truth[known].tolist()).items()))
        self.groups = len(set(numbers[known].tolist()))
        self.threshold, self.calibrator, self.out_of_fold = 0.0, None, None
        if how.folds:
            held_out = self._held_out(matrix, truth, numbers, sample_weight, known)
            own = known[known] if judged is None else np.asarray(judged, dtype=bool)[known]
            self._calibrate(held_out, truth[known], own)
        self.estimator.fit(matrix, truth, sample_weight=sample_weight)
        return self

    def predict_proba(self, items: pd.DataFrame, matrix: Any = None) -> Floats:
        """Calibrated probabilities float64 [items, classes] in the order of ``classes``; rows sum to 1.

        Of an item without text or with a broken vector nothing can be said: all classes are equally likely.

        Args:
            items: a table of ``features.table``.
            matrix: what ``features`` makes of the readable ones, where it is at hand.

        Raises:
            InputError: not fitted, or the items lack what the classifier looks at.
        """
        if self.features is None or self.estimator is None:
            raise InputError(f"the classifier of {self.question} has not learned anything yet")
        result = np.full((len(items), len(self.classes)), 1 / len(self.classes))
        rows = np.flatnonzero(readable(items))
        if rows.size:
            made = transformed(self.features, items.iloc[rows]) if matrix is None else matrix
            result[rows] = self._calibrated(self.estimator.predict_proba(made))
        return result

    def answers(self, probabilities: Floats) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
        """The likeliest class of each item (as a column), its probability, and whether that reaches the threshold."""
        best = probabilities.argmax(axis=1)
        highest = probabilities[np.arange(len(best)), best]
        return best, highest, highest >= self.threshold

    def terms(self, matrix: Any, labels: Sequence[str], count: int = 8) -> list[list[Reason]]:
        """For each item the words that spoke most for a class of it, strongest first.

        Pieces of words and the dimensions of a vector mean nothing to a reader and are left out; they do vote.

        Args:
            matrix: what ``features`` makes of the items.
            labels: the class of each item.
            count: how many at most.
        """
        found: list[list[Reason]] = [[] for _ in labels]
        for view, columns in self.estimator.views.items():
            regression = self.estimator.texts_[view]
            if self.features is None or not view.startswith("word:") or not hasattr(regression, "coef_"):
                continue
            names = self.features.named_transformers_[view].get_feature_names_out()
            weights = _per_class(regression.coef_)
            share = (weights - weights.mean(axis=0)) / len(self.estimator.views)
            own = matrix[:, columns].tocsr()
            for row, label in enumerate(labels):
                at = slice(own.indptr[row], own.indptr[row + 1])
                spoken = own.data[at] * share[self.classes.index(label), own.indices[at]]
                found[row] += [
                    Reason(str(names[place]), float(weight))
                    for place, weight in zip(own.indices[at], spoken, strict=True)
                    if weight > 0
                ]
        return [sorted(reasons, key=lambda one: (-one.weight, one.term))[:count] for reasons in found]

    def vote_weights(self) -> dict[str, float]:
        """What a vote of each function adds to the log-odds of its class, before the temperature."""
        regression = getattr(self.estimator, "votes_", None)
        if regression is None:
            return {}
        coefficients = _per_class(regression.coef_)
        share = coefficients - coefficients.mean(axis=0)
        named = zip(self.votes.items(), range(len(self.votes)), strict=True)
        return {name: float(share[self.classes.index(of), at]) for (name, of), at in named if of in self.classes}

    def _estimator(self) -> TextAndVotes:
        if self.features is None:
            raise InputError(f"the classifier of {self.question} has no features yet")
        columns = columns_of(self.features)
        functions = self.features.named_transformers_[VOTES].vocabulary if VOTES in columns else []
        places = {functions.index(name): of for name, of in self.votes.items() if name in functions}
        voted = {columns[VOTES].start + place: of for place, of in places.items()} if places else None
        views = {name: own for name, own in columns.items() if name != VOTES}
        return TextAndVotes(views, voted, self.settings.C)

    def _held_out(
        self,
        matrix: Any,
        truth: NDArray[Any],
        groups: NDArray[np.int64],
        weights: Floats,
        known: NDArray[np.bool_],
    ) -> Floats:
        """Probabilities float64 [calibration items, classes], each by an estimator that saw nothing of the group."""
        own, others = np.flatnonzero(known), np.flatnonzero(~known)
        found = np.zeros((len(own), len(self.classes)))
        for split in grouped_folds(truth[own].tolist(), groups[own].tolist(), self.settings.folds, self.settings.seed):
            apart = others[~np.isin(groups[others], groups[own[split.test]])]
            rows = np.concatenate([own[split.train], apart])
            fitted = clone(self.estimator).fit(matrix[rows], truth[rows], sample_weight=weights[rows])
            columns = [self.classes.index(name) for name in fitted.classes_]
            found[split.test[:, None], columns] = fitted.predict_proba(matrix[own[split.test]])
        return np.maximum(found, TINY)

    def _calibrate(self, held_out: Floats, truth: NDArray[Any], judged: NDArray[np.bool_]) -> None:
        """Fit the temperature, and set the threshold on the calibrated answers, both on the judged items."""
        if judged.sum() < LEAST_JUDGED:
            judged = np.ones(len(truth), dtype=bool)
        everything = np.arange(len(truth))
        made = CalibratedClassifierCV(
            Probabilities(),
            method="temperature",
            cv=[(everything, everything)],
            ensemble=False,
        )
        self.calibrator = made.fit(held_out, truth, sample_weight=judged.astype(np.float64))
        self.out_of_fold = self._calibrated(held_out)
        right = np.asarray(self.classes, dtype=object)[self.out_of_fold.argmax(axis=1)] == truth
        self.threshold = threshold_for(self.out_of_fold.max(axis=1)[judged], right[judged], self.settings.precision)

    def _calibrated(self, probabilities: Floats) -> Floats:
        if self.calibrator is None:
            return probabilities
        return np.asarray(self.calibrator.predict_proba(np.maximum(probabilities, TINY)))

    def _check_training(
        self,
        items: pd.DataFrame,
        truth: NDArray[Any],
        weights: Floats,
        known: NDArray[np.bool_],
        groups: NDArray[np.int64],
    ) -> None:
        if not len(items) == len(truth) == len(weights) == len(known) == len(groups):
            raise InputError(f"{self.question}: {len(items)} items, {len(truth)} labels and {len(weights)} weights")
        own = set(truth[known].tolist())
        if len(own) < 2:
            raise InputError(f"{self.question}: at least two classes are needed to learn, there is {len(own)}")
        if doubtful := sorted(set(truth.tolist()) - own):
            raise InputError(f"{self.question}: a class has doubtful labels only: {doubtful[0]}")
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise InputError(f"{self.question}: every weight must be a positive number")
        if not np.isfinite(items.select_dtypes(np.floating).to_numpy()).all():
            raise InputError(f"{self.question}: vectors to learn from hold values that are no numbers")


def transformed(features: ColumnTransformer, items: pd.DataFrame) -> Any:
    """What fitted features make of items.

    Raises:
        InputError: the items lack a column that was learned from.
    """
    if missing := [name for name in features.feature_names_in_ if name not in items.columns and name != VOTES]:
        raise InputError(f"the items lack what the classifier looks at: {missing[0]} (another embedder or text?)")
    known = set(features.feature_names_in_)
    if further := [name for name in items.select_dtypes(np.floating) if name not in known]:
        raise InputError(f"the items have more numbers than were learned from: {further[0]} (another embedder?)")
    return features.transform(items if VOTES in items.columns else items.assign(**{VOTES: ""}))


def threshold_for(confidence: Floats, right: NDArray[np.bool_], precision: float) -> float:
    """The lowest confidence from which on the lower 95 % bound of the share of right answers reaches ``precision``.

    Returns:
        Infinity where no threshold reaches it: the classifier then always abstains.
    """
    order = np.argsort(-confidence, kind="stable")
    hits = np.cumsum(right[order])
    found = math.inf
    for place in np.flatnonzero(np.append(np.diff(confidence[order]) < 0, True)).tolist():
        count = place + 1
        if count >= LEAST_ANSWERS and wilson(int(hits[place]), count, ONE_SIDED)[0] >= precision:
            found = float(confidence[order[place]])
    rounded = round(found, DIGITS) if math.isfinite(found) else found
    return rounded if rounded <= found else round(rounded - 10**-DIGITS, DIGITS)


def _per_class(coefficients: NDArray[Any]) -> NDArray[Any]:
    """A row of weights per class; of two classes scikit-learn keeps the second's alone."""
    return np.vstack([-coefficients / 2, coefficients / 2]) if len(coefficients) == 1 else coefficients
