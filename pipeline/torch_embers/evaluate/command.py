"""What `embers research evaluate` does. Needs the extra `classify`: see ``packages.require``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import packages
from torch_embers.classify.embedding import embed
from torch_embers.errors import InputError
from torch_embers.evaluate import gold_evaluation, plots
from torch_embers.evaluate.csv_evaluation import evaluate_tables, groups_of, read_table
from torch_embers.evaluate.gold_evaluation import Evaluated
from torch_embers.statistics.splits import parse_split

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.evaluate.learners import Learner
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store


def on_gold(
    store: Store,
    variant: str,
    split: str,
    schemes: Sequence[str],
    progress: Progress,
    *,
    tags: bool = True,
    repeats: int = 1,
    tune: bool = False,
) -> Evaluated:
    """Compare the learners on the gold labels of a database.

    Raises:
        InputError: no gold labels, an unknown scheme, variant or split.
        EmbersError: no database.
    """
    wanted = gold_evaluation.Wanted(
        variant,
        tags,
        parse_split(split),
        tuple(dict.fromkeys(schemes)),
        _more(tune=tune),
        repeats,
        embed.usable_cores(),
    )
    return gold_evaluation.evaluate(store, wanted, lambda: embed.load_embedder().encode, progress)


def on_files(
    train: Path,
    test: Path | None,
    text_columns: Sequence[str],
    label_column: str,
    group_column: str | None,
    date_column: str | None,
    split: str,
    progress: Progress,
    *,
    repeats: int = 1,
    tune: bool = False,
) -> Evaluated:
    """Run the same machinery on labelled texts of CSV files.

    Raises:
        InputError: a file or column is missing, or there is too little to learn from.
    """
    cut = parse_split(split)
    first = read_table(train, text_columns, label_column, group_column, date_column)
    second = read_table(test, text_columns, label_column, group_column) if test else None
    groups = groups_of(*(table for table in (first, second) if table is not None))
    report = evaluate_tables(
        first,
        second,
        embed.load_embedder().encode,
        groups.tolist(),
        cut=cut,
        more=_more(tune=tune),
        repeats=repeats,
        jobs=embed.usable_cores(),
        progress=progress,
    )
    return Evaluated((report,), (), ())


def check_output(out: Path | None, folder: Path | None) -> None:
    """Check, before minutes of work, that the results can be written and drawn.

    Raises:
        InputError: a folder cannot be made, the file is one, or Matplotlib is missing.
    """
    for option, place in (("--out", out.parent if out else None), ("--plots", folder)):
        try:
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{option} {place}: {error.strerror}") from error
    if out is not None and out.is_dir():
        raise InputError(f"--out {out}: is a folder, a file is wanted")
    if folder is not None:
        packages.require("study", "pictures need")


def draw(found: Evaluated, folder: Path) -> None:
    """Write the pictures of each report into a folder.

    Raises:
        InputError: Matplotlib is missing, or the folder cannot be written.
    """
    for report in found.reports:
        plots.write(report, folder)


def _more(*, tune: bool) -> tuple[Learner, ...]:
    """Learners beside the usual ones."""
    if not tune:
        return ()
    from torch_embers.evaluate.tune import Tuned  # imports torch and transformers: seconds

    return (Tuned(),)
