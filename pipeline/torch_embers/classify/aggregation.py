"""Aggregated labels: what classifiers, votes and runs say of a batch of items, brought to one row per label.

Parents are answered before their children, which are asked only under the likeliest class of their parent, and get no
answer where their parent has none. Where a run has shown a class, that is the answer. Where data/labelling.toml says
that votes decide (backends), the classes that they name are the answer, and the model suggests one for the other
items; where it says that they confirm (consequence), what a maintainers' label names and the model finds likely is
given. An item with gold labels gets the answer of a model that has not seen it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from torch_embers.classify.labels.weak import EXECUTION, LABEL, Labeller
from torch_embers.classify.questions import NOT, questions
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.bundle import Bundle
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question

    Floats: TypeAlias = NDArray[np.float64]
    Names: TypeAlias = NDArray[np.object_]
    Rows: TypeAlias = NDArray[np.int64]
    Key: TypeAlias = tuple[str, int]

MODEL, OUT_OF_FOLD, ONLY_CLASS, BY_VOTES, WITH_VOTES = "model", "out_of_fold", "only_class", "votes", "+votes"
NONE = ""
"""Stands for no class: no class of the taxonomy can have this name."""


@dataclass(frozen=True)
class SchemeAnswers:
    """Answers to one question: arrays of one length."""

    rows: Rows
    """Places of the items in the batch."""
    best: Names
    """The likeliest class."""
    probability: Floats
    """Its probability."""
    given: NDArray[np.bool_]
    """Whether that reaches the threshold."""
    how: Names
    """Where it came from, as in ``predictions.provenance``."""


@dataclass
class AggregatedLabels:
    """Columns of the rows for a batch, as far as they follow from the answers."""

    place: list[int] = field(default_factory=list)
    """Of the item in the batch."""
    scheme: list[str] = field(default_factory=list)
    likeliest: list[str] = field(default_factory=list)
    probability: list[float] = field(default_factory=list)
    abstained: list[bool] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)

    def add(self, scheme: str, answers: SchemeAnswers) -> None:
        """Append the answers to a question; the answer no makes no row."""
        kept = np.flatnonzero((answers.best != NOT) & (answers.best != NONE))
        self.place += answers.rows[kept].tolist()
        self.scheme += [scheme] * len(kept)
        self.likeliest += answers.best[kept].tolist()
        self.probability += answers.probability[kept].tolist()
        self.abstained += (~answers.given[kept]).tolist()
        self.provenance += answers.how[kept].tolist()


class _Scheme:
    """The answers to one exclusive scheme so far, for every item of the batch."""

    def __init__(self, size: int) -> None:
        rows = np.arange(size)
        names = [np.full(size, NONE, dtype=object) for _ in range(2)]
        self.now = SchemeAnswers(rows, names[0], np.zeros(size), np.zeros(size, dtype=bool), names[1])

    def put(self, answers: SchemeAnswers) -> None:
        self.now.best[answers.rows], self.now.probability[answers.rows] = answers.best, answers.probability
        self.now.given[answers.rows], self.now.how[answers.rows] = answers.given, answers.how


class Aggregator:
    """Turns probabilities and votes into labels; made once per run."""

    def __init__(self, bundle: Bundle, taxonomy: Taxonomy | None = None, labeller: Labeller | None = None) -> None:
        self._taxonomy, self._labeller = taxonomy or Taxonomy.load(), labeller or Labeller.load()
        self._classifiers = bundle.classifiers
        self._deciding = {name: use.decides for name, use in self._labeller.uses.items() if use.decides}
        self._questions = [
            question
            for question in questions(self._taxonomy)
            if question.only or question.name in bundle.classifiers or question.scheme in self._deciding
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
    ) -> AggregatedLabels:
        """The labels of a batch.

        Args:
            keys: (repo, number) of each item.
            probabilities: by question, the classifier's, float64 [items, classes].
            readable: bool [items]: the others get no label but by a run.
            votes: weak labels of the items.
        """
        labels = AggregatedLabels()
        decided = {name: self._decided(name, keys, votes) for name in self._deciding}
        by_label = {name: _labelled(name, keys, votes) for name in self._deciding}
        schemes = {name: _Scheme(len(keys)) for name in self._taxonomy.schemes}
        for name, answered in schemes.items():
            self._run(name, answered, keys, votes)
        for question in self._questions:
            answered = schemes[question.scheme]
            rows = self._asked(question, schemes, readable & (answered.now.how != EXECUTION))
            if question.member and question.scheme in decided:
                named = decided[question.scheme]
                voted = self._voted(question, rows, named)
                exempt = [question.member in by_label[question.scheme].get(row, ()) for row in voted.rows.tolist()]
                labels.add(question.scheme, self._heard(question, voted, schemes, exempt))
                rows = np.array([row for row in rows.tolist() if row not in named], dtype=np.int64)
            if not rows.size or (not question.only and question.name not in self._classifiers):
                continue
            parent = schemes[question.parent].now if question.parent else None
            if question.only and parent is not None:
                found = _followed(question, parent, rows)
            else:
                found = self._modelled(question, keys, rows, probabilities[question.name], votes)
                found = self._confirmed(question, keys, found, votes, schemes)
            if parent is not None:
                found = replace(found, given=found.given & parent.given[rows])
            if question.member:
                labels.add(question.scheme, self._heard(question, found, schemes))
            else:
                answered.put(found)
        for scheme, answered in schemes.items():
            labels.add(scheme, answered.now)
        return labels

    def _asked(self, question: Question, schemes: Mapping[str, _Scheme], open_: NDArray[np.bool_]) -> Rows:
        """The items that the question is asked of."""
        if not question.parent:
            return np.flatnonzero(open_)
        return np.flatnonzero(open_ & (schemes[question.parent].now.best == question.under))

    def _modelled(
        self,
        question: Question,
        keys: Sequence[Key],
        rows: Rows,
        said: Floats,
        votes: Mapping[Key, Sequence[WeakLabel]],
    ) -> SchemeAnswers:
        """What the classifier says, out of fold where it learned from the item."""
        classifier, known = self._classifiers[question.name], self._known.get(question.name, {})
        probabilities = said[rows].copy()
        how = np.full(len(rows), MODEL, dtype=object)
        for at, row in enumerate(rows.tolist()):
            if (held_out := known.get(keys[row])) is not None:
                probabilities[at], how[at] = held_out, OUT_OF_FOLD
            if any(vote.function in classifier.votes for vote in votes.get(keys[row], ())):
                how[at] += WITH_VOTES
        best, highest, given = classifier.answers(probabilities)
        return SchemeAnswers(rows, np.array(classifier.classes, dtype=object)[best], highest, given, how)

    def _confirmed(
        self,
        question: Question,
        keys: Sequence[Key],
        found: SchemeAnswers,
        votes: Mapping[Key, Sequence[WeakLabel]],
        schemes: Mapping[str, _Scheme],
    ) -> SchemeAnswers:
        """Give what maintainers' labels name and the model says, too, where no other scheme speaks against it."""
        use = self._labeller.uses.get(question.scheme)
        if use is None or use.confirmed is None:
            return found
        named = _labelled(question.scheme, [keys[row] for row in found.rows.tolist()], votes)
        same = np.array([named[at] == {value} for at, value in enumerate(found.best)], dtype=bool)
        for scheme, value in use.silent_under.items():
            same &= schemes[scheme].now.best[found.rows] != value
        return replace(found, given=found.given | (same & (found.probability >= use.confirmed)))

    def _decided(
        self, scheme: str, keys: Sequence[Key], votes: Mapping[Key, Sequence[WeakLabel]]
    ) -> dict[int, dict[str, float]]:
        """The classes that deciding votes name, with their assumed accuracy, by place of the item."""
        use = self._labeller.uses[scheme]
        found: dict[int, dict[str, float]] = {}
        for place, key in enumerate(keys):
            own = [vote for vote in votes.get(key, ()) if vote.scheme == scheme and vote.kind in use.decides]
            named = {vote.value for vote in own}
            denied = {other for value in named for other in use.excludes.get(value, ())}
            kept = [vote for vote in own if vote.value not in denied]
            for vote in kept:
                accuracy = max(self._labeller.assumed[vote.kind], found.get(place, {}).get(vote.value, 0.0))
                found.setdefault(place, {})[vote.value] = accuracy
        return found

    def _voted(self, question: Question, rows: Rows, named: Mapping[int, Mapping[str, float]]) -> SchemeAnswers:
        """The answer yes where deciding votes name the question's class."""
        own = [row for row in rows.tolist() if question.member in named.get(row, {})]
        probability = np.array([named[row][question.member] for row in own], dtype=np.float64)
        best, how = np.full(len(own), question.member, dtype=object), np.full(len(own), BY_VOTES, dtype=object)
        return SchemeAnswers(np.array(own, dtype=np.int64), best, probability, np.ones(len(own), dtype=bool), how)

    def _heard(
        self,
        question: Question,
        found: SchemeAnswers,
        schemes: Mapping[str, _Scheme],
        exempt: Sequence[bool] | None = None,
    ) -> SchemeAnswers:
        """The answers that are left beside those of other schemes.

        Args:
            question: what is asked.
            found: what votes or, without ``exempt``, the model answers to it.
            schemes: the answers so far.
            exempt: whether a maintainers' label says so.
        """
        use = self._labeller.uses.get(question.scheme)
        if use is None:
            return found
        given, kept = found.given & (exempt is not None or not use.suggested), np.ones(len(found.rows), dtype=bool)
        free = np.zeros(len(found.rows), dtype=bool) if exempt is None else np.array(exempt, dtype=bool)
        for scheme, value in use.silent_under.items():
            other = schemes[scheme].now
            under = (other.best[found.rows] == value) & ~free
            given, kept = given & ~under, kept & ~(under & other.given[found.rows])
        return SchemeAnswers(found.rows[kept], found.best[kept], found.probability[kept], given[kept], found.how[kept])

    def _run(
        self, scheme: str, answered: _Scheme, keys: Sequence[Key], votes: Mapping[Key, Sequence[WeakLabel]]
    ) -> None:
        """Enter what runs showed; the first class by precedence where they showed several."""
        order = self._taxonomy.scheme(scheme).names()
        shown = {
            place: min(values, key=order.index)
            for place, key in enumerate(keys)
            if (values := [v.value for v in votes.get(key, ()) if v.kind == EXECUTION and v.scheme == scheme])
        }
        rows, count = np.array(list(shown), dtype=np.int64), len(shown)
        probability, given = np.full(count, self._labeller.assumed[EXECUTION]), np.ones(count, dtype=bool)
        how = np.full(count, EXECUTION, dtype=object)
        answered.put(SchemeAnswers(rows, np.array(list(shown.values()), dtype=object), probability, given, how))


def _labelled(scheme: str, keys: Sequence[Key], votes: Mapping[Key, Sequence[WeakLabel]]) -> dict[int, set[str]]:
    """The classes that maintainers' labels name, by place of the item."""
    return {
        place: {vote.value for vote in votes.get(key, ()) if vote.scheme == scheme and vote.kind == LABEL}
        for place, key in enumerate(keys)
    }


def _followed(question: Question, parent: SchemeAnswers, rows: Rows) -> SchemeAnswers:
    """The one class that the parent's class leaves, as probability as that is."""
    best, how = np.full(len(rows), question.only, dtype=object), np.full(len(rows), ONLY_CLASS, dtype=object)
    return SchemeAnswers(rows, best, parent.probability[rows], parent.given[rows], how)
