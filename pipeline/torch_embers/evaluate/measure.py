"""Scores of learners on the same held-out texts, with grouped bootstrap intervals."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.train import folds
from torch_embers.evaluate.learners import LEARNERS
from torch_embers.statistics.metrics import (
    Interval,
    accuracy,
    calibration_error,
    kappa,
    macro_f1_interval,
    paired_difference,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from torch_embers.evaluate.learners import Texts


@dataclass(frozen=True)
class Score:
    """One row: a learner on a sample."""

    learner: str
    accuracy: float
    kappa: Interval
    macro_f1: Interval
    calibration_error: float
    ahead: Interval | None
    """Kappa of the last learner minus that of this one, paired; None for the last."""


@dataclass(frozen=True)
class Report:
    """What was compared, on what, and the scores."""

    task: str
    sample: str
    texts: int
    groups: int
    classes: dict[str, int]
    """Texts by class."""
    scores: tuple[Score, ...]

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Answers:
    """What a learner said of each text: class and probability."""

    learner: str
    said: NDArray[np.str_]
    sure: NDArray[np.float64]


def out_of_fold(
    texts: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], advanced: Callable[[int], None]
) -> list[Answers]:
    """The answers of all learners, each by one that saw neither the text nor its group."""
    splits = list(folds(labels, groups))
    found = []
    for name, learner in LEARNERS.items():
        said, sure = np.empty(len(labels), dtype=object), np.zeros(len(labels))
        for known, unseen in splits:
            classes, chances = learner(texts.take(known), labels[known], groups[known], texts.take(unseen))
            said[unseen], sure[unseen] = np.array(classes, dtype=object)[chances.argmax(axis=1)], chances.max(axis=1)
        advanced(len(labels))
        found.append(Answers(name, said.astype(str), sure))
    return found


def report(task: str, sample: str, labels: Sequence[str], groups: Sequence[int], answers: Iterable[Answers]) -> Report:
    """Score answers to the same texts."""
    truth, together, given = list(labels), list(groups), list(answers)
    scores = [_score(truth, together, one, given[-1] if one is not given[-1] else None) for one in given]
    return Report(task, sample, len(truth), len(set(together)), dict(Counter(truth).most_common()), tuple(scores))


def _score(truth: list[str], groups: list[int], one: Answers, last: Answers | None) -> Score:
    said = one.said.tolist()
    right = [label == own for label, own in zip(truth, said, strict=True)]
    ahead = None if last is None else paired_difference(truth, last.said.tolist(), said, groups, score="kappa")
    sure = np.minimum(one.sure, 1.0).tolist()
    return Score(
        one.learner,
        accuracy(truth, said),
        kappa(truth, said, groups),
        macro_f1_interval(truth, said, groups),
        calibration_error(sure, right),
        ahead,
    )
