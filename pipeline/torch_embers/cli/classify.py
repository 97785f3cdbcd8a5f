"""Commands that label items and measure how well."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from torch_embers import packages
from torch_embers.cli.options import DatabaseOption, RepoOption, store_at
from torch_embers.errors import InputError


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
    """Label every item with the study's taxonomy, from its title and body.

    Each label has a probability and a confidence: high, medium or low. The classes non-contiguity, segfault, indexing
    and silent correctness of the study are found by these names with `embers list --class`.
    """
    packages.require("classify", "classification needs")
    if train:
        packages.require("train", "training needs")
    from torch_embers import console, settings
    from torch_embers.classify import command
    from torch_embers.classify import show as classify_show
    from torch_embers.classify.explain import explain as why
    from torch_embers.progress_bar import ProgressBar

    wanted = settings.load(database=database, repo=repo)
    store = store_at(wanted.database)
    if explain is not None:
        found = why(store, command.classifier_of(store, model), wanted.repo, explain)
        classify_show.print_explanation(found, wanted.repo, explain)
        return
    with ProgressBar("classifying", unit="steps") as progress:
        done = command.run(store, model, progress, train=train)
    classify_show.print_labelled(done)
    console.print_next(
        "`embers list --class VALUE --min-confidence high` shows the sure items of a class, `embers run` which bugs "
        "occur here"
    )


def evaluate(
    train: Annotated[Path | None, typer.Option(help="CSV file to learn from, instead of the database's gold.")] = None,
    test: Annotated[Path | None, typer.Option(help="CSV file to answer; without one, five folds.")] = None,
    text_col: Annotated[
        list[str] | None, typer.Option(help="Column with text, the title first; repeat to join several.")
    ] = None,
    label_col: Annotated[str, typer.Option(help="Column with the class.")] = "label",
    scheme: Annotated[list[str] | None, typer.Option(help="Only this scheme of the gold; repeat for more.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write everything as JSON to this file.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Measure the classifier beside plain baselines.

    On the labelled items, or on any CSV files; every figure has its interval.
    """
    packages.require("train", "measuring needs")
    from torch_embers.evaluate import command as evaluate_command
    from torch_embers.evaluate import show as evaluate_show
    from torch_embers.progress_bar import ProgressBar

    if train is None and (test is not None or text_col):
        raise InputError("--test and --text-col go with --train FILE")
    with ProgressBar("evaluating", unit="answers") as progress:
        if train is not None:
            found = evaluate_command.on_files(train, test, text_col or ["text"], label_col, progress)
        else:
            found = evaluate_command.on_gold(store_at(database), scheme or (), progress)
    evaluate_show.print_reports(found)
    if out is not None:
        evaluate_command.write_json(found, out)


def label(
    scheme: Annotated[list[str] | None, typer.Option(help="Only ask this scheme; repeat for more.")] = None,
    annotator: Annotated[str | None, typer.Option(help="Who labels; asked for when not given.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Offer at most this many items.")] = 50,
    blind: Annotated[bool, typer.Option("--blind", help="Do not show the model's guess.")] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Only list the gold labels that are probably wrong, the surest first.")
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder of the classifier, for --errors.", show_default="the one that comes with embers"),
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Label items by hand, the most informative first.

    Every answer is kept at once; quit at any time.
    """
    packages.require("classify", "classification needs")
    from torch_embers import console
    from torch_embers.annotate.command import label_session
    from torch_embers.annotate.keyboard import read_keys
    from torch_embers.classify import command
    from torch_embers.classify import show as classify_show
    from torch_embers.classify.suspects import suspects

    if errors:
        store = store_at(database)
        classify_show.print_suspects(suspects(store, command.bundle_of(store, model), scheme or ()), limit)
        return
    if model is not None:
        raise InputError("--model goes with --errors")
    label_session(
        store_at(database), scheme or (), annotator, limit, read_keys(sys.stdin), console.stdout(), blind=blind
    )
