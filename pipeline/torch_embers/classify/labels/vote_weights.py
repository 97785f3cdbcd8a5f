"""The votes of labelling functions on many items as a matrix, and what they add to each class of one question.

The same arithmetic as ``label_model.combine``, for whole batches: the weights of the functions that voted for a class,
the largest first, each further one discounted, and their sum capped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.labels import label_model
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.labels.label_model import Gold, ItemKey
    from torch_embers.classify.labels.weak import WeakLabel

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class VoteMatrix:
    """Which functions voted on which items: ``voted`` is bool [items, functions]."""

    functions: tuple[str, ...]
    voted: NDArray[np.bool_]

    @staticmethod
    def of(votes: Sequence[Iterable[WeakLabel]], labeller: Labeller | None = None) -> VoteMatrix:
        """Put the votes on each item into a row, without those of unknown functions and those of runs."""
        names = (labeller or Labeller.load()).names()
        functions = tuple(name for name, (_, _, kind) in names.items() if kind != EXECUTION)
        column = {name: place for place, name in enumerate(functions)}
        voted = np.zeros((len(votes), len(functions)), dtype=bool)
        for row, given in enumerate(votes):
            for vote in given:
                if vote.function in column:
                    voted[row, column[vote.function]] = True
        return VoteMatrix(functions, voted)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> VoteMatrix:
        """The items at these positions."""
        return VoteMatrix(self.functions, self.voted[np.asarray(rows, dtype=np.int64)])


@dataclass(frozen=True)
class VoteWeights:
    """The weights of the functions that vote on one question."""

    weights: Mapping[str, tuple[str, float]]
    """Function -> its class and the log-odds that its vote adds."""
    discount: float
    """Factor of each further vote for a class."""
    cap: float
    """Most log-odds that all votes for a class may add."""

    @staticmethod
    def estimate(
        classes: Mapping[str, str],
        scheme: str,
        votes: Mapping[ItemKey, Iterable[WeakLabel]],
        gold: Mapping[ItemKey, Gold],
        labeller: Labeller | None = None,
    ) -> VoteWeights:
        """Estimate the weights of a scheme's functions on gold labels.

        Args:
            classes: value of the scheme -> class of the question; functions for other values are left out.
            scheme: the scheme.
            votes: on the items.
            gold: answers for the items to estimate from.
            labeller: other functions than the shipped ones.
        """
        labeller = labeller or Labeller.load()
        accuracies = label_model.estimate({item: votes.get(item, ()) for item in gold}, gold, labeller)
        weights = {
            name: (classes[value], accuracies[name].weight)
            for name, (own, value, kind) in labeller.names().items()
            if own == scheme and value in classes and kind != EXECUTION and accuracies[name].weight > 0
        }
        return VoteWeights(weights, labeller.discount, labeller.cap)

    def within(self, classes: Sequence[str]) -> VoteWeights:
        """The same without functions for classes that were too rare to be learned."""
        return replace(self, weights={name: own for name, own in self.weights.items() if own[0] in classes})

    def evidence(self, votes: VoteMatrix, classes: Sequence[str]) -> Floats:
        """Log-odds that the votes add to each class: float64 [items, classes]."""
        column = {name: place for place, name in enumerate(votes.functions)}
        log_odds = np.zeros((len(votes.voted), len(classes)))
        for place, value in enumerate(classes):
            own = [(column[name], w) for name, (of, w) in self.weights.items() if of == value and name in column]
            if own:
                columns, weights = zip(*own, strict=True)
                largest = -np.sort(-(votes.voted[:, list(columns)] * np.array(weights)), axis=1)
                log_odds[:, place] = np.minimum(largest @ self.discount ** np.arange(len(own)), self.cap)
        return log_odds

    def any_vote(self, votes: VoteMatrix) -> NDArray[np.bool_]:
        """Whether any of the weighted functions voted on each item."""
        own = [place for place, name in enumerate(votes.functions) if name in self.weights]
        return np.asarray(votes.voted[:, own].any(axis=1))

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file; rounded, so that equal weights give equal files."""
        return {
            "weights": {name: [value, round(weight, 6)] for name, (value, weight) in sorted(self.weights.items())},
            "discount": self.discount,
            "cap": self.cap,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any], classes: Sequence[str]) -> VoteWeights:
        """Read what ``as_data`` gave.

        Raises:
            InputError: not such data, an unknown class, or a number that is not finite.
        """
        try:
            weights = {str(name): (str(value), float(weight)) for name, (value, weight) in data["weights"].items()}
            discount, cap = float(data["discount"]), float(data["cap"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"no vote weights that can be read: {error!r}") from error
        numbers = [discount, cap, *(weight for _, weight in weights.values())]
        if not np.isfinite(numbers).all() or min(numbers) < 0 or not {v for v, _ in weights.values()} <= set(classes):
            raise InputError("votes for unknown classes, or weights that are not finite numbers")
        return VoteWeights(weights, discount, cap)
