"""The classifier of one question: a logistic regression on all features, calibrated on answers out of fold.

Folds hold groups (threads, near-duplicates) out whole. What was answered out of fold sets the temperature and the
threshold below which the classifier abstains (``calibration.py``).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

from torch_embers.classify.learning.calibration import fit_temperature, logits, threshold_for
from torch_embers.classify.learning.features import VOTES, View, columns_of, fit_features, readable
from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray
    from sklearn.compose import ColumnTransformer

    Floats = NDArray[np.float64]

DEFAULT_VIEWS = (View("word"), View("char"), View("vector"))
TOLERANCE = 1e-5
"""When a fit ends. At scikit-learn's 1e-4 probabilities were up to 0.03 from where they settle, at this one 0.003."""
LEAST_JUDGED = 10
"""With fewer judged items all that are held out set the temperature and the threshold."""


@dataclass(frozen=True)
class Settings:
    """How a classifier is fitted. The defaults were chosen by grouped cross-validation; see docs/evaluation.md."""

    views: tuple[View, ...] = DEFAULT_VIEWS
    C: float = 3.0
    """Inverse regularisation, as in scikit-learn."""
    min_df: int = 1
    """A term must stand in this many training texts. One is enough for titles: a rare class has few examples, and the
    regularisation keeps terms seen once small."""
    max_features: int = 20_000
    """Terms kept per view, the most frequent: this bounds the size of a saved model."""
    folds: int = 5
    """Parts for the answers out of fold; 0 leaves them out: not calibrated, no abstention, a sixth of the time."""
    precision: float = 0.9
    """Share of right answers that the tests of the threshold ask for."""
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
    """Labelling function -> the class it names; empty where the text alone decides."""
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
        self.classes = tuple(sorted(set(truth.tolist())))
        self.trained_on = dict(sorted(Counter(truth[known].tolist()).items()))
        self.groups = len(set(numbers[known].tolist()))
        self.threshold, self.calibrator, self.out_of_fold = 0.0, None, None
        if how.folds:
            held_out = self._held_out(matrix, truth, numbers, sample_weight, known)
            own = known[known] if judged is None else np.asarray(judged, dtype=bool)[known]
            self._calibrate(held_out, truth[known], own)
        self.estimator = self._regression(matrix, truth, sample_weight)
        self.estimator.coef_ = rounded(self.estimator.coef_)
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
        if self.features is None:
            return found
        for view, columns in columns_of(self.features).items():
            if not view.startswith("word:"):
                continue
            names = self.features.named_transformers_[view].get_feature_names_out()
            share = self._weights()[:, columns]
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
        """What a vote of each function adds to the log-odds of the class that it names, before the temperature."""
        if self.features is None or (columns := columns_of(self.features).get(VOTES)) is None:
            return {}
        places = self.features.named_transformers_[VOTES].vocabulary_
        share = self._weights()[:, columns]
        return {
            name: float(share[self.classes.index(of), places[name]])
            for name, of in self.votes.items()
            if name in places and of in self.classes
        }

    def _weights(self) -> Floats:
        """What each column adds to the log-odds of each class against the average class: [classes, columns]."""
        own = self.estimator.coef_
        # of two classes scikit-learn keeps the second's weights alone
        every = np.vstack([-own / 2, own / 2]) if len(own) == 1 else own
        return np.asarray(every - every.mean(axis=0))

    def _regression(self, matrix: Any, truth: NDArray[Any], weights: Floats) -> Any:
        """A fitted regression, or what always answers the one class that there is."""
        made = LogisticRegression(C=self.settings.C, class_weight="balanced", max_iter=1_000, tol=TOLERANCE)
        if len(set(truth.tolist())) == 1:
            made = DummyClassifier(strategy="prior")
        return made.fit(matrix, truth, sample_weight=weights)

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
            fitted = self._regression(matrix[rows], truth[rows], weights[rows])
            columns = [self.classes.index(name) for name in fitted.classes_]
            found[split.test[:, None], columns] = fitted.predict_proba(matrix[own[split.test]])
        return found

    def _calibrate(self, held_out: Floats, truth: NDArray[Any], judged: NDArray[np.bool_]) -> None:
        """Fit the temperature, and set the threshold on the calibrated answers, both on the judged items."""
        if judged.sum() < LEAST_JUDGED:
            judged = np.ones(len(truth), dtype=bool)
        self.calibrator = fit_temperature(held_out, truth, judged)
        self.out_of_fold = self._calibrated(held_out)
        right = np.asarray(self.classes, dtype=object)[self.out_of_fold.argmax(axis=1)] == truth
        self.threshold = threshold_for(self.out_of_fold.max(axis=1)[judged], right[judged], self.settings.precision)

    def _calibrated(self, probabilities: Floats) -> Floats:
        if self.calibrator is None:
            return probabilities
        return np.asarray(self.calibrator.predict_proba(logits(probabilities)))

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


def rounded(weights: NDArray[Any]) -> NDArray[np.float32]:
    """Weights with 11 significant bits: a saved model is then half as large."""
    bits = weights.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
