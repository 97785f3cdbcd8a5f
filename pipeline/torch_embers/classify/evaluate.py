"""Compare learners on the same held-out texts, and say what may be concluded.

Key insight: a score alone says little. So each report holds, for the same texts and the same splits, the majority
answer and TF-IDF with logistic regression beside the model, every score with its grouped bootstrap interval, and the
difference to the baselines with a paired one. Learners see the training half of a split and nothing else; splitting
is done before.

Pure, apart from reading the CSV files that ``read_table`` is given. Embedding is done by the caller.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pandas as pd

from torch_embers.classify.features import Inputs, Vectorizer, need
from torch_embers.classify.metrics import (
    Bin,
    ClassScore,
    Coverage,
    Interval,
    accuracy,
    calibration_error,
    confusion,
    coverage_curve,
    kappa,
    macro_f1_interval,
    paired_difference,
    per_class,
    reliability,
)
from torch_embers.classify.model import HybridClassifier, Settings
from torch_embers.classify.splits import Split, grouped_folds
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

CURVE_POINTS = 50
"""Points of a coverage curve that a report keeps."""


@dataclass(frozen=True)
class Answers:
    """What a learner says of texts: probabilities float64 [texts, classes], and from where up it answers at all."""

    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    threshold: float = 0.0


class Learner(Protocol):
    """Something that learns from one half of a split and answers the other."""

    @property
    def name(self) -> str:
        """Row of the table."""
        ...

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        """Learn from ``train`` and answer ``test``."""
        ...


@dataclass(frozen=True)
class Majority:
    """Always the most frequent class."""

    name: str = "majority"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        """Answer with the shares of the classes in the training half."""
        del groups
        counts = sorted(Counter(labels).items())
        shares = np.array([count for _, count in counts], dtype=np.float64) / len(train)
        return Answers(tuple(label for label, _ in counts), np.tile(shares, (len(test), 1)))


@dataclass(frozen=True)
class TfidfBaseline:
    """TF-IDF of words and word pairs with logistic regression: what anyone would try first."""

    balanced: bool = True
    """Weight classes by rarity. Without it the baseline hardly ever names a rare class."""

    @property
    def name(self) -> str:
        """Row of the table."""
        return "tfidf+lr balanced" if self.balanced else "tfidf+lr"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        """Fit scikit-learn's defaults on all fields written one after another."""
        vectorizer = Vectorizer.fit(_one_text(train), "word", 1, 100_000)
        if vectorizer is None or len(set(labels)) < 2:
            return Majority().answer(train, labels, groups, test)
        regression = need("sklearn.linear_model").LogisticRegression(
            class_weight="balanced" if self.balanced else None, max_iter=1_000
        )
        regression.fit(vectorizer(_one_text(train)), list(labels))
        return Answers(tuple(map(str, regression.classes_)), regression.predict_proba(vectorizer(_one_text(test))))


@dataclass(frozen=True)
class Hybrid:
    """The classifier of ``model.py``, with its own calibration and threshold set inside the training half."""

    settings: Settings = Settings()  # noqa: RUF009 - frozen
    name: str = "hybrid"

    def answer(self, train: Inputs, labels: Sequence[str], groups: Sequence[Hashable], test: Inputs) -> Answers:
        """Fit on the training half."""
        model = HybridClassifier(self.name, self.settings).fit(train, None, labels, groups)
        return Answers(model.classes, model.predict_proba(test), model.threshold)


@dataclass(frozen=True)
class HeldOut:
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
                "macro-F1": round(score.macro_f1.value, 3),
                "95 % interval": f"{score.macro_f1.low:.3f} .. {score.macro_f1.high:.3f}",
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
    learner: Learner, inputs: Inputs, labels: Sequence[str], groups: Sequence[Hashable], splits: Sequence[Split]
) -> HeldOut:
    """Let a learner answer the test half of each split, having seen only its training half.

    Raises:
        InputError: a text is in two test halves.
    """
    rows = np.concatenate([split.test for split in splits])
    if len(set(rows.tolist())) != len(rows):
        raise InputError("a text stands in two test halves: score repeated splits one by one")
    found: dict[int, tuple[str, float, bool]] = {}
    for split in splits:
        known = [labels[row] for row in split.train]
        answers = learner.answer(
            inputs.take(split.train), known, [groups[row] for row in split.train], inputs.take(split.test)
        )
        for row, probabilities in zip(split.test.tolist(), answers.probabilities, strict=True):
            sure = min(1.0, float(probabilities.max()))
            found[row] = (answers.classes[int(probabilities.argmax())], sure, sure >= answers.threshold)
    ordered = sorted(found)
    predicted, confidence, answered = zip(*(found[row] for row in ordered), strict=True)
    return HeldOut(learner.name, np.array(ordered, dtype=np.int64), predicted, confidence, answered)


def compare(
    task: str,
    inputs: Inputs,
    labels: Sequence[str],
    groups: Sequence[Hashable],
    learners: Sequence[Learner],
    splits: Sequence[Split] | None = None,
    notes: Iterable[str] = (),
) -> Report:
    """Score learners on the same held-out texts; each is compared with all those before it.

    Args:
        task: what is told apart; the report's heading.
        inputs: the items.
        labels: their classes.
        groups: what must stay together, also in the bootstrap.
        learners: baselines first.
        splits: disjoint test halves; grouped folds when not given.
        notes: what the reader must know.

    Raises:
        InputError: lengths differ, or there is too little to split.
    """
    if not len(inputs) == len(labels) == len(groups):
        raise InputError(f"{len(inputs)} texts, {len(labels)} labels and {len(groups)} groups do not go together")
    made = list(splits) if splits is not None else grouped_folds(labels, groups)
    answers = [held_out(learner, inputs, labels, groups, made) for learner in learners]
    return score_held_out(task, labels, groups, answers, notes)


