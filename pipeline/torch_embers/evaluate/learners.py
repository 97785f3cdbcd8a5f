"""The learners of an evaluation: baselines and the classifier itself.

A learner gets the training half of a split and answers the test half. It sees nothing else.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from torch_embers.classify.learning import regression
from torch_embers.classify.learning.features import Vectorizer
from torch_embers.classify.learning.linear import softmax
from torch_embers.classify.learning.model import HybridClassifier, Settings
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.learning.features import Inputs


@dataclass(frozen=True)
class LearnerOutput:
    """Probabilities float64 [texts, classes] of texts, and the threshold below which the learner abstains."""

    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    threshold: float = 0.0


class Learner(Protocol):
    """Something that learns from one half of a split and answers the other."""

    @property
    def name(self) -> str:
        """Row of the table."""
        ...

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> LearnerOutput:
        """Learn from ``train`` and answer ``test``."""
        ...


@dataclass(frozen=True)
class Majority:
    """Always the most frequent class."""

    name: str = "majority"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> LearnerOutput:
        """Answer with the shares of the classes in the training half."""
        del groups
        counts = sorted(Counter(labels).items())
        shares = np.array([count for _, count in counts], dtype=np.float64) / len(train)
        return LearnerOutput(tuple(label for label, _ in counts), np.tile(shares, (len(test), 1)))


@dataclass(frozen=True)
class TfidfBaseline:
    """TF-IDF of words and word pairs with logistic regression: the usual first attempt."""

    balanced: bool = True
    """Weight classes by rarity. Without it the baseline hardly ever predicts a rare class."""

    @property
    def name(self) -> str:
        """Row of the table."""
        return "tfidf+lr balanced" if self.balanced else "tfidf+lr"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> LearnerOutput:
        """Fit scikit-learn's defaults on all fields written one after another."""
        texts = _one_text(train)
        vectorizer = Vectorizer.fit(texts, "word", 1, 100_000)
        classes, truth = np.unique(np.array(labels, dtype=object), return_inverse=True)
        if vectorizer is None or len(classes) < 2:
            return Majority().answer(train, labels, groups, test)
        weights, bias = regression.fit(
            vectorizer(texts), truth, None, C=1.0, class_weight="balanced" if self.balanced else None
        )
        if len(classes) == 2:
            weights, bias = np.vstack([-weights / 2, weights / 2]), np.array([-bias[0] / 2, bias[0] / 2])
        scores = vectorizer(_one_text(test)) @ weights.T + bias
        return LearnerOutput(tuple(map(str, classes)), softmax(np.asarray(scores)))


@dataclass(frozen=True)
class Hybrid:
    """The classifier of ``model.py``, with its own calibration and threshold set inside the training half."""

    settings: Settings = Settings()  # noqa: RUF009 - frozen
    name: str = "hybrid"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> LearnerOutput:
        """Fit on the training half."""
        model = fitted(self.settings, train, labels, groups)
        return LearnerOutput(model.classes, model.predict_proba(test), model.threshold)


def fitted(settings: Settings, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable]) -> HybridClassifier:
    """The classifier, fitted once for all learners that look at the same training half."""
    key = "hybrid", settings
    if key not in train.memo:
        train.memo[key] = HybridClassifier("hybrid", settings).fit(train, None, labels, groups)
    found: HybridClassifier = train.memo[key]
    return found


def usual() -> tuple[Learner, ...]:
    """The default learners: the baselines, and last the classifier with its defaults."""
    return Majority(), TfidfBaseline(balanced=False), TfidfBaseline(), Hybrid()


def _one_text(inputs: Inputs) -> Sequence[str]:
    if not inputs.fields:
        raise InputError("there are no texts to read")
    fields = list(inputs.fields.values())
    return fields[0] if len(fields) == 1 else ["\n".join(parts) for parts in zip(*fields, strict=True)]
