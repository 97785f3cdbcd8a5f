"""How sure a label is: from which probability on labels of a class were right often enough on two samples.

The samples were drawn in different ways (``examples.TITLES``, ``examples.BODIES``); each of their items is labelled by
models that saw neither it nor its group, all the way from text to label. A level needs, on **each** sample, enough
labels of the class at or above the cut, a share of right ones, and a lower bound of that share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.examples import BODIES, TITLES
from torch_embers.classify.features import legible
from torch_embers.classify.model import Cut, Measured
from torch_embers.statistics.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from torch_embers.classify.examples import Example
    from torch_embers.classify.model import Classifier

    Answers = Mapping[str, list[tuple[float, bool]]]

LEAST = 25
"""Labels of a class at or above the cut, on each sample."""
LEVELS = {"high": (0.9, 0.8), "medium": (0.7, 0.55)}
"""Share of right labels, and the least lower bound of its 90 % interval (Wilson), by confidence."""
CUTS = tuple(percent / 100 for percent in range(100, 29, -1))
"""Probabilities that are tried, from above."""


def cuts(
    classifier: Classifier, rows: Sequence[Example], probabilities: Mapping[str, NDArray[np.float64]]
) -> tuple[Cut, ...]:
    """The lowest cut of each class and level that holds on both samples, and at every higher cut with enough labels."""
    found = []
    for (scheme, value), answers in sorted(answered(classifier, rows, probabilities).items()):
        for level, (share, bound) in LEVELS.items():
            cut = _lowest(answers, share, bound)
            if cut is not None:
                measured = tuple(_measured(name, own, cut) for name, own in answers.items())
                found.append(Cut(scheme=scheme, value=value, confidence=level, probability=cut, measured=measured))
    return tuple(found)


def answered(
    classifier: Classifier, rows: Sequence[Example], probabilities: Mapping[str, NDArray[np.float64]]
) -> dict[tuple[str, str], dict[str, list[tuple[float, bool]]]]:
    """Labels of drawn items by scheme and class, then by sample: probability, and whether it is right."""
    aggregator = Aggregator(classifier)
    found: dict[tuple[str, str], dict[str, list[tuple[float, bool]]]] = {}
    for sample in (TITLES, BODIES):
        places = [place for place, row in enumerate(rows) if row.sample == sample]
        keys = [("", place) for place in places]  # probabilities are out of fold already
        own = {name: values[places] for name, values in probabilities.items()}
        readable = [legible(rows[place].item.text.title) for place in places]
        for label in aggregator.labels(keys, own, readable, {}):
            truth = rows[places[label.place]].gold.answers.get(label.scheme, frozenset())
            by_sample = found.setdefault((label.scheme, label.value), {TITLES: [], BODIES: []})
            by_sample[sample].append((label.probability, label.value in truth))
    return found


def _lowest(answers: Answers, share: float, bound: float) -> float | None:
    best = None
    for cut in CUTS:
        measured = [_measured(name, own, cut) for name, own in answers.items()]
        if any(one.items < LEAST for one in measured):
            continue
        if not all(
            one.right >= share * one.items and wilson(one.right, one.items, 0.9)[0] >= bound for one in measured
        ):
            break
        best = cut
    return best


def _measured(name: str, answers: Sequence[tuple[float, bool]], cut: float) -> Measured:
    own = [right for probability, right in answers if probability >= cut]
    return Measured(sample=name, items=len(own), right=sum(own))
