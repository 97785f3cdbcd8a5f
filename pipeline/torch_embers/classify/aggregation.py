"""Labels: what the classifier and runs say of a batch of items, brought to one row per scheme that applies.

Parents are answered before their children, which are asked under the likeliest class of their parent; the probability
of a child's label is that of both. What a run showed is the answer, and it shows that the item reports a bug. Of an
item that reports none, nothing but that is said. An item with labels to learn from is answered by a model that has not
seen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_embers.classify.labels.weak import EXECUTION
from torch_embers.classify.model import LEVELS, ModelError
from torch_embers.classify.questions import NOT, questions
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.model import Classifier

    Floats = NDArray[np.float64]
    Key = tuple[str, int]

MODEL, OUT_OF_FOLD, ONLY_CLASS = "model", "out_of_fold", "only_class"
BUG_TYPE, NO_BUG = "bug_type", "not_a_bug"
"""The scheme and its class under which nothing else is asked."""


SHOWN = 0.999
"""Probability of what a run showed: it needs no interpretation, but the case itself may still be the wrong one."""


class Label(NamedTuple):
    """The class of an item in a scheme."""

    place: int
    """Of the item in the batch."""
    scheme: str
    value: str
    probability: float
    confidence: str
    """high, medium or low."""
    provenance: str


class Aggregator:
    """Turns probabilities and runs into labels; made once per run.

    Raises:
        ModelError: the classifier was trained on another taxonomy, and answers with classes that this one lacks.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier, self._taxonomy = classifier, Taxonomy.load()
        self._questions = questions(self._taxonomy)
        known = {question.name: {*question.classes, NOT} for question in self._questions}
        for name, one in classifier.about.questions.items():
            if unknown := sorted(set(one.classes) - known.get(name, set())):
                raise ModelError(
                    f"the classifier {classifier.about.name} answers {name} with {unknown[0]!r}, which is no class of "
                    "data/taxonomy.toml: train it again"
                )

    @property
    def schemes(self) -> list[str]:
        """Schemes that are answered, each once, parents first."""
        answered = self._classifier.about.questions
        return list(dict.fromkeys(one.scheme for one in self._questions if one.only or one.name in answered))

    def labels(
        self,
        keys: Sequence[Key],
        probabilities: Mapping[str, Floats],
        readable: Sequence[bool],
        votes: Mapping[Key, Sequence[WeakLabel]],
    ) -> list[Label]:
        """The labels of a batch, item by item.

        Args:
            keys: (repo, number) of each item.
            probabilities: by question, the classifier's, float64 [items, classes].
            readable: the others get no label but by a run.
            votes: weak labels of the items.
        """
        found: list[Label] = []
        for place, key in enumerate(keys):
            shown = self._shown(place, votes.get(key, ()))
            if not readable[place]:
                found += shown.values()
                continue
            said: dict[str, tuple[Sequence[float], str]] = {}
            for name, rows in probabilities.items():
                unseen = self._classifier.held_out(name, *key)
                said[name] = (rows[place].tolist(), MODEL) if unseen is None else (unseen, OUT_OF_FOLD)
            found += self._of_item(place, said, shown)
        return found

    def _of_item(
        self, place: int, said: Mapping[str, tuple[Sequence[float], str]], shown: dict[str, Label]
    ) -> list[Label]:
        """The labels of an item, from the probabilities of each question with their provenance."""
        now, several = dict(shown), []
        bug = 1.0
        for question in self._questions:
            scheme, parent = question.scheme, now.get(question.parent)
            if scheme in now or (question.parent and (parent is None or parent.value != question.under)):
                continue
            if question.only:
                found = self._label(place, scheme, question.only, 1.0, ONLY_CLASS)
            elif question.name in said:
                chances, how = said[question.name]
                classes = self._classifier.about.questions[question.name].classes
                if scheme == BUG_TYPE and NO_BUG in classes:
                    bug = 1.0 if shown else 1 - chances[classes.index(NO_BUG)]
                    if shown:
                        chances = [0.0 if name == NO_BUG else own for name, own in zip(classes, chances, strict=True)]
                        chances = [own / (sum(chances) or 1.0) for own in chances]
                best = max(range(len(classes)), key=chances.__getitem__)
                found = self._label(place, scheme, classes[best], chances[best], how)
            else:
                continue
            if parent is not None:
                found = self._label(
                    place, scheme, found.value, found.probability * parent.probability, found.provenance
                )
            elif scheme != BUG_TYPE:
                if now.get(BUG_TYPE, found).value == NO_BUG:
                    continue
                found = self._label(place, scheme, found.value, found.probability * bug, found.provenance)
            if not question.member:
                now[scheme] = found
            elif found.value != NOT:
                several.append(found)
        return [*now.values(), *several]

    def _label(self, place: int, scheme: str, value: str, probability: float, provenance: str) -> Label:
        return Label(
            place, scheme, value, probability, self._classifier.confidence(scheme, value, probability), provenance
        )

    def _shown(self, place: int, votes: Sequence[WeakLabel]) -> dict[str, Label]:
        """What runs showed, by scheme; the first class by precedence where they showed several."""
        found: dict[str, Label] = {}
        for name, scheme in self._taxonomy.schemes.items():
            shown = {vote.value for vote in votes if vote.kind == EXECUTION and vote.scheme == name}
            if shown:
                first = min(shown, key=scheme.names().index)
                found[name] = Label(place, name, first, SHOWN, LEVELS[-1], EXECUTION)
        return found
