"""The estimator behind every question: the mean of several logistic regressions, times the votes.

Key insight: with a few hundred labelled items the embedding and the words are wrong about different items. One
regression per view, averaged, was never worse than one over all views put together (docs/evaluation.md), and each view
stays linear, so that a label can be explained by its terms. Votes of labelling functions are one more regression, on a
column per function. Text and votes are multiplied as if they were independent evidence; a temperature corrects the
scale of the product afterwards (``model.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, issparse, vstack
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TINY = 1e-6
"""Least probability of a vote: a class that a fold never saw must not make the logarithm infinite."""
TEXT_WEIGHT = 6.0
"""Exponent of the text's probability beside that of the votes. Regressions with balanced classes are underconfident;
the best exponent on held-out items of bug_type, memory_type and consequence was 7.2, 5.8 and 6.1."""
VOTES_C = 10.0
"""Inverse regularisation of the votes: 1 left rare classes unfound (macro-F1 of bug_type 0.54, against 0.63)."""
CLAIMS = 2.0
"""Weight of the class that a function names, beside the gold items it voted on: a function that never met gold
counts too."""


class TextAndVotes(ClassifierMixin, BaseEstimator):
    """Regressions on the columns of several views, averaged, and multiplied by a regression on votes."""

    def __init__(
        self,
        views: Mapping[str, slice],
        votes: Mapping[int, str] | None = None,
        C: float = 1.0,
    ) -> None:
        self.views = views
        self.votes = votes
        self.C = C

    def fit(self, x: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> TextAndVotes:
        """Fit every regression.

        Args:
            x: features [items, columns], dense or sparse.
            y: a class per item.
            sample_weight: weight of each item.
        """
        self.classes_ = np.unique(y)
        options = {"C": self.C, "class_weight": "balanced", "max_iter": 1_000}
        self.texts_ = {
            name: _regression(len(self.classes_), options).fit(_columns(x, columns), y, sample_weight=sample_weight)
            for name, columns in self.views.items()
        }
        for made in self.texts_.values():
            if hasattr(made, "coef_"):
                made.coef_ = rounded(made.coef_)
        own = self.votes or {}
        self.votes_ = fit_votes(x[:, list(own)], y, list(own.values()), sample_weight) if own else None
        return self

    def text_proba(self, x: Any) -> Floats:
        """Mean probabilities of the views, float64 [items, classes]."""
        found = [made.predict_proba(_columns(x, self.views[name])) for name, made in self.texts_.items()]
        return np.asarray(np.mean(found, axis=0), dtype=np.float64)

    def predict_log_proba(self, x: Any) -> Floats:
        """Logarithms of the normalised product, float64 [items, classes]."""
        scores = TEXT_WEIGHT * np.log(np.maximum(self.text_proba(x), TINY))
        if self.votes_ is not None:
            scores = scores + np.log(np.maximum(self.votes_.predict_proba(x[:, list(self.votes or {})]), TINY))
        return np.asarray(log_softmax(scores, axis=1))

    def predict_proba(self, x: Any) -> Floats:
        """Probabilities float64 [items, classes]; not calibrated."""
        return np.asarray(np.exp(self.predict_log_proba(x)))

    def predict(self, x: Any) -> NDArray[Any]:
        """The likeliest class of each item."""
        return np.asarray(self.classes_[self.predict_log_proba(x).argmax(axis=1)])


def fit_votes(
    votes: Any, y: NDArray[Any], claims: Sequence[str], sample_weight: Floats | None = None
) -> LogisticRegression | None:
    """Fit the regression on votes; beside the items each function stands once for the class that it names.

    Args:
        votes: which function voted on which item: [items, functions].
        y: a class per item.
        claims: the class that each function names.
        sample_weight: weight of each item.

    Returns:
        ``None`` where there is one class, or no function for any of them.
    """
    own = [place for place, value in enumerate(claims) if value in set(y.tolist())]
    if not own or len(set(y.tolist())) < 2:
        return None
    rows = vstack([csr_matrix(votes), csr_matrix(np.eye(len(claims), dtype=np.float32)[own])])
    truth = np.concatenate([y, np.array([claims[place] for place in own], dtype=y.dtype)])
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    made = LogisticRegression(C=VOTES_C, max_iter=1_000)
    return made.fit(rows, truth, sample_weight=np.concatenate([weights, np.full(len(own), CLAIMS)]))


def rounded(weights: NDArray[Any]) -> NDArray[np.float32]:
    """Weights with 11 significant bits: a saved model is then half as large."""
    bits = weights.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def _columns(x: Any, columns: slice) -> Any:
    """Columns of a matrix; dense where most cells hold a number, as those of vectors do."""
    own = x[:, columns]
    return own.toarray() if issparse(own) and own.nnz * 2 > np.prod(own.shape) else own


def _regression(classes: int, options: Mapping[str, Any]) -> Any:
    """A regression, or what always answers the one class that there is."""
    return LogisticRegression(**options) if classes > 1 else DummyClassifier(strategy="prior")


class Probabilities(ClassifierMixin, BaseEstimator):
    """Passes probabilities on, so that scikit-learn calibrates what was answered out of fold."""

    def fit(self, x: Floats, y: NDArray[Any], sample_weight: Floats | None = None) -> Probabilities:
        """Take the classes, one per column of x; weights change nothing."""
        del sample_weight
        self.n_features_in_, self.classes_ = x.shape[1], np.unique(y)
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """X itself."""
        return x

    def predict(self, x: Floats) -> NDArray[Any]:
        """The likeliest class of each row."""
        return np.asarray(self.classes_[x.argmax(axis=1)])
