"""What is compared on the same held-out texts: plain baselines, and the classifier's own way of learning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from torch_embers.classify.features import Features, Item
from torch_embers.classify.model import softmax
from torch_embers.classify.train import folds, logits, regression, sparse, temperature

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """Items with their vectors."""

    items: Sequence[Item]
    titles: NDArray[np.float32]
    """Vectors of titles, float32 [items, dim]."""
    texts: NDArray[np.float32]
    """Vectors of titles with bodies."""

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """Some of them."""
        return Texts([self.items[row] for row in rows], self.titles[rows], self.texts[rows])

    @property
    def words(self) -> list[str]:
        """Title and body of each."""
        return [item.text.words for item in self.items]


Answer = tuple[tuple[str, ...], "Floats"]
"""Classes, and probabilities float64 [texts, classes]."""
Learner = Callable[[Texts, "NDArray[np.str_]", "NDArray[np.int64]", Texts], Answer]
"""From texts to learn from, their classes and groups, and texts to answer, to the answers."""


def majority(known: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], unseen: Texts) -> Answer:
    """Each class with its share, so that the most frequent one is always the answer."""
    del known, groups
    counts = Counter(labels.tolist())
    classes = tuple(sorted(counts))
    shares = np.array([counts[name] / len(labels) for name in classes])
    return classes, np.tile(shares, (len(unseen.items), 1))


def tfidf(known: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], unseen: Texts) -> Answer:
    """Words and pairs of words, and a regression that weighs all classes alike."""
    del groups
    made = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), max_features=20_000)
    return _answered(made.fit_transform(known.words), labels, made.transform(unseen.words))


def vectors(known: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], unseen: Texts) -> Answer:
    """A regression on the vectors of the texts alone."""
    del groups
    return _answered(known.texts, labels, unseen.texts, 10.0)


def hybrid(known: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], unseen: Texts) -> Answer:
    """The classifier's way: words, signs, votes and vectors, calibrated on answers out of fold."""
    functions = sorted({name for item in known.items for name in item.votes})
    features = Features.learned(known.items, functions, known.texts.shape[1])
    own = sparse(features.rows(known.items, known.titles, known.texts), features.width)
    other = sparse(features.rows(unseen.items, unseen.titles, unseen.texts), features.width)
    classes, chances = _answered(own, labels, other, None)
    held_out = np.zeros((len(labels), len(classes)))
    for train, test in folds(labels, groups):
        found, said = _answered(own[train], labels[train], own[test], None)
        held_out[np.ix_(test, np.array([classes.index(name) for name in found]))] = said
    heat = temperature(held_out, np.searchsorted(classes, labels), np.ones(len(labels), dtype=bool))
    return classes, softmax(logits(chances) / heat)


LEARNERS: Mapping[str, Learner] = {"majority": majority, "tfidf": tfidf, "vectors": vectors, "hybrid": hybrid}
"""By the name that tables have; the last is compared with those before it."""


def _answered(
    known: csr_matrix | NDArray[np.float32],
    labels: NDArray[np.str_],
    unseen: csr_matrix | NDArray[np.float32],
    strength: float | None = 1.0,
) -> Answer:
    """Fit and answer; ``None`` as strength is the classifier's own."""
    if strength is None:
        fitted = regression(known, labels)
    else:
        fitted = LogisticRegression(C=strength, class_weight="balanced", max_iter=1_000).fit(known, labels)
    return tuple(map(str, fitted.classes_)), fitted.predict_proba(unseen)
