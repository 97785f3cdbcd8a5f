"""A fitted question: a classifier of texts, the votes on it, and how both together become an answer or an abstention.

The probabilities of the text and the log-odds of the votes add up as independent evidence would. They are not quite
independent (both read the title), so one temperature, set on held-out gold, brings the sum to the right measure; the
threshold of abstention is set on the same held-out answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.labels.voting import Cast, Voting
from torch_embers.classify.learning.linear import TINY, softmax
from torch_embers.classify.learning.model import best_temperature
from torch_embers.errors import InputError
from torch_embers.statistics.metrics import threshold_for

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.learning.model import HybridClassifier
    from torch_embers.statistics.splits import Split

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Judge:
    """A classifier with the votes on its question."""

    model: HybridClassifier
    voting: Voting | None = None
    """``None``: the text alone decides."""
    temperature: float = 1.0
    threshold: float = math.inf

    @staticmethod
    def of_text(model: HybridClassifier) -> Judge:
        """A judge that asks the classifier alone."""
        return Judge(model, None, 1.0, model.threshold)

    def combine(self, said: Floats, cast: Cast | None) -> Floats:
        """Calibrated probabilities float64 [items, classes] of text and votes.

        Args:
            said: the classifier's probabilities.
            cast: the votes on the same items.
        """
        if self.voting is None or cast is None:
            return said
        return softmax(_added(said, self.voting.evidence(cast, self.model.classes)) / self.temperature)

    def answers(self, probabilities: Floats) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
        """The likeliest class of each item (as a column), its probability, and whether that is enough to answer."""
        best = probabilities.argmax(axis=1)
        sure = probabilities[np.arange(len(best)), best]
        return best, sure, sure >= self.threshold

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file, without the classifier."""
        return {
            "voting": None if self.voting is None else self.voting.as_data(),
            "temperature": self.temperature,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
        }

    @staticmethod
    def from_data(model: HybridClassifier, data: Mapping[str, Any]) -> Judge:
        """Read what ``as_data`` gave.

        Raises:
            InputError: not such data.
        """
        try:
            temperature = float(data["temperature"])
            threshold = math.inf if data["threshold"] is None else float(data["threshold"])
            voting = None if data["voting"] is None else Voting.from_data(data["voting"], model.classes)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{model.scheme}: cannot be read: {error!r}") from error
        if not (math.isfinite(temperature) and temperature > 0) or math.isnan(threshold):
            raise InputError(f"{model.scheme}: temperature or threshold is no usable number")
        return Judge(model, voting, temperature, threshold)


def with_votes(
    model: HybridClassifier,
    truth: Sequence[str],
    cast: Cast,
    splits: Sequence[Split],
    measured: Callable[[NDArray[np.int64] | None], Voting],
) -> tuple[Judge, Floats]:
    """Combine a fitted classifier with votes, calibrated on its held-out items.

    Args:
        model: fitted, with its ``out_of_fold`` probabilities.
        truth: class of each judged item.
        cast: the votes on them.
        splits: the folds that the classifier was held out by.
        measured: gives what the functions are worth by the gold of these rows alone; of all rows for ``None``. So no
            item vouches for a function that then speaks of it.

    Returns:
        The judge, and the combined probabilities of the items by models and measurements that have not seen them.

    Raises:
        InputError: the classifier was fitted without folds.
    """
    if model.out_of_fold is None:
        raise InputError(f"{model.scheme}: votes need a classifier that was fitted with folds")
    scores = np.log(np.maximum(model.out_of_fold, TINY))
    for split in splits:
        scores[split.test] += measured(split.train).evidence(cast.take(split.test), model.classes)
    places = np.array([model.classes.index(label) for label in truth], dtype=np.int64)
    joined = softmax(scores)
    temperature = best_temperature(joined, places, np.ones(len(places)))
    held_out = softmax(scores / temperature)
    right = (held_out.argmax(axis=1) == places).tolist()
    threshold = threshold_for(held_out.max(axis=1).tolist(), right, model.settings.precision)
    return Judge(model, measured(None).within(model.classes), temperature, threshold), held_out


def _added(said: Floats, evidence: Floats) -> Floats:
    scores: Floats = np.log(np.maximum(said, TINY)) + evidence
    return scores
