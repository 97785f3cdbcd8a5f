"""Commands that label items and measure how well."""

from collections import Counter, defaultdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from torch_embers import packages
from torch_embers.cli.options import DatabaseOption, RepoOption, settings_at, store_at
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from torch_embers.classify.label_items import Labelled


def classify(
    explain: Annotated[
        int | None, typer.Option(min=1, help="Only say why this item has its labels: terms, nearest labelled items.")
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train on the gold labels of the database before labelling (extra `train`).")
    ] = False,
    model: Annotated[
        Path | None, typer.Option(help="Folder of the classifier.", show_default="the one that comes with embers")
    ] = None,
    repo: RepoOption = None,
    database: DatabaseOption = None,
) -> None:
    """Label every item with the study's taxonomy.

    It reads title and body. Each label has a probability and a confidence: high, medium or low. The study's classes
    non-contiguity, segfault, indexing and silent correctness are found by these names with `embers list --class`.
    """
    packages.require("classify", "classification needs")
    if train:
        packages.require("train", "training needs")
    from torch_embers import console, settings
    from torch_embers.classify import train_and_label
    from torch_embers.classify.explain import explain as why
    from torch_embers.progress_bar import ProgressBar

    store = store_at(database)
    if explain is not None:
        from torch_embers.cli.print_item import ORIGINS
        from torch_embers.templates import render

        repo = settings_at(database, repo).repo
        found = why(store, train_and_label.classifier_of(store, model), repo, explain)
        values = {"repo": repo, "number": explain, "found": found, "origins": ORIGINS}
        console.print_page(render("cli", "explanation.txt", **values))
        return
    with ProgressBar("classifying", unit="steps") as progress:
        done = train_and_label.run(store, model, progress, train=train)
    _print_labelled(done)
    if not train and (repo := store.repository()) != settings.DEFAULT_REPO:
        console.stdout().print(f"note: learnt from {settings.DEFAULT_REPO}; how right it is on {repo} was not measured")
    console.print_next(
        "`embers list --class VALUE` shows the items of a class, with `--min-confidence high` only the sure ones, "
        "`embers run` which bugs occur here"
    )


def _print_labelled(done: "Labelled") -> None:
    """Print what was done, and what is labelled now: classes with their confidences, examples."""
    from torch_embers import console
    from torch_embers.classify.model import LEVELS

    out = console.stdout()
    out.print(f"{done.items:,} items labelled, {done.embedded:,} texts embedded")
    by_scheme: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for scheme, value, confidence, count in done.counts:
        by_scheme[scheme][value][confidence] += count
    for scheme, classes in by_scheme.items():
        out.print(f"\n{scheme:<26} {'labels':>7} " + " ".join(f"{level:>7}" for level in reversed(LEVELS)))
        for value, counts in classes.items():
            levels = " ".join(f"{counts[level]:>7,}" for level in reversed(LEVELS))
            out.print(f"  {value:<24} {counts.total():>7,} {levels}", markup=False)
    if done.examples:
        out.print("\nfor example:")
    for repo, number, title, scheme, value, probability, confidence in done.examples:
        said = f"  {repo}#{number} {scheme} {value} ({probability:.2f}, {confidence}): {title}"
        out.print(console.plain(said), markup=False, no_wrap=True, overflow="ellipsis")


def evaluate(
    scheme: Annotated[list[str] | None, typer.Option(help="Only this scheme; repeat for more.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write everything as JSON to this file.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Measure the classifier beside baselines, on gold labels."""
    packages.require("train", "measuring needs")
    from torch_embers.evaluate import compare_learners as measure
    from torch_embers.progress_bar import ProgressBar

    with ProgressBar("evaluating", unit="answers") as progress:
        found = measure.on_gold(store_at(database), scheme or (), progress)
    measure.print_reports(found)
    if out is not None:
        measure.write_json(found, out)


class LabelAction(StrEnum):
    """What `embers data label` does."""

    EXPORT, IMPORT, CHECK_RULE = "export", "import", "check-rule"


def label(
    action: Annotated[
        LabelAction | None,
        typer.Argument(help="Write a sheet to fill in, read a filled one, or try labelling rules.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None, typer.Argument(help="The sheet (CSV), or the rules (TOML).", show_default=False)
    ] = None,
    annotator: Annotated[str | None, typer.Option(help="Who labels.")] = None,
    scheme: Annotated[list[str] | None, typer.Option(help="Only ask this scheme; repeat for more.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many items.")] = 50,
    blind: Annotated[bool, typer.Option("--blind", help="Leave out of the sheet what the classifier says.")] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Only list the gold labels that are probably wrong, the surest first.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Label items in a CSV file, or try labelling rules."""
    store = store_at(database)
    if errors:
        from torch_embers.label import errors as probable

        probable.print_suspects(store, scheme or (), limit)
        return
    if action is None or file is None:
        raise InputError("say `export FILE.csv`, `import FILE.csv --annotator NAME` or `check-rule FILE.toml`")
    from torch_embers.label import check_rule, sheet

    if action is LabelAction.EXPORT:
        sheet.export(store, file, scheme or (), annotator, limit, blind=blind)
    elif scheme or blind:
        raise InputError("--scheme and --blind go with `export`")
    elif action is LabelAction.CHECK_RULE:
        check_rule.print_effects(store, file)
    elif annotator is None:
        raise InputError("say who filled it in: --annotator NAME")
    else:
        sheet.take(store, file, annotator)
