"""The predictions of several classifiers on the same items, in one pass over the texts.

The classifiers of a bundle read the same texts with mostly the same terms. Their terms are counted together, and their
regressions stand side by side as columns of one matrix: two sparse products per kind of term, whatever the number of
schemes. The probabilities are those of each classifier alone, up to the order of additions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.learning.linear import softmax
from torch_embers.classify.learning.model import tempered
from torch_embers.classify.learning.ngrams import TermCounter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.learning.features import Inputs
    from torch_embers.classify.learning.linear import Floats, Linear
    from torch_embers.classify.learning.model import HybridClassifier, Prediction


@dataclass(frozen=True)
class _Side:
    """One regression over terms, and its place among the columns."""

    scheme: str
    member: Linear
    first: int
    last: int


class _Field:
    """All regressions over one field by one analyzer."""

    def __init__(self, field: str, analyzer: str, members: Sequence[tuple[str, Linear]]) -> None:
        self._field = field
        known = [member.vectorizer.learned for _, member in members if member.vectorizer is not None]
        terms = dict.fromkeys(term for learned in known for term in learned.terms)
        columns = {term: place for place, term in enumerate(terms)}
        self._count = TermCounter(analyzer, columns)
        width = sum(len(member.bias) for _, member in members)
        self._weights = np.zeros((len(columns), width))
        self._squares = np.zeros((len(columns), len(members)))
        self._sides: list[_Side] = []
        first = 0
        for place, ((scheme, member), learned) in enumerate(zip(members, known, strict=True)):
            rows = [columns[term] for term in learned.terms]
            last = first + len(member.bias)
            self._weights[rows, first:last] = member.weights.T * learned.idf[:, None]
            self._squares[rows, place] = learned.idf**2
            self._sides.append(_Side(scheme, member, first, last))
            first = last

    def votes(self, inputs: Inputs) -> list[tuple[str, Floats]]:
        """Probabilities float64 [items, classes] of each regression, with its scheme."""
        counts = self._count(inputs.fields[self._field])
        counts.data = 1.0 + np.log(counts.data)
        scores = counts @ self._weights
        counts.data **= 2
        lengths = np.sqrt(counts @ self._squares)
        lengths[lengths == 0] = 1.0
        return [
            (side.scheme, softmax(scores[:, side.first : side.last] / lengths[:, [place]] + side.member.bias))
            for place, side in enumerate(self._sides)
        ]


class Together:
    """Several fitted classifiers, ready for many batches of items."""

    def __init__(self, models: Mapping[str, HybridClassifier]) -> None:
        """Put the regressions of the classifiers side by side.

        Raises:
            InputError: one of them has not learned anything yet.
        """
        self._models = models
        found: dict[tuple[str, str], list[tuple[str, Linear]]] = {}
        self._planes: list[tuple[str, Linear]] = []
        for scheme, model in models.items():
            for member in model.members:
                if member.vectorizer is None:
                    self._planes.append((scheme, member))
                else:
                    found.setdefault((member.view.of, member.vectorizer.learned.analyzer), []).append((scheme, member))
        self._fields = [_Field(field, analyzer, members) for (field, analyzer), members in found.items()]

    def probabilities(self, inputs: Inputs) -> dict[str, Floats]:
        """Calibrated probabilities float64 [items, classes] by scheme, as ``HybridClassifier.predict_proba``.

        Raises:
            InputError: the items lack a text or vectors that a classifier looks at, or these are of another size.
        """
        for model in self._models.values():
            model.check(inputs)
        made = {
            scheme: np.full((len(inputs), len(model.classes)), 1 / len(model.classes))
            for scheme, model in self._models.items()
        }
        rows = np.flatnonzero(inputs.readable())
        if rows.size:
            for scheme, votes in self._votes(inputs.take(rows)).items():
                made[scheme][rows] = tempered(votes, self._models[scheme].temperature)
        return made

    def predict(self, inputs: Inputs) -> dict[str, list[Prediction]]:
        """Class or abstention of each item, by scheme, as ``HybridClassifier.predict``.

        Raises:
            InputError: as ``probabilities``.
        """
        readable = inputs.readable()
        return {
            scheme: self._models[scheme].decide(found, readable) for scheme, found in self.probabilities(inputs).items()
        }

    def _votes(self, inputs: Inputs) -> dict[str, Floats]:
        """Mean of the votes of all regressions of each classifier."""
        said: dict[str, list[Floats]] = {scheme: [] for scheme in self._models}
        for field in self._fields:
            for scheme, votes in field.votes(inputs):
                said[scheme].append(votes)
        for scheme, member in self._planes:
            said[scheme].append(member.votes(inputs))
        return {scheme: np.mean(votes, axis=0) for scheme, votes in said.items()}
