"""Commands that label items and measure how well."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from torch_embers import packages
from torch_embers.cli.options import DatabaseOption, RepoOption, store_at
from torch_embers.errors import InputError


def classify(
    explain: Annotated[
        int | None, typer.Option(min=1, help="Only say why this item has its labels: terms, nearest labelled items.")
    ] = None,
    train: Annotated[
        bool, typer.Option("--train", help="Train on the gold labels of the database before labelling.")
    ] = False,
    model: Annotated[
        Path | None, typer.Option(help="Folder of the classifier.", show_default="the one that comes with embers")
    ] = None,
    variant: Annotated[str, typer.Option(help="Text to train on: title, title_body or thread.")] = "title_body",
    repo: RepoOption = None,
    database: DatabaseOption = None,
) -> None:
    """Label every item with the study's taxonomy.

    Below the confidence threshold it abstains.
    """
    packages.require("classify", "classification needs")
    from torch_embers import console, settings
    from torch_embers.classify import command
    from torch_embers.classify import show as classify_show
    from torch_embers.classify.explain import explain as why
    from torch_embers.progress_bar import ProgressBar

    wanted = settings.load(database=database, repo=repo)
    store = store_at(wanted.database)
    if explain is not None:
        found = why(store, command.bundle_of(store, model), wanted.repo, explain)
        classify_show.print_explanation(found, wanted.repo, explain)
        return
    with ProgressBar("classifying", unit="steps") as progress:
        classify_show.print_labelled(command.run(store, model, variant, progress, train=train))
    console.print_next("`embers list --class VALUE` shows the items of a class, `embers run` which bugs occur here")


def evaluate(
    train: Annotated[Path | None, typer.Option(help="CSV file to learn from, instead of the database's gold.")] = None,
    test: Annotated[
        Path | None, typer.Option(help="CSV file to answer; without one, grouped cross-validation.")
    ] = None,
    text_col: Annotated[list[str] | None, typer.Option(help="Column with text; repeat to join several.")] = None,
    label_col: Annotated[str, typer.Option(help="Column with the class.")] = "label",
    group_col: Annotated[str | None, typer.Option(help="Column that says what must stay together.")] = None,
    date_col: Annotated[str | None, typer.Option(help="Column with dates, for a split by time.")] = None,
    split: Annotated[str, typer.Option(help="folds, or time:DATE to train before a date and test after.")] = "folds",
    repeats: Annotated[int, typer.Option(min=1, help="Cut the folds this often, each time otherwise.")] = 1,
    scheme: Annotated[list[str] | None, typer.Option(help="Only this scheme of the gold; repeat for more.")] = None,
    variant: Annotated[str, typer.Option(help="Text of the gold items: title, title_body or thread.")] = "title_body",
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Read titles without tags such as [MPS].")] = False,
    tune: Annotated[
        bool, typer.Option("--tune", help="Also compare an encoder that is tuned in each fold (extra `tune`).")
    ] = False,
    plots: Annotated[Path | None, typer.Option(help="Also draw everything into this folder, SVG and PNG.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write everything as JSON to this file.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Measure the classifier beside plain baselines.

    On the gold labels, or on any CSV files; every figure has its interval.
    """
    packages.require("classify", "classification needs")
    if tune:
        packages.require("tune", "tuning an encoder needs")
    from torch_embers.evaluate import command as evaluate_command
    from torch_embers.evaluate import show as evaluate_console
    from torch_embers.progress_bar import ProgressBar

    if train is None and (test is not None or text_col or group_col or date_col):
        raise InputError("--test, --text-col, --group-col and --date-col go with --train FILE")
    evaluate_command.check_output(out, plots)
    with ProgressBar("evaluating", unit="answers") as progress:
        if train is not None:
            found = evaluate_command.on_files(
                train,
                test,
                text_col or ["text"],
                label_col,
                group_col,
                date_col,
                split,
                progress,
                repeats=repeats,
                tune=tune,
            )
        else:
            found = evaluate_command.on_gold(
                store_at(database), variant, split, scheme or (), progress, tags=not no_tags, repeats=repeats, tune=tune
            )
    evaluate_console.print_evaluated(found)
    if out is not None:
        about: dict[str, Any] = {"split": split, "repeats": repeats}
        about |= {"variant": variant, "tags": not no_tags} if train is None else {}
        evaluate_console.write_json(found, out, about)
    if plots is not None:
        evaluate_command.draw(found, plots)


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
