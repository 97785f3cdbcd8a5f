"""Compare learners on the same held-out texts, with intervals.

Each report holds, for the same texts and the same splits, the majority class and TF-IDF with logistic regression beside
the model, every score with its grouped bootstrap interval, and the paired difference to the baselines. Learners see
only the training half of a split.

Pure, apart from the processes that ``jobs`` asks for. Embedding is done by the caller.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pandas as pd

from torch_embers.classify.learning.folds import grouped_folds
from torch_embers.errors import InputError
from torch_embers.statistics.metrics import (
    Bin,
    ClassScore,
    Coverage,
    Interval,
    accuracy,
    calibration_error,
    confusion,
    coverage_curve,
    macro_f1_interval,
    paired_difference,
    per_class,
    reliability,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.evaluate.learners import Learner, LearnerOutput
    from torch_embers.statistics.splits import Split

CURVE_POINTS = 50
"""Points of a coverage curve that a report keeps."""


@dataclass(frozen=True)
class LearnerAnswers:
    """The answers of one learner on every text that was in a test half, in the order of the texts."""

    name: str
    rows: NDArray[np.int64]
    predicted: tuple[str, ...]
    confidence: tuple[float, ...]
    answered: tuple[bool, ...]


@dataclass(frozen=True)
class Score:
    """One row of the table: a learner with everything measured of it."""

    name: str
    macro_f1: Interval
    accuracy: float
    calibration_error: float
    coverage: float
    """Share of texts it did not abstain on."""
    precision: float | None
    """Share of right answers among those; ``None`` when it always abstained."""
    differences: Mapping[str, Interval]
    """Macro-F1 of this learner minus that of another one, by its name, paired on the same bootstrap samples."""
    classes: tuple[ClassScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Rows truth, columns prediction, in the order of ``Report.classes``."""
    reliability: tuple[Bin, ...]
    curve: tuple[Coverage, ...]


@dataclass(frozen=True)
class Report:
    """What was compared, on what, and the scores."""

    task: str
    texts: int
    groups: int
    classes: Mapping[str, int]
    """Number of texts per class."""
    scores: tuple[Score, ...]
    notes: tuple[str, ...] = ()
    rounds: float = 1
    """Answers per text: more than one in repeated cross-validation. Counts in ``scores`` are of answers."""

    def score(self, name: str) -> Score:
        """Return one row.

        Raises:
            InputError: no such learner in this report.
        """
        for score in self.scores:
            if score.name == name:
                return score
        raise InputError(f"nothing called {name!r} was evaluated")

    def table(self) -> pd.DataFrame:
        """One row per learner, values rounded for reading."""
        rows = [
            {
                "learner": score.name,
                "macro-F1 [95 %]": str(score.macro_f1),
                "accuracy": round(score.accuracy, 3),
                "ECE": round(score.calibration_error, 3),
                "coverage": round(score.coverage, 3),
                "precision": None if score.precision is None else round(score.precision, 3),
            }
            for score in self.scores
        ]
        return pd.DataFrame(rows)

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return asdict(self)


def held_out(
    learner: Learner, inputs: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], splits: Sequence[Split]
) -> LearnerAnswers:
    """Let a learner answer the test half of each split, having seen only its training half.

    Raises:
        InputError: a text is in two test halves.
    """
    _check_disjoint(splits)
    return _joined(learner.name, splits, [_answers([learner], inputs, labels, groups, split)[0] for split in splits])


def compare(
    task: str,
    inputs: pd.DataFrame,
    labels: Sequence[str],
    groups: Sequence[Hashable],
    learners: Sequence[Learner],
    splits: Sequence[Split] | None = None,
    notes: Iterable[str] = (),
    *,
    repeats: int = 1,
    jobs: int = 1,
    advanced: Callable[[int], None] | None = None,
) -> Report:
    """Score learners on the same held-out texts; each is compared with all those before it.

    Args:
        task: what is predicted; the report's heading.
        inputs: the items, a table of ``classify.learning.features.table``.
        labels: their classes.
        groups: what must stay together, also in the bootstrap.
        learners: baselines first.
        splits: disjoint test halves; grouped folds when not given.
        notes: what the reader must know.
        repeats: how often to repeat cross-validation with reshuffled folds. The assignment to folds alone moves a score
            by some points; each text is then answered that often, and all its answers count as of its group.
        jobs: processes that work side by side; the result is the same.
        advanced: called with the number of texts just answered (each learner answers each text).

    Raises:
        InputError: lengths differ, or there is too little to split.
    """
    if not len(inputs) == len(labels) == len(groups):
        raise InputError(f"{len(inputs)} texts, {len(labels)} labels and {len(groups)} groups do not go together")
    rounds = [list(splits)] if splits is not None else [grouped_folds(labels, groups, seed=n) for n in range(repeats)]
    for made in rounds:
        _check_disjoint(made)
    todo = [split for made in rounds for split in made]
    found: dict[tuple[str, int], LearnerOutput] = {}
    for split, answers in zip(todo, _worked(todo, learners, inputs, labels, groups, jobs), strict=True):
        for learner, said in zip(learners, answers, strict=True):
            found[learner.name, id(split)] = said
        if advanced is not None:
            advanced(len(learners) * len(split.test))
    held = [
        _together([_joined(one.name, made, [found[one.name, id(split)] for split in made]) for made in rounds])
        for one in learners
    ]
    return score_held_out(task, labels, groups, held, notes)


