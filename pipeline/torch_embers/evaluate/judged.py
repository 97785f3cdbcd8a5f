"""The classifier with the votes of labelling functions, as a learner of an evaluation.

It is trained as `embers classify --train` trains it on gold: what a function is worth is measured on the training half
alone, and inside it no item vouches for a function that then speaks of it. Items without gold teach nothing here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.judge import with_votes
from torch_embers.classify.labels.voting import Cast, Voting
from torch_embers.classify.learning.model import Settings
from torch_embers.evaluate.learners import Answers, fitted
from torch_embers.statistics.splits import grouped_folds, join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.labels.label_model import Gold
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.learning.features import Inputs

PLACE = "place"
"""Plane of the inputs that numbers the items, so that their votes are found again: float32 [items, 1]."""


@dataclass(frozen=True)
class Judged:
    """Text and votes together."""

    scheme: str
    values: Mapping[str, str]
    """Value of the scheme -> class that is told apart."""
    votes: Sequence[Sequence[WeakLabel]]
    """Of each item, by its number in the plane ``place``."""
    gold: Sequence[Gold]
    """All answers of gold for each item, also of parent schemes."""
    settings: Settings = field(default_factory=Settings)
    name: str = "hybrid+votes"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        """Fit on the training half, measure the functions on it, answer the test half."""
        model = fitted(self.settings, train, labels, groups)
        known = _places(train)
        splits = grouped_folds(labels, join_groups(groups).tolist(), self.settings.folds, self.settings.seed)

        def measured(chosen: NDArray[np.int64] | None) -> Voting:
            vouching: Any = known if chosen is None else known[chosen]
            said = {("", int(place)): self.votes[place] for place in vouching}
            gold = {("", int(place)): self.gold[place] for place in vouching}
            return Voting.measured(self.values, self.scheme, said, gold)

        judge, _ = with_votes(model, labels, self._cast(known), splits, measured)
        both = judge.combine(model.predict_proba(test), self._cast(_places(test)))
        return Answers(model.classes, both, judge.threshold)

    def _cast(self, places: NDArray[np.int64]) -> Cast:
        return Cast.of([self.votes[place] for place in places])


def _places(inputs: Inputs) -> NDArray[np.int64]:
    return np.asarray(inputs.planes[PLACE])[:, 0].astype(np.int64)
