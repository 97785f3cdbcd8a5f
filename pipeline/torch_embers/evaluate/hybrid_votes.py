"""The classifier combined with the votes of labelling functions, as a learner of an evaluation.

It is trained as `embers classify --train` trains it on gold labels: the weights of the functions are estimated on the
training half alone, and there out of fold. Items without gold labels are not used here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.combiner import fit_combiner
from torch_embers.classify.labels.vote_weights import VoteMatrix, VoteWeights
from torch_embers.classify.learning.model import Settings
from torch_embers.evaluate.learners import LearnerOutput, fitted
from torch_embers.statistics.splits import grouped_folds, join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.labels.label_model import Gold
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.learning.features import Inputs

PLACE = "place"
"""Plane of the inputs that numbers the items, so that their votes can be looked up: float32 [items, 1]."""


@dataclass(frozen=True)
class HybridWithVotes:
    """Text and votes together."""

    scheme: str
    values: Mapping[str, str]
    """Value of the scheme -> class of the question."""
    votes: Sequence[Sequence[WeakLabel]]
    """Of each item, by its number in the plane ``place``."""
    gold: Sequence[Gold]
    """All gold answers for each item, also of parent schemes."""
    settings: Settings = field(default_factory=Settings)
    name: str = "hybrid+votes"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> LearnerOutput:
        """Fit on the training half, estimate the functions on it, answer the test half."""
        model = fitted(self.settings, train, labels, groups)
        places = _places(train)
        splits = grouped_folds(labels, join_groups(groups).tolist(), self.settings.folds, self.settings.seed)

        def estimate(rows: NDArray[np.int64] | None) -> VoteWeights:
            own: Any = places if rows is None else places[rows]
            votes = {("", int(place)): self.votes[place] for place in own}
            gold = {("", int(place)): self.gold[place] for place in own}
            return VoteWeights.estimate(self.values, self.scheme, votes, gold)

        combiner, _ = fit_combiner(model, labels, self._matrix(places), splits, estimate)
        probabilities = combiner.combine(model.predict_proba(test), self._matrix(_places(test)))
        return LearnerOutput(model.classes, probabilities, combiner.threshold)

    def _matrix(self, places: NDArray[np.int64]) -> VoteMatrix:
        return VoteMatrix.of([self.votes[place] for place in places])


def _places(inputs: Inputs) -> NDArray[np.int64]:
    return np.asarray(inputs.planes[PLACE])[:, 0].astype(np.int64)
