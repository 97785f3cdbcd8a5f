"""How far annotators agree: Cohen's kappa of every two of them, and Krippendorff's alpha of all of them.

Kappa wants two annotators and the items that both labelled. Alpha takes any
number of annotators with gaps, so that a scheme gets one number. Both are 1 for full agreement and 0 for what chance
gives. Between automated annotators that follow the same written rules they say how clear the rules are, not how right
the labels.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from torch_embers.statistics.insufficient import InsufficientData
from torch_embers.statistics.metrics import Interval, kappa

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

SAMPLES = 2_000
LEAST_SHARED = 10
"""Items that two annotators must share before their agreement says anything."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Cohen's kappa of two annotators on the items that both labelled."""

    scheme: str
    one: str
    """Kind and name, as ``automated:embers-guide-1``."""
    other: str
    kappa: Interval
    items: int
    same: int
    """Items to which both gave the same class."""


def between(labelled: Iterable[tuple[str, str, Hashable, str]], least: int = LEAST_SHARED) -> list[Agreement]:
    """Agreement of every two annotators that share at least ``least`` items of a scheme.

    Args:
        labelled: scheme, annotator, item, value.
        least: fewer shared items than this say nothing.
    """
    known: dict[tuple[str, str], dict[Hashable, str]] = {}
    for scheme, annotator, item, value in labelled:
        known.setdefault((scheme, annotator), {})[item] = value
    agreements = []
    for (one_scheme, one), (other_scheme, other) in combinations(sorted(known), 2):
        first, second = known[one_scheme, one], known[other_scheme, other]
        both = [item for item in first if item in second]
        if one_scheme == other_scheme and len(both) >= max(1, least):
            chance_free = kappa([first[item] for item in both], [second[item] for item in both], both)
            same = sum(first[item] == second[item] for item in both)
            agreements.append(Agreement(one_scheme, one, other, chance_free, len(both), same))
    return agreements


@dataclass(frozen=True, slots=True)
class Agreed:
    """The agreement on one scheme."""

    scheme: str
    annotators: tuple[str, ...]
    items: int
    """Items that two or more annotators labelled."""
    pairs: tuple[Agreement, ...]
    """Kappa of every two annotators that share enough items."""
    alpha: Interval | InsufficientData
    """Of all annotators; where there are two without gaps it is close to kappa."""


def by_scheme(
    labelled: Iterable[tuple[str, str, Hashable, str]],
    *,
    least: int = LEAST_SHARED,
    samples: int = SAMPLES,
    seed: int = 0,
) -> tuple[Agreed, ...]:
    """Agreement on each scheme, in the order of their names.

    Args:
        labelled: scheme, annotator, item, value.
        least: fewer shared items than this are refused.
        samples: of the bootstrap.
        seed: of its draws.
    """
    rows = list(labelled)
    pairs = between(rows, least)
    schemes = []
    for scheme in sorted({row[0] for row in rows}):
        own = [(annotator, item, value) for of, annotator, item, value in rows if of == scheme]
        items = len(_units(own))
        schemes.append(
            Agreed(
                scheme,
                tuple(sorted({annotator for annotator, _, _ in own})),
                items,
                tuple(pair for pair in pairs if pair.scheme == scheme),
                alpha(own, least=least, samples=samples, seed=seed),
            )
        )
    return tuple(schemes)


def alpha(
    labelled: Iterable[tuple[str, Hashable, str]],
    *,
    least: int = LEAST_SHARED,
    confidence: float = 0.95,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Interval | InsufficientData:
    """Krippendorff's alpha for nominal labels, with a percentile bootstrap interval over items.

    Any number of annotators; an item counts with the labels that it has, and not at all with one label
    (K. Krippendorff, Content Analysis, 2004, chapter 11). Where all labels are the same class there is no chance to
    correct for: refused.

    Args:
        labelled: annotator, item, value. The last value of an annotator for an item counts.
        least: fewer items with two labels than this are refused.
        confidence: between 0 and 1.
        samples: of the bootstrap.
        seed: of its draws.
    """
    units = _units(labelled)
    if len(units) < max(1, least):
        return InsufficientData(f"{len(units)} items with two or more labels, {max(1, least)} are needed")
    values = sorted({value for labels in units.values() for value in labels.values()})
    if len(values) < 2:
        return InsufficientData("all labels are the same class")
    counts = np.array([[list(labels.values()).count(value) for value in values] for labels in units.values()])
    made = _sums(counts.astype(np.float64))
    weights = np.random.default_rng(seed).multinomial(len(made), np.full(len(made), 1 / len(made)), size=samples)
    drawn = _alpha(weights @ made)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(_alpha(made.sum(axis=0)[None])[0]), float(low), float(high))


def _units(labelled: Iterable[tuple[str, Hashable, str]]) -> Mapping[Hashable, Mapping[str, str]]:
    """The labels of each item that has two or more, by annotator."""
    labels_of: dict[Hashable, dict[str, str]] = defaultdict(dict)
    for annotator, item, value in labelled:
        labels_of[item][annotator] = value
    return {item: labels for item, labels in labels_of.items() if len(labels) > 1}


def _sums(counts: Floats) -> Floats:
    """What alpha needs of each item, so that samples are sums: [items, 1 + values].

    First the pairs of unlike labels, each item weighing as many labels as it has; then its labels by value.
    """
    labels = counts.sum(axis=1)
    unlike = (labels**2 - (counts**2).sum(axis=1)) / (labels - 1)
    return np.column_stack([unlike, counts])


def _alpha(sums: Floats) -> Floats:
    """1 - observed / expected disagreement, for each row; 1 where a sample holds one class only."""
    unlike, counts = sums[:, 0], sums[:, 1:]
    total = counts.sum(axis=1)
    expected = (total**2 - (counts**2).sum(axis=1)) / (total - 1)
    one_class = expected < 1e-12
    return np.where(one_class, 1.0, 1 - unlike / np.where(one_class, 1.0, expected))
