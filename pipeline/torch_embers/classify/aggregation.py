"""Aggregated labels: what classifiers, votes and runs say of a batch of items, brought to one row per label.

Parents are answered before their children, which are asked only under the likeliest class of their parent, and get no
answer where their parent has none. Where a run has shown a class, that is the answer. Where data/labelling.toml says
that votes decide (backends), the classes that they name are the answer, and the model suggests one for the other
items; where it says that they confirm (consequence), what a maintainers' label names and the model finds likely is
given. An item with gold labels gets the answer of a model that has not seen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torch_embers.classify.labels.weak import EXECUTION, LABEL, Labeller
from torch_embers.classify.learning.kept import ModelError
from torch_embers.classify.questions import NOT, questions
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from torch_embers.classify.bundle import Bundle
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question

    Floats = NDArray[np.float64]
    Key = tuple[str, int]

MODEL, OUT_OF_FOLD, ONLY_CLASS, BY_VOTES, WITH_VOTES = "model", "out_of_fold", "only_class", "votes", "+votes"


class Label(NamedTuple):
    """The answer to one question about one item."""

    place: int
    """Of the item in the batch."""
    scheme: str
    likeliest: str
    """The likeliest class."""
    probability: float
    given: bool
    """Whether that reaches the threshold, and nothing else speaks against it."""
    provenance: str

    @property
    def value(self) -> str | None:
        """The class that is given; ``None`` for an abstention."""
        return self.likeliest if self.given else None


class Aggregator:
    """Turns probabilities and votes into labels; made once per run.

    Raises:
        ModelError: the classifier was trained on another taxonomy, and answers with classes that this one lacks.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._taxonomy, self._labeller, self._classifiers = Taxonomy.load(), Labeller.load(), bundle.classifiers
        asked = {question.name: question for question in questions(self._taxonomy)}
        for name, one in bundle.classifiers.items():
            known = {*asked[name].classes, NOT} if name in asked else {NOT}
            if unknown := sorted(set(one.classes) - known):
                raise ModelError(
                    f"the classifier {bundle.name} answers {name} with {unknown[0]!r}, which the taxonomy has not: "
                    "train it again"
                )
        self._questions = [
            question
            for question in asked.values()
            if question.only or question.name in bundle.classifiers or self._votes_decide(question)
        ]
        self._known = {
            name: {(own.repo, own.number): own.probabilities for own in rows} for name, rows in bundle.held_out.items()
        }

    @property
    def schemes(self) -> list[str]:
        """Schemes that are answered, each once, parents first."""
        return list(dict.fromkeys(question.scheme for question in self._questions))

    def labels(
        self,
        keys: Sequence[Key],
        probabilities: Mapping[str, Floats],
        readable: NDArray[np.bool_],
        votes: Mapping[Key, Sequence[WeakLabel]],
    ) -> list[Label]:
        """The labels of a batch, item by item.

        Args:
            keys: (repo, number) of each item.
            probabilities: by question, the classifier's, float64 [items, classes].
            readable: bool [items]: the others get no label but by a run.
            votes: weak labels of the items.
        """
        modelled = {name: self._modelled(name, keys, said, votes) for name, said in probabilities.items()}
        found: list[Label] = []
        for place, key in enumerate(keys):
            answers = {name: rows[place] for name, rows in modelled.items()}
            found += self._of_item(place, answers if readable[place] else None, votes.get(key, ()))
        return found

    def _votes_decide(self, question: Question) -> bool:
        use = self._labeller.uses.get(question.scheme)
        return bool(question.member and use and use.decides)

    def _modelled(
        self, name: str, keys: Sequence[Key], said: Floats, votes: Mapping[Key, Sequence[WeakLabel]]
    ) -> list[Label]:
        """What the classifier says of each item, out of fold where it learned from the item."""
        classifier, known = self._classifiers[name], self._known.get(name, {})
        probabilities, hows = said.copy(), []
        for place, key in enumerate(keys):
            if (held_out := known.get(key)) is not None:
                probabilities[place] = held_out
            counted = any(vote.function in classifier.votes for vote in votes.get(key, ()))
            hows.append((MODEL if held_out is None else OUT_OF_FOLD) + (WITH_VOTES if counted else ""))
        answers = zip(*(column.tolist() for column in classifier.answers(probabilities)), hows, strict=True)
        scheme = name.partition(".")[0]
        return [
            Label(place, scheme, classifier.classes[best], highest, given, how)
            for place, (best, highest, given, how) in enumerate(answers)
        ]

    def _of_item(self, place: int, modelled: Mapping[str, Label] | None, votes: Sequence[WeakLabel]) -> list[Label]:
        """The labels of one item, from the model's answers by question; ``None`` where it cannot be read."""
        now = self._shown(place, votes)
        if modelled is None:
            return list(now.values())
        several: list[Label] = []
        decided = {name: self._decided(name, votes) for name, use in self._labeller.uses.items() if use.decides}
        for question in self._questions:
            parent = now.get(question.parent)
            if question.scheme in now or (question.parent and (parent is None or parent.likeliest != question.under)):
                continue
            if question.member and (named := decided.get(question.scheme)):
                if (accuracy := named.get(question.member)) is not None:
                    voted = Label(place, question.scheme, question.member, accuracy, given=True, provenance=BY_VOTES)
                    labelled = question.member in _named(question.scheme, votes)
                    several += [voted] if labelled else self._heard(voted, now)
                continue
            if question.only and parent is not None:
                found = parent._replace(scheme=question.scheme, likeliest=question.only, provenance=ONLY_CLASS)
            elif question.name in modelled:
                found = self._confirmed(modelled[question.name], votes, now)
            else:
                continue
            if parent is not None and not parent.given:
                found = found._replace(given=False)
            if not question.member:
                now[question.scheme] = found
            elif found.likeliest != NOT:
                several += self._heard(found, now)
        return [*several, *now.values()]

    def _shown(self, place: int, votes: Sequence[WeakLabel]) -> dict[str, Label]:
        """What runs showed, by scheme; the first class by precedence where they showed several."""
        found: dict[str, Label] = {}
        for name, scheme in self._taxonomy.schemes.items():
            shown = {vote.value for vote in votes if vote.kind == EXECUTION and vote.scheme == name}
            if shown:
                first = min(shown, key=scheme.names().index)
                sure = self._labeller.assumed[EXECUTION]
                found[name] = Label(place, name, first, sure, given=True, provenance=EXECUTION)
        return found

    def _decided(self, scheme: str, votes: Sequence[WeakLabel]) -> dict[str, float]:
        """The classes that deciding votes name, with their assumed accuracy."""
        use = self._labeller.uses[scheme]
        own = [vote for vote in votes if vote.scheme == scheme and vote.kind in use.decides]
        denied = {other for vote in own for other in use.excludes.get(vote.value, ())}
        found: dict[str, float] = {}
        for vote in own:
            if vote.value not in denied:
                found[vote.value] = max(self._labeller.assumed[vote.kind], found.get(vote.value, 0.0))
        return found

    def _confirmed(self, found: Label, votes: Sequence[WeakLabel], now: Mapping[str, Label]) -> Label:
        """Give what maintainers' labels name and the model says, too, where no other scheme speaks against it."""
        use = self._labeller.uses.get(found.scheme)
        if use is None or use.confirmed is None or found.probability < use.confirmed:
            return found
        same = _named(found.scheme, votes) == {found.likeliest} and not _under(use.silent_under, now)
        return found._replace(given=found.given or same)

    def _heard(self, found: Label, now: Mapping[str, Label]) -> list[Label]:
        """What is left beside the answers of other schemes of what words or the model say."""
        use = self._labeller.uses.get(found.scheme)
        if use is None:
            return [found]
        silent = _under(use.silent_under, now)
        if any(other.given for other in silent):
            return []
        suggested = use.suggested and found.provenance != BY_VOTES
        return [found._replace(given=found.given and not suggested and not silent)]


def _named(scheme: str, votes: Sequence[WeakLabel]) -> set[str]:
    """The classes that maintainers' labels name."""
    return {vote.value for vote in votes if vote.scheme == scheme and vote.kind == LABEL}


def _under(classes: Mapping[str, str], now: Mapping[str, Label]) -> list[Label]:
    """The answers to other schemes that are one of these classes."""
    return [now[scheme] for scheme, value in classes.items() if scheme in now and now[scheme].likeliest == value]
