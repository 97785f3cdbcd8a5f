"""How good the classifier's labels are on this database: compared with gold labels that it was not trained on. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.report.source import Key, Row

LEFT_OUT = "out_of_fold"
"""How the provenance of a label begins whose model was trained without the item."""


@dataclass(frozen=True, slots=True)
class Share:
    """k of n with the interval of the share (Wilson, 95 %)."""

    k: int
    n: int

    @property
    def text(self) -> str:
        """As people read it."""
        if not self.n:
            return "no items"
        low, high = wilson(self.k, self.n)
        return f"{self.k / self.n:.2f} ({low:.2f} to {high:.2f}), {self.k}/{self.n}"


@dataclass(frozen=True, slots=True)
class Measured:
    """A scheme, or one class of it.

    Attributes:
        precision: of the labels given, those that an annotator gave, too.
        recall: of the items that annotators gave the class, those that the classifier gave it, too.
    """

    name: str
    precision: Share
    recall: Share


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One scheme.

    Attributes:
        items: with a gold label and a label that was made without them.
        precision: of them, those that an annotator labelled alike.
        sure: the same, of the labels with high confidence.
    """

    scheme: str
    items: int
    precision: Share
    sure: Share
    classes: Sequence[Measured]


def evaluations(gold: Iterable[Row], predictions: Iterable[Row]) -> list[Evaluation]:
    """All schemes in which an item has at most one class."""
    values: dict[tuple[str, Key], set[str]] = defaultdict(set)
    for row in gold:
        values[row["scheme"], (row["repo"], row["number"])].add(row["value"])
    given: dict[str, dict[Key, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in predictions:
        key = (row["repo"], row["number"])
        if (row["provenance"] or "").startswith(LEFT_OUT) and (row["scheme"], key) in values:
            given[row["scheme"]][key].append(row)
    return [
        _evaluation(scheme, {key: (labels[0], values[scheme, key]) for key, labels in items.items()})
        for scheme, items in sorted(given.items())
        if all(len(labels) == 1 for labels in items.values())
    ]


def _evaluation(scheme: str, pairs: dict[Key, tuple[Row, set[str]]]) -> Evaluation:
    labelled = [(row["value"], truth, row["confidence"] == "high") for row, truth in pairs.values()]
    right = Counter(label for label, truth, _ in labelled if label in truth)
    total = Counter(label for label, _, _ in labelled)
    true = Counter(value for _, truth in pairs.values() for value in truth)
    classes = [
        Measured(name, Share(right[name], total[name]), Share(right[name], true[name]))
        for name in sorted(true, key=lambda name: (-true[name], name))
    ]
    sure = [label in truth for label, truth, is_sure in labelled if is_sure]
    precision, high = Share(right.total(), len(labelled)), Share(sum(sure), len(sure))
    return Evaluation(scheme, len(pairs), precision, high, classes)
