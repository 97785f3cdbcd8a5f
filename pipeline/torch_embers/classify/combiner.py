"""A calibrated combination of a text classifier and the votes of labelling functions, for one question.

The log-probabilities of the text and the log-odds of the votes add up, as if they were independent evidence. They are
not (both read the title): one temperature, fitted on held-out gold labels, corrects the scale of the sum. The
abstention threshold is set on the same held-out answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.labels.vote_weights import VoteMatrix, VoteWeights
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
class Combiner:
    """A classifier with the weights of the votes on its question."""

    model: HybridClassifier
    vote_weights: VoteWeights | None = None
    """``None``: the text alone decides."""
    temperature: float = 1.0
    threshold: float = math.inf

    @staticmethod
    def text_only(model: HybridClassifier) -> Combiner:
        """A combiner that uses the classifier alone."""
        return Combiner(model, None, 1.0, model.threshold)

    def combine(self, probabilities: Floats, votes: VoteMatrix) -> Floats:
        """Calibrated probabilities of text and votes.

        Args:
            probabilities: float64 [items, classes], by the classifier.
            votes: on the same items.
        """
        if self.vote_weights is None:
            return probabilities
        scores = np.log(np.maximum(probabilities, TINY)) + self.vote_weights.evidence(votes, self.model.classes)
        return softmax(scores / self.temperature)

    def answers(self, probabilities: Floats) -> tuple[NDArray[np.int64], Floats, NDArray[np.bool_]]:
        """The likeliest class of each item (as a column), its probability, and whether that reaches the threshold."""
        best = probabilities.argmax(axis=1)
        highest = probabilities[np.arange(len(best)), best]
        return best, highest, highest >= self.threshold

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file, without the classifier."""
        return {
            "vote_weights": None if self.vote_weights is None else self.vote_weights.as_data(),
            "temperature": self.temperature,
            "threshold": self.threshold if math.isfinite(self.threshold) else None,
        }

    @staticmethod
    def from_data(model: HybridClassifier, data: Mapping[str, Any]) -> Combiner:
        """Read what ``as_data`` gave.

        Raises:
            InputError: not such data.
        """
        try:
            temperature = float(data["temperature"])
            threshold = math.inf if data["threshold"] is None else float(data["threshold"])
            stored = data["vote_weights"]
            vote_weights = None if stored is None else VoteWeights.from_data(stored, model.classes)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{model.scheme}: cannot be read: {error!r}") from error
        if not (math.isfinite(temperature) and temperature > 0) or math.isnan(threshold):
            raise InputError(f"{model.scheme}: temperature or threshold is no usable number")
        return Combiner(model, vote_weights, temperature, threshold)


def fit_combiner(
    model: HybridClassifier,
    truth: Sequence[str],
    votes: VoteMatrix,
    splits: Sequence[Split],
    estimate: Callable[[NDArray[np.int64] | None], VoteWeights],
) -> tuple[Combiner, Floats]:
    """Combine a fitted classifier with votes; calibrate the result on the classifier's held-out items.

    Args:
        model: fitted, with its ``out_of_fold`` probabilities.
        truth: class of each of these items.
        votes: on them.
        splits: the folds by which the classifier was held out.
        estimate: gives the weights of the functions from the gold labels of these rows alone; of all rows for
            ``None``. So the label of an item never supports a function that then votes on it.

    Returns:
        The combiner, and the combined held-out probabilities of the items.

    Raises:
        InputError: the classifier was fitted without folds.
    """
    if model.out_of_fold is None:
        raise InputError(f"{model.scheme}: votes need a classifier that was fitted with folds")
    scores = np.log(np.maximum(model.out_of_fold, TINY))
    for split in splits:
        scores[split.test] += estimate(split.train).evidence(votes.take(split.test), model.classes)
    columns = np.array([model.classes.index(label) for label in truth], dtype=np.int64)
    temperature = best_temperature(softmax(scores), columns, np.ones(len(columns)))
    held_out = softmax(scores / temperature)
    right = (held_out.argmax(axis=1) == columns).tolist()
    threshold = threshold_for(held_out.max(axis=1).tolist(), right, model.settings.precision)
    return Combiner(model, estimate(None).within(model.classes), temperature, threshold), held_out
