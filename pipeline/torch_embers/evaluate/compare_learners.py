"""Learners compared on the same held-out texts, with grouped bootstrap intervals. Needs the extra `train`."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers import folders
from torch_embers.classify.embedding import embed
from torch_embers.classify.examples import BODIES, CHOSEN, TITLES, examples
from torch_embers.classify.questions import questions
from torch_embers.classify.train import LEAST_PER_CLASS, folds, grouped
from torch_embers.console import plain, stdout
from torch_embers.errors import InputError
from torch_embers.evaluate.learners import LEARNERS, Texts
from torch_embers.statistics.metrics import (
    Interval,
    accuracy,
    calibration_error,
    kappa,
    macro_f1_interval,
    paired_difference,
)
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from torch_embers.progress import Progress
    from torch_embers.store.store import Store

SCHEMES = ("bug_type", "memory_type", "consequence")
LEAST = 20
"""Labelled items, and of them on one sample, without which nothing is measured."""


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
class LearnerComparison:
    """What was compared, on what, and the scores."""

    task: str
    sample: str
    texts: int
    groups: int
    classes: dict[str, int]
    """Texts by class."""
    scores: tuple[Score, ...]


@dataclass(frozen=True)
class LearnerAnswers:
    """What a learner said of each text: class and probability."""

    learner: str
    said: NDArray[np.str_]
    sure: NDArray[np.float64]


def on_gold(store: Store, schemes: Sequence[str], progress: Progress) -> list[LearnerComparison]:
    """Compare the learners on the labelled items of a database and the drawn ones, by how the items were drawn.

    Raises:
        InputError: no gold labels, an unknown scheme, or too few labelled items.
        EmbersError: no database.
    """
    taxonomy = Taxonomy.load()
    wanted = tuple(dict.fromkeys(taxonomy.scheme(name).name for name in schemes)) or SCHEMES
    rows, links = examples(store)
    items, embedder = [row.item for row in rows], embed.load_embedder()
    titles = embedder.encode([item.text.title for item in items])
    texts = Texts(items, titles, embedder.encode([item.text.words for item in items]))
    groups = grouped(rows, links)
    found = []
    for question in questions(taxonomy):
        if question.name not in wanted:
            continue
        truth = {place: label for place, row in enumerate(rows) if (label := question.truth(row.gold)) is not None}
        labels = list(truth.values())
        places = np.array([place for place, label in truth.items() if labels.count(label) >= LEAST_PER_CLASS], np.int64)
        if len(places) < LEAST:
            continue
        own = np.array([truth[place] for place in places])
        progress.expects(len(LEARNERS) * len(places))
        answers = out_of_fold(texts.take(places), own, groups[places], progress.advanced)
        for sample in (CHOSEN, TITLES, BODIES):
            at = np.flatnonzero([rows[place].sample == sample for place in places])
            if len(at) >= LEAST:
                part = [LearnerAnswers(one.learner, one.said[at], one.sure[at]) for one in answers]
                found.append(report(question.name, sample, own[at].tolist(), groups[places][at].tolist(), part))
    if not found:
        raise InputError(f"too few labelled items in {', '.join(wanted)}: {LEAST} of one scheme are needed")
    return found


def out_of_fold(
    texts: Texts, labels: NDArray[np.str_], groups: NDArray[np.int64], advanced: Callable[[int], None]
) -> list[LearnerAnswers]:
    """The answers of all learners, each by one that saw neither the text nor its group."""
    splits = list(folds(labels, groups))
    found = []
    for name, learner in LEARNERS.items():
        said, sure = np.empty(len(labels), dtype=object), np.zeros(len(labels))
        for known, unseen in splits:
            classes, chances = learner(texts.take(known), labels[known], groups[known], texts.take(unseen))
            said[unseen], sure[unseen] = np.array(classes, dtype=object)[chances.argmax(axis=1)], chances.max(axis=1)
        advanced(len(labels))
        found.append(LearnerAnswers(name, said.astype(str), sure))
    return found


def report(
    task: str, sample: str, labels: Sequence[str], groups: Sequence[int], answers: Iterable[LearnerAnswers]
) -> LearnerComparison:
    """Score answers to the same texts."""
    truth, together, given = list(labels), list(groups), list(answers)
    scores = [_score(truth, together, one, given[-1] if one is not given[-1] else None) for one in given]
    return LearnerComparison(
        task, sample, len(truth), len(set(together)), dict(Counter(truth).most_common()), tuple(scores)
    )


def _score(truth: list[str], groups: list[int], one: LearnerAnswers, last: LearnerAnswers | None) -> Score:
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


def write_json(reports: Sequence[LearnerComparison], path: Path) -> None:
    """Write everything as JSON, one line a report, to four places: more than a score of some hundred texts has.

    Raises:
        InputError: the file cannot be written.
    """
    lines = [json.dumps(asdict(one)) for one in reports]
    rounded = [json.dumps(json.loads(line, parse_float=lambda number: round(float(number), 4))) for line in lines]
    folders.write(path, ('{"reports": [\n' + ",\n".join(rounded) + "\n]}\n").encode())


def print_reports(reports: Sequence[LearnerComparison]) -> None:
    """Print a table per scheme and sample."""
    out = stdout()
    for one in reports:
        best = one.scores[-1]
        out.print(
            f"{plain(one.task)}, {plain(one.sample)}: kappa {best.kappa.value:.3f} of {best.learner} "
            f"on {one.texts:,} texts in {one.groups:,} groups, {len(one.classes)} classes"
        )
        out.print(
            f"  {'learner':<10} {'accuracy':>8} {'kappa [95 %]':>22} {'macro-F1 [95 %]':>22} {'ECE':>6}  "
            f"behind {best.learner}"
        )
        for score in one.scores:
            behind = "" if score.ahead is None else f"{score.ahead}"
            line = f"  {score.learner:<10} {score.accuracy:>8.3f} {score.kappa!s:>22} {score.macro_f1!s:>22} "
            out.print(f"{line}{score.calibration_error:>6.3f}  {behind}", markup=False, no_wrap=True)
