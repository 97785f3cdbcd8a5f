"""Scores of predicted labels, each with the interval that the data allow.

Key insight: every score here is a function of a confusion matrix, and the confusion matrix of a bootstrap sample is
the sum of the matrices of the groups drawn. So the matrix of each group is made once, a thousand samples are one
matrix product, and two models are compared on the *same* samples (paired), which removes the noise of which texts
were drawn.

Groups (threads, near-duplicates) are drawn whole: texts of one group are not independent. All functions are pure.
A prediction of ``None`` is an abstention; where it counts, it counts as a wrong answer that no class is charged with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Ints: TypeAlias = NDArray[np.int64]

SAMPLES = 2_000
"""Bootstrap samples: the ends of a 95 % interval are then stable to about a tenth of its width."""
LEVEL = 0.95
BINS = 10
KEPT_DRAWS = 4_000_000
"""Numbers that the draws of the bootstrap may take up in memory at once (32 MB)."""


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its percentile bootstrap interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Value and interval, as tables print them."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True)
class Bin:
    """One bar of a reliability diagram: answers whose confidence is in (low, high]."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


def confusion(truth: Sequence[str], predicted: Sequence[str | None], classes: Sequence[str]) -> Ints:
    """Count truth against prediction.

    Returns:
        int64 [classes, classes + 1]: rows truth, columns prediction, the last column the abstentions.

    Raises:
        InputError: lengths differ, or a label is none of ``classes``.
    """
    rows, columns = _codes(truth, classes), _codes(predicted, classes)
    _same_length(rows, columns)
    if (rows == len(classes)).any():
        raise InputError("a true label must be a class")
    matrix = np.zeros((len(classes), len(classes) + 1), dtype=np.int64)
    np.add.at(matrix, (rows, columns), 1)
    return matrix


def macro_f1(truth: Sequence[str], predicted: Sequence[str | None], classes: Sequence[str] | None = None) -> float:
    """Mean F1 of the classes that are true or predicted somewhere (of all ``classes`` seen, when not given).

    Raises:
        InputError: as ``confusion``.
    """
    names = _classes(truth, predicted, classes)
    return float(_macro_f1(confusion(truth, predicted, names)[None].astype(float))[0])


def accuracy(truth: Sequence[str], predicted: Sequence[str | None]) -> float:
    """Share of right answers, abstentions being wrong; 0 for no texts."""
    _same_length(truth, predicted)
    return sum(map(str.__eq__, truth, (p or "" for p in predicted))) / len(truth) if truth else 0.0


def macro_f1_interval(
    truth: Sequence[str],
    predicted: Sequence[str | None],
    groups: Sequence[Hashable],
    samples: int = SAMPLES,
    seed: int = 0,
) -> Interval:
    """Macro-F1 with its grouped bootstrap interval.

    Raises:
        InputError: lengths differ, no texts.
    """
    names = _classes(truth, predicted, None)
    matrices = _group_matrices(truth, predicted, groups, names)
    return _interval(_macro_f1(matrices.sum(axis=0)[None])[0], _macro_f1(_resampled(matrices, samples, seed)))


def paired_difference(
    truth: Sequence[str],
    one: Sequence[str | None],
    other: Sequence[str | None],
    groups: Sequence[Hashable],
    samples: int = SAMPLES,
    seed: int = 0,
    score: str = "macro_f1",
) -> Interval:
    """Score of ``one`` minus that of ``other``, with the paired grouped bootstrap interval.

    Args:
        truth: the class of each text.
        one: answers.
        other: other answers to the same texts.
        groups: texts of one group are drawn together.
        samples: bootstrap samples.
        seed: decides what is drawn.
        score: accuracy, kappa or macro_f1; for kappa an abstention is an answer of its own.

    Raises:
        InputError: lengths differ, no texts, or no such score.
    """
    if score not in _SCORES:
        raise InputError(f"no such score: {score} (known: {', '.join(_SCORES)})")
    of = _SCORES[score]
    names = _classes(truth, [*one, *other], None)
    first, second = (_group_matrices(truth, predicted, groups, names) for predicted in (one, other))
    point = of(first.sum(axis=0)[None])[0] - of(second.sum(axis=0)[None])[0]
    drawn = of(_resampled(first, samples, seed)) - of(_resampled(second, samples, seed))
    return _interval(point, drawn)


def kappa(
    one: Sequence[str], other: Sequence[str], groups: Sequence[Hashable], samples: int = SAMPLES, seed: int = 0
) -> Interval:
    """Cohen's kappa of two annotators with its grouped bootstrap interval.

    Where both always say the same single class there is no chance to correct for; that counts as 1 when they agree.

    Raises:
        InputError: lengths differ, no texts.
    """
    names = _classes(one, other, None)
    matrices = _group_matrices(one, other, groups, names)
    return _interval(_kappa(matrices.sum(axis=0)[None])[0], _kappa(_resampled(matrices, samples, seed)))


def reliability(confidence: Sequence[float], right: Sequence[bool], bins: int = BINS) -> list[Bin]:
    """Sort answers into bins of equal width by their confidence; empty bins are left out.

    Raises:
        InputError: lengths differ, or a confidence is no number of 0..1.
    """
    sure, hits = _confidences(confidence, right)
    number = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
    bars = []
    for place in range(bins):
        chosen = number == place
        if chosen.any():
            mean, share = float(sure[chosen].mean()), float(hits[chosen].mean())
            bars.append(Bin(place / bins, (place + 1) / bins, int(chosen.sum()), mean, share))
    return bars


