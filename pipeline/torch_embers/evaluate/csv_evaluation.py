"""Labelled texts of CSV files, measured by the same machinery as our own gold labels.

A published benchmark is run unchanged: its own training and test file, or grouped folds of one file, or a split by a
column of dates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from torch_embers.classify.learning.features import table
from torch_embers.classify.text import clean
from torch_embers.errors import InputError
from torch_embers.evaluate.compare import Report, compare
from torch_embers.evaluate.gold_evaluation import time_notes
from torch_embers.evaluate.learners import Learner, usual
from torch_embers.statistics.splits import Split, join_groups, near_duplicates, time_split

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from datetime import datetime
    from pathlib import Path

    from numpy.typing import NDArray

    from torch_embers.progress import Progress


@dataclass(frozen=True)
class Table:
    """Labelled texts of a file."""

    texts: tuple[str, ...]
    labels: tuple[str, ...]
    groups: tuple[str | None, ...]
    dates: tuple[datetime | None, ...] = ()
    """When each was written; empty where no column was named."""


def read_table(
    path: Path,
    text_columns: Sequence[str],
    label_column: str,
    group_column: str | None = None,
    date_column: str | None = None,
    limit: int = 2**30,
) -> Table:
    """Read a CSV file (also compressed), every cell as text.

    Args:
        path: the file.
        text_columns: joined by line breaks to the text of a row.
        label_column: its class; rows without one are refused.
        group_column: what must stay together.
        date_column: when it was written; an empty cell is an unknown date.
        limit: bytes that the file may have.

    Raises:
        InputError: no file, too large, not a CSV file, no such column, no rows, an empty label, a cell that is no date.
    """
    try:
        if path.stat().st_size > limit:
            raise InputError(f"{path} is larger than {limit} bytes")
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InputError(f"cannot read {path} as CSV: {error}") from error
    wanted = [*text_columns, label_column, *filter(None, (group_column, date_column))]
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
    return Table(texts, labels, groups, _dates(path, frame[date_column]) if date_column else ())


def _dates(path: Path, cells: pd.Series[str]) -> tuple[datetime | None, ...]:
    read = pd.to_datetime(cells.where(cells != ""), utc=True, errors="coerce", format="mixed")
    wrong = np.flatnonzero(read.isna() & (cells != ""))
    if wrong.size:
        raise InputError(f"{path}: row {wrong[0] + 2} has no date in {cells.name}: {cells.iloc[wrong[0]]!r}")
    return tuple(None if missing else one for one, missing in zip(read, read.isna(), strict=True))


def groups_of(*tables: Table) -> NDArray[np.int64]:
    """Group the rows of tables: near-duplicates, and rows of one value in the column of groups: int64 [rows].

    Texts are compared without forms and environments: one form filled in twice is no duplicate.
    """
    texts = [clean(text) or text for one in tables for text in one.texts]
    named = [group for one in tables for group in one.groups]
    own = [group if group is not None else f"row {place}" for place, group in enumerate(named)]
    return join_groups(near_duplicates(texts).tolist(), own)


def evaluate_tables(
    train: Table,
    test: Table | None,
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
    groups: Sequence[Hashable],
    *,
    cut: datetime | None = None,
    more: Sequence[Learner] = (),
    repeats: int = 1,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Report:
    """Run the learners on labelled texts: on a test file, else by time, else by grouped folds.

    Test texts that repeat a training text stay, as a published benchmark wants it, but are counted in the notes.

    Args:
        train: labelled texts to learn from.
        test: labelled texts to answer.
        embed: gives float32 [texts, dimensions].
        groups: a group per text, first those of ``train``, then those of ``test``.
        cut: train on rows before it and test on later ones; not together with ``test``.
        more: learners beside the usual ones.
        repeats: how often to cut grouped folds.
        jobs: processes that work side by side.
        progress: gets the number of answers.

    Raises:
        InputError: a class of the test file is not in the training file, too little to learn from, or no dates.
    """
    texts = [*train.texts, *(test.texts if test else ())]
    labels = [*train.labels, *(test.labels if test else ())]
    if len(set(labels)) < 2:
        raise InputError(f"there is one class alone ({labels[0]}): nothing can be told apart")
    task, splits, notes = _divided(train, test, groups, cut)
    who = (*usual(), *more)
    if progress is not None:
        progress.expects(len(who) * sum(len(split.test) for split in splits or ()) or len(who) * repeats * len(texts))
    inputs = table(texts, embed(texts))
    advanced = progress.advanced if progress is not None else None
    return compare(task, inputs, labels, groups, who, splits, notes, repeats=repeats, jobs=jobs, advanced=advanced)


def _divided(
    train: Table, test: Table | None, groups: Sequence[Hashable], cut: datetime | None
) -> tuple[str, list[Split] | None, list[str]]:
    """Heading, splits and notes."""
    if test is not None and cut is not None:
        raise InputError("a split by time divides one file: leave out --test")
    if test is not None:
        return "train and test file", [_files(train, test)], _repeated(len(train.texts), groups)
    if cut is None:
        return "cross-validation", None, []
    if not train.dates:
        raise InputError("a split by time needs a column of dates: name it with --date-col")
    by_time = time_split(train.dates, groups, cut)
    return f"by time, {cut:%Y-%m-%d}", [by_time], time_notes(by_time, train.labels, cut)


def _files(train: Table, test: Table) -> Split:
    unknown = sorted(set(test.labels) - set(train.labels))
    if unknown:
        raise InputError(f"the test file has classes that the training file lacks: {', '.join(unknown)}")
    size = len(train.texts)
    return Split(np.arange(size), np.arange(size, size + len(test.texts)))


def _repeated(size: int, groups: Sequence[Hashable]) -> list[str]:
    seen = set(groups[:size])
    repeated = sum(group in seen for group in groups[size:])
    what = f"{repeated} of {len(groups) - size} test texts repeat a training text or belong to its thread"
    return [what] if repeated else []
