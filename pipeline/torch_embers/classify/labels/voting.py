"""The votes of labelling functions on many items, and what they add to each class of one question.

The same arithmetic as ``label_model.combine``, for whole batches: weights of the functions that spoke for a class, the
heaviest first, each further one counting less, and no more than a cap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.classify.labels.label_model import estimate
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.labels.label_model import Gold, ItemKey
    from torch_embers.classify.labels.weak import WeakLabel

    Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Cast:
    """Which functions spoke of which items: ``spoken`` is bool [items, functions]."""

    functions: tuple[str, ...]
    spoken: NDArray[np.bool_]

    @staticmethod
    def of(votes: Sequence[Iterable[WeakLabel]], labeller: Labeller | None = None) -> Cast:
        """Put the votes on each item into a row; those of unknown functions are left out, as are those of runs."""
        names = (labeller or Labeller.load()).names()
        functions = tuple(name for name, (_, _, kind) in names.items() if kind != EXECUTION)
        column = {name: place for place, name in enumerate(functions)}
        spoken = np.zeros((len(votes), len(functions)), dtype=bool)
        for row, given in enumerate(votes):
            for vote in given:
                if vote.function in column:
                    spoken[row, column[vote.function]] = True
        return Cast(functions, spoken)

    def __len__(self) -> int:
        """Count the items."""
        return len(self.spoken)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Cast:
        """The items at these positions."""
        return Cast(self.functions, self.spoken[np.asarray(rows, dtype=np.int64)])


@dataclass(frozen=True)
class Voting:
    """What the functions that vote on one question are worth."""

    weights: Mapping[str, tuple[str, float]]
    """Function -> its class and the log-odds that its vote adds."""
    further: float
    cap: float

    @staticmethod
    def measured(
        classes: Mapping[str, str],
        scheme: str,
        votes: Mapping[ItemKey, Iterable[WeakLabel]],
        gold: Mapping[ItemKey, Gold],
        labeller: Labeller | None = None,
    ) -> Voting:
        """Measure the functions of a scheme on gold.

        Args:
            classes: value of the scheme -> class of the question; functions for other values are left out.
            scheme: the scheme.
            votes: on the items.
            gold: answers for the items that may vouch for a function.
            labeller: other functions than the shipped ones.
        """
        labeller = labeller or Labeller.load()
        known = estimate({item: votes.get(item, ()) for item in gold}, gold, labeller)
        weights = {
            name: (classes[value], known[name].weight)
            for name, (own, value, kind) in labeller.names().items()
            if own == scheme and value in classes and kind != EXECUTION and known[name].weight > 0
        }
        return Voting(weights, labeller.further_vote, labeller.text_cap)

    def within(self, classes: Sequence[str]) -> Voting:
        """The same without functions for classes that were too rare to be learned."""
        return replace(self, weights={name: own for name, own in self.weights.items() if own[0] in classes})

    def evidence(self, cast: Cast, classes: Sequence[str]) -> Floats:
        """Log-odds that the votes add to each class: float64 [items, classes]."""
        column = {name: place for place, name in enumerate(cast.functions)}
        made = np.zeros((len(cast), len(classes)))
        for place, value in enumerate(classes):
            mine = {name: weight for name, (said, weight) in self.weights.items() if said == value}
            own = [(column[name], weight) for name, weight in mine.items() if name in column]
            if own:
                columns, weights = zip(*own, strict=True)
                heaviest = -np.sort(-(cast.spoken[:, list(columns)] * np.array(weights)), axis=1)
                made[:, place] = np.minimum(heaviest @ self.further ** np.arange(len(own)), self.cap)
        return made

    def spoken(self, cast: Cast) -> NDArray[np.bool_]:
        """Whether any of its functions spoke of each item."""
        own = [place for place, name in enumerate(cast.functions) if name in self.weights]
        return np.asarray(cast.spoken[:, own].any(axis=1))

    def as_data(self) -> dict[str, Any]:
        """Plain data for a file; rounded, so that equal votings give equal files."""
        return {
            "weights": {name: [value, round(weight, 6)] for name, (value, weight) in sorted(self.weights.items())},
            "further": self.further,
            "cap": self.cap,
        }

    @staticmethod
    def from_data(data: Mapping[str, Any], classes: Sequence[str]) -> Voting:
        """Read what ``as_data`` gave.

        Raises:
            InputError: not such data, or a number that is none.
        """
        try:
            weights = {str(name): (str(value), float(weight)) for name, (value, weight) in data["weights"].items()}
            further, cap = float(data["further"]), float(data["cap"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"no votes that can be read: {error!r}") from error
        numbers = [further, cap, *(weight for _, weight in weights.values())]
        if not np.isfinite(numbers).all() or min(numbers) < 0 or not {v for v, _ in weights.values()} <= set(classes):
            raise InputError("votes for unknown classes, or weights that are no numbers")
        return Voting(weights, further, cap)