def calibration_error(confidence: Sequence[float], right: Sequence[bool], bins: int = BINS) -> float:
    """Expected calibration error: the mean gap between confidence and accuracy over the bins, weighted by their size.

    Raises:
        InputError: as ``reliability``.
    """
    bars = reliability(confidence, right, bins)
    total = sum(bar.count for bar in bars)
    return sum(bar.count * abs(bar.confidence - bar.accuracy) for bar in bars) / total if total else 0.0


def _classes(truth: Sequence[str], predicted: Sequence[str | None], classes: Sequence[str] | None) -> list[str]:
    return list(classes) if classes is not None else sorted({name for name in (*truth, *predicted) if name is not None})


def _codes(labels: Sequence[str | None], classes: Sequence[str]) -> Ints:
    """Number the labels by their place in ``classes``; an abstention is ``len(classes)``."""
    place: dict[str | None, int] = {name: number for number, name in enumerate(classes)}
    place[None] = len(classes)
    unknown = {label for label in labels if label not in place}
    if unknown:
        raise InputError(f"no such class: {', '.join(sorted(map(repr, unknown)))}")
    return np.array([place[label] for label in labels], dtype=np.int64)


def _same_length(one: Sequence[object] | Ints, other: Sequence[object] | Ints) -> None:
    if len(one) != len(other):
        raise InputError(f"lengths differ: {len(one)} and {len(other)}")


def _group_matrices(
    truth: Sequence[str], predicted: Sequence[str | None], groups: Sequence[Hashable], classes: Sequence[str]
) -> Floats:
    """Make the confusion matrix of each group: float64 [groups, classes, classes + 1]."""
    rows, columns = _codes(truth, classes), _codes(predicted, classes)
    _same_length(rows, columns)
    _same_length(rows, groups)
    if not len(rows):
        raise InputError("there is nothing to score")
    numbers = join_groups(groups)
    matrices = np.zeros((int(numbers.max()) + 1, len(classes), len(classes) + 1))
    np.add.at(matrices, (numbers, rows, columns), 1)
    return matrices


def _resampled(matrices: Floats, samples: int, seed: int) -> Floats:
    """Draw as many groups as there are, with replacement, ``samples`` times: float64 [samples, ...], summed matrices.

    The same seed and number of groups draw the same groups: that is what makes a comparison paired.
    """
    count = len(matrices)
    flat = matrices.reshape(count, -1)
    if samples * count <= KEPT_DRAWS:
        summed: Floats = _drawn(count, samples, seed) @ flat
    else:  # the same draws, a part at a time
        random, part = np.random.default_rng(seed), max(1, KEPT_DRAWS // count)
        sizes = [min(part, samples - start) for start in range(0, samples, part)]
        summed = np.vstack([_draw(random, count, size) @ flat for size in sizes])
    return summed.reshape(samples, *matrices.shape[1:])


@lru_cache(maxsize=2)
def _drawn(count: int, samples: int, seed: int) -> Floats:
    """How often each group is drawn in each sample; all scores of one report are taken on these same samples."""
    return _draw(np.random.default_rng(seed), count, samples)


def _draw(random: np.random.Generator, count: int, samples: int) -> Floats:
    return random.multinomial(count, np.full(count, 1 / count), size=samples).astype(np.float64)


def _scores(matrices: Floats) -> tuple[Floats, Floats, Floats]:
    """Precision, recall and F1 of each class: float64 [samples, classes] each; undefined is 0."""
    hits = np.diagonal(matrices, axis1=1, axis2=2)
    support, answers = matrices.sum(axis=2), matrices.sum(axis=1)[:, : hits.shape[1]]
    precision = hits / np.maximum(answers, 1)
    recall = hits / np.maximum(support, 1)
    return precision, recall, 2 * hits / np.maximum(support + answers, 1)


def _macro_f1(matrices: Floats) -> Floats:
    """Mean F1 over the classes that occur (true or predicted) in each sample: float64 [samples]."""
    count = matrices.shape[1]
    occurs = (matrices.sum(axis=2) + matrices.sum(axis=1)[:, :count]) > 0
    mean: Floats = (_scores(matrices)[2] * occurs).sum(axis=1) / np.maximum(occurs.sum(axis=1), 1)
    return mean


def _accuracy(matrices: Floats) -> Floats:
    """Share of right answers in each sample: float64 [samples]."""
    right: Floats = np.trace(matrices, axis1=1, axis2=2) / np.maximum(matrices.sum(axis=(1, 2)), 1)
    return right


def _kappa(matrices: Floats) -> Floats:
    """Cohen's kappa in each sample: float64 [samples]."""
    total, classes = np.maximum(matrices.sum(axis=(1, 2)), 1), matrices.shape[1]
    agreed = np.trace(matrices, axis1=1, axis2=2) / total
    chance = (matrices.sum(axis=1)[:, :classes] * matrices.sum(axis=2)).sum(axis=1) / total**2
    possible = 1 - chance
    alike = possible < 1e-12
    return np.where(alike, 1.0, (agreed - chance) / np.where(alike, 1.0, possible))


_SCORES = {"accuracy": _accuracy, "kappa": _kappa, "macro_f1": _macro_f1}


def _interval(point: float, drawn: Floats) -> Interval:
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(point), float(low), float(high))


def _confidences(confidence: Sequence[float], right: Sequence[bool]) -> tuple[Floats, Floats]:
    _same_length(confidence, right)
    sure, hits = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not ((sure >= 0) & (sure <= 1)).all():
        raise InputError("a confidence must be a number from 0 to 1")
    return sure, hits