def _worked(
    todo: Sequence[Split],
    learners: Sequence[Learner],
    inputs: pd.DataFrame,
    labels: Sequence[str],
    groups: Sequence[Hashable],
    jobs: int,
) -> Iterable[list[LearnerOutput]]:
    """The answers of all learners to each split, in the order of the splits."""
    if jobs <= 1 or len(todo) == 1:
        return (_answers(learners, inputs, labels, groups, split) for split in todo)
    work = (joblib.delayed(_answers)(learners, inputs, labels, groups, split) for split in todo)
    found: Iterable[list[LearnerOutput]] = joblib.Parallel(n_jobs=jobs, return_as="generator")(work)
    return found


def _answers(
    learners: Sequence[Learner], inputs: pd.DataFrame, labels: Sequence[str], groups: Sequence[Hashable], split: Split
) -> list[LearnerOutput]:
    """What each learner says of the test half."""
    known = [labels[row] for row in split.train]
    together = [groups[row] for row in split.train]
    train, test = inputs.iloc[split.train], inputs.iloc[split.test]
    return [learner.answer(train, known, together, test) for learner in learners]


def _check_disjoint(splits: Sequence[Split]) -> None:
    rows = np.concatenate([split.test for split in splits])
    if len(np.unique(rows)) != len(rows):
        raise InputError("a text is in two test halves: score repeated splits one by one")


def _joined(name: str, splits: Sequence[Split], answers: Sequence[LearnerOutput]) -> LearnerAnswers:
    """The answers to all test halves, in the order of the texts."""
    found: dict[int, tuple[str, float, bool]] = {}
    for split, said in zip(splits, answers, strict=True):
        for row, probabilities in zip(split.test.tolist(), said.probabilities, strict=True):
            sure = min(1.0, float(probabilities.max()))
            found[row] = (said.classes[int(probabilities.argmax())], sure, sure >= said.threshold)
    ordered = sorted(found)
    predicted, confidence, answered = zip(*(found[row] for row in ordered), strict=True)
    return LearnerAnswers(name, np.array(ordered, dtype=np.int64), predicted, confidence, answered)


def _together(rounds: Sequence[LearnerAnswers]) -> LearnerAnswers:
    """All answers of several rounds; a text stands as often as it was answered."""
    return LearnerAnswers(
        rounds[0].name,
        np.concatenate([one.rows for one in rounds]),
        tuple(said for one in rounds for said in one.predicted),
        tuple(sure for one in rounds for sure in one.confidence),
        tuple(answered for one in rounds for answered in one.answered),
    )


def score_held_out(
    task: str,
    labels: Sequence[str],
    groups: Sequence[Hashable],
    answers: Sequence[LearnerAnswers],
    notes: Iterable[str] = (),
) -> Report:
    """Score answers that were given before; all must be of the same texts.

    Raises:
        InputError: no answers, or of different texts.
    """
    if not answers or any(not np.array_equal(one.rows, answers[0].rows) for one in answers):
        raise InputError("answers of the same texts are needed to compare learners")
    rows = answers[0].rows.tolist()
    truth, together = [labels[row] for row in rows], [groups[row] for row in rows]
    names = sorted({*truth, *(label for one in answers for label in one.predicted)})
    scores = tuple(_score(truth, together, names, one, answers[:place]) for place, one in enumerate(answers))
    counted = Counter(labels[row] for row in set(rows))
    counts = {name: counted[name] for name in names}
    return Report(task, len(set(rows)), len(set(together)), counts, scores, tuple(notes), len(rows) / len(set(rows)))


def _score(
    truth: list[str], groups: list[Hashable], names: list[str], one: LearnerAnswers, earlier: Sequence[LearnerAnswers]
) -> Score:
    right = [label == said for label, said in zip(truth, one.predicted, strict=True)]
    answered = [hit for hit, said in zip(right, one.answered, strict=True) if said]
    matrix = confusion(truth, one.predicted, names)[:, :-1]
    return Score(
        name=one.name,
        macro_f1=macro_f1_interval(truth, one.predicted, groups),
        accuracy=accuracy(truth, one.predicted),
        calibration_error=calibration_error(one.confidence, right),
        coverage=len(answered) / len(right),
        precision=sum(answered) / len(answered) if answered else None,
        differences={other.name: paired_difference(truth, one.predicted, other.predicted, groups) for other in earlier},
        classes=tuple(per_class(truth, one.predicted, groups, names)),
        confusion=tuple(tuple(int(cell) for cell in row) for row in matrix),
        reliability=tuple(reliability(one.confidence, right)),
        curve=_thinned(coverage_curve(one.confidence, right)),
    )


def _thinned(curve: list[Coverage]) -> tuple[Coverage, ...]:
    step = max(1, math.ceil(len(curve) / CURVE_POINTS))
    return tuple(curve[place] for place in range(len(curve)) if place % step == 0 or place == len(curve) - 1)
