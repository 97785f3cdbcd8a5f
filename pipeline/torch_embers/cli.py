"""The command `embers`: parse, call, print. Everything else lives in the rooms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from torch_embers import __version__, console, settings
from torch_embers.errors import EmbersError, InputError, SandboxError
from torch_embers.store.store import Store

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""

app = typer.Typer(
    name="embers",
    help="Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DatabaseOption = Annotated[
    Path | None,
    typer.Option("--database", "-d", help="The DuckDB file.", show_default="data/embers.duckdb, or EMBERS_DATABASE"),
]


def _store(database: Path | None) -> Store:
    return Store(settings.load(database=database).database)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"embers {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Mine PyTorch's tracker, link bugs to their fixes, and keep re-checking closed ones."""


@app.command()
def mine(
    paths: Annotated[
        list[str] | None,
        typer.Argument(help="Files (jsonl, archive; globs and URLs too) or a clone (git) to mine."),
    ] = None,
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    since: Annotated[str | None, typer.Option(help="Only items changed at or after this date (UTC).")] = None,
    until: Annotated[str | None, typer.Option(help="Stop at the page that passes this date (UTC).")] = None,
    state: Annotated[str, typer.Option(help="all, open or closed.")] = "all",
    label: Annotated[list[str] | None, typer.Option(help="Only items with this label; repeat for more.")] = None,
    numbers: Annotated[Path | None, typer.Option(help="File with item numbers: mine these, completely.")] = None,
    source: Annotated[str, typer.Option(help="auto, graphql, rest, archive, jsonl, git or catalog.")] = "auto",
    budget: Annotated[int | None, typer.Option(min=1, help="At most this many requests.")] = None,
    api_url: Annotated[str | None, typer.Option(help="Address of the GitHub API.")] = None,
    max_wait: Annotated[float | None, typer.Option(help="Longest wait in seconds.", show_default="120")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Rebuild all tables from the stored pages.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Mine issues, pull requests and their links into the database.

    Without options: GitHub by GraphQL where a token is set (GITHUB_TOKEN), by REST within the anonymous limit
    where none is, and the embedded catalog where GitHub cannot be reached.
    """
    from torch_embers.mine import plan

    wanted = settings.load(database=database, repo=repo, api_url=api_url, max_wait=max_wait)
    request = plan.Request(
        source=source,
        paths=tuple(paths or ()),
        since=since,
        until=until,
        state=state,
        labels=tuple(label or ()),
        numbers=numbers,
        budget=budget,
        replay=replay,
    )
    for report in plan.run(wanted, request, console.MineProgress):
        console.print_report(report)


@app.command()
def status(database: DatabaseOption = None) -> None:
    """Show what the database holds, how fresh it is, and where each stream stands."""
    from torch_embers.store.status import status as read_status

    console.print_status(read_status(_store(database)))


@app.command()
def export(
    to: Annotated[Path, typer.Option("--to", help="Folder to write to.")],
    form: Annotated[str, typer.Option("--format", help="parquet, csv or jsonl.")] = "parquet",
    tables: Annotated[list[str] | None, typer.Option("--table", help="Only this table; repeat for more.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Write the tables as files for other tools."""
    from torch_embers.store import export as exporting

    chosen = tuple(tables) if tables else exporting.TABLES
    console.print_export(exporting.export(_store(database), to, form, chosen))


@app.command()
def chain(
    number: Annotated[int, typer.Argument(min=1, help="Number of an issue or pull request.")],
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Print what reverts, relands, backs out, fixes or supersedes what, as a tree around one item."""
    from torch_embers.link.show import chain_lines

    wanted = settings.load(database=database, repo=repo)
    for line in chain_lines(Store(wanted.database), wanted.repo, number):
        console.stdout().print(console.plain(line))


@app.command()
def funnel(database: DatabaseOption = None) -> None:
    """Count the study's stages (closed, bug-reporting, patched) in this database, beside the study's own counts."""
    with _store(database).read() as connection:
        rows = connection.execute("SELECT stage, name, items, study, definition FROM funnel").fetchall()
        [(candidates,)] = connection.execute("SELECT count(*) FROM candidates").fetchall()
    console.print_funnel(rows, candidates)


@app.command()
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
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Label every item with the study's taxonomy; says nothing where it is not sure enough."""
    from torch_embers.classify import classify_console, command

    wanted = settings.load(database=database, repo=repo)
    store = Store(wanted.database)
    if explain is not None:
        classify_console.print_explanation(command.explain(store, wanted.repo, explain, model), wanted.repo, explain)
        return
    with console.Counting("classifying", unit="steps") as progress:
        classify_console.print_labelled(command.run(store, model, variant, progress, train=train))


@app.command()
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
        bool, typer.Option("--tune", help="Also compare an embedder that is fine-tuned in each fold: minutes each.")
    ] = False,
    plots: Annotated[Path | None, typer.Option(help="Also draw everything into this folder, SVG and PNG.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write everything as JSON to this file.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Measure the classifier beside plain baselines, with intervals: on the gold labels, or on any CSV files."""
    from torch_embers.classify.evaluation import evaluate_command, evaluate_console

    if train is None and (test is not None or text_col or group_col or date_col):
        raise InputError("--test, --text-col, --group-col and --date-col go with --train FILE")
    evaluate_command.prepare(out, plots)
    with console.Counting("evaluating", unit="answers") as progress:
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
                _store(database), variant, split, scheme or (), progress, tags=not no_tags, repeats=repeats, tune=tune
            )
    evaluate_console.print_evaluated(found)
    if out is not None:
        about: dict[str, Any] = {"split": split, "repeats": repeats}
        about |= {"variant": variant, "tags": not no_tags} if train is None else {}
        evaluate_console.write_json(found, out, about)
    if plots is not None:
        evaluate_command.draw(found, plots)


@app.command()
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
    """Label items by hand, the most informative first; every answer is kept at once, quit at any time."""
    from torch_embers.classify import classify_console, command
    from torch_embers.classify.labelling.keyboard import read_keys
    from torch_embers.classify.labelling.label_console import label_session

    if errors:
        classify_console.print_suspects(command.suspects(_store(database), scheme or (), model), limit)
        return
    if model is not None:
        raise InputError("--model goes with --errors")
    label_session(_store(database), scheme or (), annotator, limit, read_keys(sys.stdin), console.stdout(), blind=blind)


@app.command()
def similar(
    number: Annotated[int, typer.Argument(min=1, help="Number of an issue or pull request.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """List the items whose text is nearest in meaning to that of one item."""
    from torch_embers.classify import command

    wanted = settings.load(database=database, repo=repo)
    console.print_hits(command.similar(Store(wanted.database), wanted.repo, number, k))


@app.command()
def search(
    text: Annotated[str, typer.Argument(help="Words that describe what is looked for.")],
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    database: DatabaseOption = None,
) -> None:
    """List the items whose text is nearest in meaning to some words."""
    from torch_embers.classify import command

    console.print_hits(command.search(_store(database), text, k))


# ---- cases, builds, runs -------------------------------------------------------------------------------------------

builds_app = typer.Typer(
    help="Install, register, check and remove the PyTorch builds that cases run on.", no_args_is_help=True
)
app.add_typer(builds_app, name="builds")

BuildOption = Annotated[
    list[str] | None,
    typer.Option("--build", "-b", help="Build by name or version, or `all`; repeat for more.", show_default="current"),
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="Runs at a time.")]


@builds_app.command("add")
def builds_add(
    version: Annotated[
        str | None, typer.Argument(help="A release such as 2.5.1, or `nightly`.", show_default=False)
    ] = None,
    python: Annotated[Path | None, typer.Option(help="Register this interpreter, which has a torch.")] = None,
    wheel: Annotated[Path | None, typer.Option(help="Install this wheel of torch.")] = None,
    name: Annotated[str | None, typer.Option(help="What to call it.", show_default="its version")] = None,
    allow_cuda_packages: Annotated[
        bool, typer.Option("--allow-cuda-packages", help="Take PyPI's build with several GB of CUDA packages.")
    ] = False,
) -> None:
    """Add a build: install a release without CUDA packages, a nightly or a wheel, or register an interpreter."""
    from torch_embers.run import install, show

    wanted = settings.load()
    with console.Counting("installing") as progress:
        found = install.add(
            wanted,
            version=version,
            python=python,
            wheel=wheel,
            name=name or "",
            allow_cuda_packages=allow_cuda_packages,
            said=progress.said,
        )
    show.print_builds([found], wanted.builds_cap)


@builds_app.command("list")
def builds_list() -> None:
    """List the builds, with the room they take."""
    from torch_embers.run import command, show

    wanted = settings.load()
    show.print_builds(command.registry(wanted).installed(), wanted.builds_cap)


@builds_app.command("check")
def builds_check(
    names: Annotated[list[str] | None, typer.Argument(help="Builds; all of them where none is named.")] = None,
) -> None:
    """Check that builds are what they were and work: import, matmul, backward on each device. Exit code 3 if not."""
    from torch_embers.run import command, show

    registry = command.registry(settings.load())
    checked = [registry.check(build) for build in command.chosen_builds(registry, names or ["all"])]
    show.print_checks(checked)
    if any(build.broken for build in checked):
        raise typer.Exit(InputError.exit_code)


@builds_app.command("remove")
def builds_remove(name: Annotated[str, typer.Argument(help="Name of the build.")]) -> None:
    """Forget a build; delete it if embers installed it."""
    from torch_embers.run import command

    gone = command.registry(settings.load()).remove(name)
    console.stdout().print(f"removed {console.plain(gone.name)} ({console.plain(gone.identity)})")


@app.command()
def doctor() -> None:
    """Prove on this machine every guarantee that the sandbox gives, and say what is missing."""
    from torch_embers.run import doctor as examining

    proof = examining.prove(again=True)
    for line in examining.report(proof):
        console.stdout().print(console.plain(line))
    if not proof.complete:
        raise typer.Exit(SandboxError.exit_code)


@app.command("link-repros")
def link_repros(
    repo: Annotated[str | None, typer.Option(help="Only this repository, as owner/name.", show_default="all")] = None,
    database: DatabaseOption = None,
) -> None:
    """Give every candidate its one row: a case by hand, a script extracted from its text, or the reason why not."""
    from torch_embers.repro import link
    from torch_embers.run import show

    with console.Counting("linking") as progress:
        done = link.link_repros(_store(database), repo, progress)
    show.print_linked(done)


@app.command()
def run(
    cases: Annotated[
        list[str] | None, typer.Argument(help="Cases by name, items by number; all cases where none is given.")
    ] = None,
    build: BuildOption = None,
    jobs: JobsOption = 2,
    force: Annotated[bool, typer.Option("--force", help="Run again although verdicts are known.")] = False,
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Run cases in the sandbox and say of each whether its bug occurs: k of n runs, control, detectable rate."""
    from torch_embers.run import command, show

    wanted = settings.load(database=database, repo=repo)
    with console.Counting("running") as progress:
        done = command.run_cases(
            Store(wanted.database), wanted, cases or (), build or (), progress, show.print_cell, jobs=jobs, force=force
        )
    show.print_outcome(done)


@app.command()
def minimize(
    case: Annotated[str, typer.Argument(help="An extracted case such as x99638, or the number of its item.")],
    build: Annotated[str | None, typer.Option("--build", "-b", help="Where it fails.", show_default="current")] = None,
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Make an extracted script small in the sandbox, keeping exactly the failure that it shows."""
    from torch_embers.run import command, show

    wanted = settings.load(database=database, repo=repo)
    with console.Counting("minimising") as progress:
        made = command.minimize_case(Store(wanted.database), wanted, case, build, progress.said)
    show.print_reduction(made)


@app.command()
def matrix(
    csv: Annotated[Path | None, typer.Option(help="Also write it as CSV.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write it as JUnit XML.")] = None,
    jsonl: Annotated[Path | None, typer.Option(help="Also write it as JSON Lines.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Print the verdict of every case on every build."""
    from torch_embers.run import command, show

    show.print_matrix(command.save_matrix(_store(database), csv, junit, jsonl))


@app.command()
def recheck(
    only: Annotated[str, typer.Option(help="Items in this state: open, closed or all.")] = "all",
    build: BuildOption = None,
    every: Annotated[float, typer.Option(min=0, help="Days after which a verdict is due again.")] = 7,
    jobs: JobsOption = 2,
    out: Annotated[Path | None, typer.Option(help="Folder for recheck.json, recheck.md and recheck.xml.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Re-check bugs and tell what changed since last time: came back, fixed, closed but there, open but gone.

    The newest of the builds is the one that statuses speak of. Exit code 10 if there is something to tell.
    """
    from torch_embers.run import command, reports, show

    wanted = settings.load(database=database)
    with console.Counting("re-checking") as progress:
        found = command.run_recheck(
            Store(wanted.database), wanted, progress, only=only, names=build or (), every=every, jobs=jobs, out=out
        )
    show.print_recheck(found)
    raise typer.Exit(reports.exit_code(found))


@app.command("show")
def show_item(
    number: Annotated[int, typer.Argument(min=1, help="Number of an issue or pull request.")],
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Print the whole story of an item: facts, labels, links, cases, verdict per build."""
    from torch_embers.run import show
    from torch_embers.run.story import story

    wanted = settings.load(database=database, repo=repo)
    show.print_story(story(Store(wanted.database), wanted.repo, number))


@app.command()
def comment(
    number: Annotated[int, typer.Argument(min=1, help="Number of an issue or pull request.")],
    repo: Annotated[str | None, typer.Option(help="Repository as owner/name.", show_default="pytorch/pytorch")] = None,
    database: DatabaseOption = None,
) -> None:
    """Print a table of versions with environment and command, to paste into the item. It is never posted."""
    from torch_embers.run.story import comment as written
    from torch_embers.run.story import story

    wanted = settings.load(database=database, repo=repo)
    typer.echo(written(story(Store(wanted.database), wanted.repo, number)))


# ---- the study -----------------------------------------------------------------------------------------------------

study_app = typer.Typer(help="Check what the study prints against this database, claim by claim.", no_args_is_help=True)
app.add_typer(study_app, name="study")


@study_app.command("claims")
def study_claims(
    out: Annotated[Path | None, typer.Option(help="Also write claims.csv and claims.json into this folder.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Judge every number that the study prints: our figure, a verdict, and whether the number can be right at all."""
    from torch_embers.study import show
    from torch_embers.study.claims import claims_table, judge

    report = judge.on_store(_store(database))
    show.print_claims(report, claims_table.write(report, out) if out is not None else ())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every error of ours is one clean line and an exit code."""
    try:
        code: Any = app(arguments, standalone_mode=False)
    except EmbersError as error:
        console.stderr().print(f"[bold red]error:[/] {console.plain(error)}", soft_wrap=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _say_interrupted()
        sys.exit(INTERRUPTED)
    except typer.Exit as stop:
        sys.exit(stop.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("click", "typer"):
            show = getattr(error, "show", None)
            if callable(show):
                show()
            sys.exit(getattr(error, "exit_code", 2))
        raise
    if code == INTERRUPTED:
        _say_interrupted()
    sys.exit(code if isinstance(code, int) else 0)


def _say_interrupted() -> None:
    said = "interrupted: everything done so far is saved, the same command goes on from there"
    console.stderr().print(said, soft_wrap=True)