def score_held_out(
    task: str,
    labels: Sequence[str],
    groups: Sequence[Hashable],
    answers: Sequence[HeldOut],
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
    counts = {name: truth.count(name) for name in names}
    return Report(task, len(rows), len(set(together)), counts, scores, tuple(notes))


def agreement(rows: Iterable[Mapping[str, Any]], scheme: str, one: str, other: str) -> tuple[Interval, int]:
    """Cohen's kappa of two annotators of the catalog on the items that both labelled.

    Args:
        rows: catalog entries with ``number`` and ``taxonomy``.
        scheme: which labels.
        one: name of an annotator.
        other: name of another one.

    Returns:
        kappa, and the number of items labelled twice.

    Raises:
        InputError: no item has both labels.
    """
    pairs = [
        (row["number"], first, second)
        for row in rows
        if (first := label_of(row, scheme, one)) and (second := label_of(row, scheme, other))
    ]
    if not pairs:
        raise InputError(f"{one} and {other} have no {scheme} label in common")
    numbers, first_labels, second_labels = zip(*pairs, strict=True)
    return kappa(first_labels, second_labels, numbers), len(pairs)


def label_of(row: Mapping[str, Any], scheme: str, annotator: str) -> str | None:
    """Return what an annotator says of a catalog entry, ``None`` when nothing."""
    for entry in row.get("taxonomy", ()):
        if entry["scheme"] == scheme and entry["annotator"] == annotator:
            return str(entry["value"])
    return None


@dataclass(frozen=True)
class Table:
    """Labelled texts of a file."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    groups: tuple[str | None, ...]


def read_table(
    path: Path, text_columns: Sequence[str], label_column: str, group_column: str | None = None, limit: int = 2**30
) -> Table:
    """Read a CSV file (also compressed), every cell as text.

    Args:
        path: the file.
        text_columns: joined by line breaks to the text of a row.
        label_column: its class; rows without one are refused.
        group_column: what must stay together.
        limit: bytes that the file may have.

    Raises:
        InputError: no file, too large, not a CSV file, no such column, no rows, an empty label.
    """
    try:
        if path.stat().st_size > limit:
            raise InputError(f"{path} is larger than {limit} bytes")
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"cannot read {path} as CSV: {error}") from error
    wanted = [*text_columns, label_column, *([group_column] if group_column else [])]
    missing = [column for column in wanted if column not in frame.columns]
    if missing or not text_columns:
        raise InputError(f"{path} has no column {', '.join(missing)} (it has {', '.join(map(str, frame.columns))})")
    if frame.empty:
        raise InputError(f"{path} has no rows")
    labels = tuple(label.strip() for label in frame[label_column])
    if not all(labels):
        raise InputError(f"{path}: row {labels.index('') + 2} has no label in {label_column}")
    texts = tuple("\n".join(cells) for cells in frame[list(text_columns)].itertuples(index=False))
    groups = tuple(cell or None for cell in frame[group_column]) if group_column else (None,) * len(texts)
    return Table(texts, labels, groups)


def evaluate_tables(
    train: Table, test: Table | None, embed: Callable[[Sequence[str]], NDArray[np.float32]], groups: Sequence[Hashable]
) -> Report:
    """Run the baselines and the hybrid on labelled texts: on a test file, or by grouped folds without one.

    A published benchmark is run unchanged: test texts that repeat a training text stay, but are counted in the notes.

    Args:
        train: labelled texts to learn from.
        test: labelled texts to answer.
        embed: gives float32 [texts, dimensions].
        groups: a group per text, first those of ``train``, then those of ``test``.

    Raises:
        InputError: a class of the test file is not in the training file, or too little to learn from.
    """
    texts = [*train.texts, *(test.texts if test else ())]
    labels = [*train.labels, *(test.labels if test else ())]
    inputs = Inputs.of(texts, embed(texts))
    learners: tuple[Learner, ...] = (Majority(), TfidfBaseline(balanced=False), TfidfBaseline(), Hybrid())
    if test is None:
        return compare("cross-validation", inputs, labels, groups, learners)
    unknown = sorted(set(test.labels) - set(train.labels))
    if unknown:
        raise InputError(f"the test file has classes that the training file lacks: {', '.join(unknown)}")
    size = len(train.texts)
    seen = set(groups[:size])
    repeated = sum(group in seen for group in groups[size:])
    notes = (
        [f"{repeated} of {len(test.texts)} test texts repeat a training text or belong to its thread"]
        if repeated
        else []
    )
    split = Split(np.arange(size), np.arange(size, len(texts)))
    return compare("train and test file", inputs, labels, groups, learners, [split], notes)


def _score(
    truth: list[str], groups: list[Hashable], names: list[str], one: HeldOut, earlier: Sequence[HeldOut]
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


def _one_text(inputs: Inputs) -> list[str]:
    if not inputs.fields:
        raise InputError("there are no texts to read")
    return ["\n".join(parts) for parts in zip(*inputs.fields.values(), strict=True)]
