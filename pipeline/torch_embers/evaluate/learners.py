"""The learners of an evaluation: baselines and the classifier itself.

A learner gets the training half of a split and answers the test half. It sees nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from torch_embers.classify.learning.features import ANALYZERS, VOTES
from torch_embers.classify.learning.model import Classifier, Settings
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


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

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Learn from ``train`` and answer ``test``."""
        ...


@dataclass(frozen=True)
class Majority:
    """Always the most frequent class."""

    name: str = "majority"

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Answer with the shares of the classes in the training half."""
        del groups
        made = DummyClassifier(strategy="prior").fit(train, list(labels))
        return LearnerOutput(tuple(made.classes_.tolist()), made.predict_proba(test))


@dataclass(frozen=True)
class TfidfBaseline:
    """TF-IDF of words and word pairs with logistic regression: the usual first attempt."""

    balanced: bool = True
    """Weight classes by rarity. Without it the baseline hardly ever predicts a rare class."""

    @property
    def name(self) -> str:
        """Row of the table."""
        return "tfidf+lr balanced" if self.balanced else "tfidf+lr"

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Fit scikit-learn's defaults on all columns of text written one after another."""
        made = make_pipeline(
            TfidfVectorizer(sublinear_tf=True, max_features=100_000, **ANALYZERS["word"]),
            LogisticRegression(class_weight="balanced" if self.balanced else None, max_iter=1_000),
        )
        texts = _one_text(train)
        analyze = made[0].build_analyzer()
        if len(set(labels)) < 2 or not any(analyze(text) for text in texts):
            return Majority().answer(train, labels, groups, test)
        made.fit(texts, list(labels))
        return LearnerOutput(tuple(made.classes_.tolist()), made.predict_proba(_one_text(test)))


@dataclass(frozen=True)
class Hybrid:
    """The classifier of the product, with its own calibration and threshold set inside the training half."""

    settings: Settings = field(default_factory=Settings)
    votes: Mapping[str, str] = field(default_factory=dict)
    """Labelling function -> the class it votes for, where votes are used."""

    name: str = ""
    """Row of the table; says whether votes are used when not given."""

    def __post_init__(self) -> None:
        """Choose the name."""
        object.__setattr__(self, "name", self.name or ("hybrid+votes" if self.votes else "hybrid"))

    def answer(
        self, train: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], test: pd.DataFrame
    ) -> LearnerOutput:
        """Fit on the training half."""
        model = Classifier("hybrid", self.settings, self.votes).fit(train, labels, groups)
        return LearnerOutput(model.classes, model.predict_proba(test), model.threshold)


def usual() -> tuple[Learner, ...]:
    """The default learners: the baselines, and last the classifier with its defaults."""
    return Majority(), TfidfBaseline(balanced=False), TfidfBaseline(), Hybrid()


def _one_text(items: pd.DataFrame) -> Sequence[str]:
    names = [name for name in items.columns if items[name].dtype == object and name != VOTES]
    if not names:
        raise InputError("there are no texts to read")
    return ["\n".join(parts) for parts in items[names].itertuples(index=False)]
