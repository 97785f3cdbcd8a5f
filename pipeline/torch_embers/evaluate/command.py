"""What `embers research evaluate` does. Needs the extra `train`: see ``packages.require``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from torch_embers.classify.embedding import embed
from torch_embers.classify.examples import BODIES, CHOSEN, TITLES, examples
from torch_embers.classify.features import Item
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.questions import questions
from torch_embers.classify.text import read
from torch_embers.classify.train import LEAST_PER_CLASS, grouped
from torch_embers.errors import InputError
from torch_embers.evaluate.learners import LEARNERS, Texts
from torch_embers.evaluate.measure import Answers, Report, out_of_fold, report
from torch_embers.statistics.splits import join_groups, near_duplicates
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.store.store import Store

SCHEMES = ("bug_type", "memory_type", "consequence")
LEAST = 20
"""Labelled items, and of them on one sample, without which nothing is measured."""


def on_gold(store: Store, schemes: Sequence[str], progress: Progress) -> list[Report]:
    """Compare the learners on the labelled items of a database and the drawn ones, by how the items were drawn.

    Raises:
        InputError: no gold labels, an unknown scheme, or too few labelled items.
        EmbersError: no database.
    """
    taxonomy = Taxonomy.load()
    wanted = tuple(dict.fromkeys(taxonomy.scheme(name).name for name in schemes)) or SCHEMES
    rows, links = examples(store)
    texts = embedded([row.item for row in rows])
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
                part = [Answers(one.learner, one.said[at], one.sure[at]) for one in answers]
                found.append(report(question.name, sample, own[at].tolist(), groups[places][at].tolist(), part))
    if not found:
        raise InputError(f"too few labelled items in {', '.join(wanted)}: {LEAST} of one scheme are needed")
    return found


def on_files(
    train: Path, test: Path | None, text_columns: Sequence[str], label_column: str, progress: Progress
) -> list[Report]:
    """Compare the learners on labelled texts of CSV files: in five folds, or on a second file.

    Raises:
        InputError: a file or column is missing, or there is too little to learn from.
    """
    tables = [read_table(path, text_columns, label_column) for path in (train, test) if path is not None]
    items = [item for table, _ in tables for item in table]
    texts = embedded(items)
    labels = np.array([label for _, own in tables for label in own])
    groups = join_groups(near_duplicates([item.text.words for item in items]).tolist())
    known = np.arange(len(tables[0][1]))
    if len(set(labels[known].tolist())) < 2:
        raise InputError(f"{train}: at least two classes are needed to learn")
    progress.expects(len(LEARNERS) * (len(labels) - (len(known) if test else 0)))
    if test is None:
        answers = out_of_fold(texts, labels, groups, progress.advanced)
        return [report(train.stem, "five folds", labels.tolist(), groups.tolist(), answers)]
    unseen = np.arange(len(known), len(labels))
    answers = []
    for name, learner in LEARNERS.items():
        classes, chances = learner(texts.take(known), labels[known], groups[known], texts.take(unseen))
        answers.append(Answers(name, np.array(classes)[chances.argmax(axis=1)], chances.max(axis=1)))
        progress.advanced(len(unseen))
    return [report(train.stem, test.stem, labels[unseen].tolist(), groups[unseen].tolist(), answers)]


def embedded(items: Sequence[Item]) -> Texts:
    """Items with the vectors of the encoder that the setting names."""
    embedder = embed.load_embedder()
    titles = embedder.encode([item.text.title for item in items])
    return Texts(items, titles, embedder.encode([item.text.words for item in items]))


def read_table(path: Path, text_columns: Sequence[str], label_column: str) -> tuple[list[Item], list[str]]:
    """Read a CSV file (also compressed): the first text column is the title, the others are the body.

    Raises:
        InputError: no file, not a CSV file, no such column, no rows, an empty label.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"cannot read {path} as CSV: {error}") from error
    if missing := [column for column in (*text_columns, label_column) if column not in frame.columns]:
        raise InputError(f"{path} has no column {', '.join(missing)} (it has {', '.join(map(str, frame.columns))})")
    if frame.empty:
        raise InputError(f"{path} has no rows")
    labels = [label.strip() for label in frame[label_column]]
    if not all(labels):
        raise InputError(f"{path}: row {labels.index('') + 2} has no label in {label_column}")
    cells = frame[list(text_columns)].itertuples(index=False)
    labeller = Labeller.load()
    items = []
    for title, *rest in cells:
        body = "\n".join(rest) or None
        votes = tuple(sorted({vote.function for vote in labeller.votes(title, body, None)}))
        items.append(Item(read(title, body), votes))
    return items, labels


def write_json(reports: Sequence[Report], path: Path) -> None:
    """Write everything as JSON, one line a report.

    Raises:
        InputError: the file cannot be written.
    """
    lines = ",\n".join(json.dumps(_rounded(one.as_dict())) for one in reports)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'{{"reports": [\n{lines}\n]}}\n', encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {path}: {error.strerror}") from error


def _rounded(value: object) -> object:
    """Numbers to four places: more than a score of some hundred texts has."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {key: _rounded(entry) for key, entry in value.items()}
    return [_rounded(entry) for entry in value] if isinstance(value, list | tuple) else value
