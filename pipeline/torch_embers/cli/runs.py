"""Commands that make cases, run them in the sandbox, and print the results."""

import sys
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from torch_embers.cli.options import (
    AddressOption,
    DatabaseOption,
    ItemArgument,
    ItemsArgument,
    JobsOption,
    JsonOption,
    RepoOption,
    ShardOption,
    StateOption,
    UnsandboxedOption,
    builds_option,
    settings_at,
    shard_of,
    store_at,
)
from torch_embers.errors import InputError, SandboxError
from torch_embers.json_output import as_json, print_json

if TYPE_CHECKING:
    from torch_embers.minimize.loop import ReductionResult
    from torch_embers.recheck.recheck import Recheck
    from torch_embers.recheck.release import ReleaseRequest
    from torch_embers.run.cases import RunRequest
    from torch_embers.search.command import Hit
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


def doctor(json: JsonOption = False) -> None:
    """Prove on this machine every guarantee that the sandbox gives."""
    from torch_embers import console
    from torch_embers.sandbox import doctor as examining

    proof = examining.prove(again=True)
    if json:
        print_json(examining.as_table(proof))
    else:
        console.print_lines(examining.report(proof))
    if not proof.complete:
        raise typer.Exit(SandboxError.exit_code)


def run(
    cases: Annotated[
        list[str] | None, typer.Argument(help="Cases by name, items by number; all cases where none is given.")
    ] = None,
    reports: Annotated[
        bool, typer.Option("--reports", help="Run the scripts of all reports, or of these items, on all builds.")
    ] = False,
    build: Annotated[list[str] | None, builds_option("current; for scripts of reports all")] = None,
    jobs: JobsOption = 2,
    force: Annotated[bool, typer.Option("--force", help="Run again although verdicts are known.")] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--cases",
            help="Run the case files of this folder; kept only in a --database that is given.",
            metavar="FOLDER",
        ),
    ] = None,
    kind: Annotated[
        Literal["advisory", "closing"] | None,
        typer.Option(help="Run the shipped cases of this kind; kept only in a --database that is given."),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            help="Look for silent errors in cases, items or script files instead: layout, precision, or both."
        ),
    ] = None,
    shard: ShardOption = None,
    state: StateOption = None,
    address: AddressOption = None,
    repo: RepoOption = None,
    unsandboxed: UnsandboxedOption = False,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Run cases and scripts of reports and say which bugs occur.

    All runs are in the sandbox. An item by number: its cases (k of n runs, control, detectable rate), and what the
    script of its report does on all builds.
    """
    from torch_embers import console
    from torch_embers.run import cases as command
    from torch_embers.run import report_scripts

    wanted = settings_at(database, repo)
    part = shard_of(shard)
    request = command.RunRequest(cases or (), build or (), folder, kind, jobs, force, unsandboxed, part, state, address)
    apart = folder is not None or kind is not None
    if oracle is not None:
        if address is not None:
            raise InputError("--oracle runs on this machine only: leave --address out")
        _run_watched(oracle, request, database, wanted, json=json)
    numbers = [] if apart else report_scripts.numbers_of(request.cases, wanted.repo)
    if reports or numbers:
        if not reports and (named := report_scripts.cases_of(store_at(wanted.database), request.cases, wanted.repo)):
            _run_cases(wanted, replace(request, cases=named), database, json=json)
        _run_reports(wanted, request, numbers if request.cases else None, json=json)
    elif (number := _run_cases(wanted, request, database, json=json)) and not json and not apart:
        console.print_next(
            f"`embers show {number}` prints all that is known of it, `embers list --matrix` all verdicts"
        )


def _run_reports(wanted: "Settings", request: "RunRequest", numbers: "list[int] | None", *, json: bool) -> None:
    """Print the answers for a few items, now that their scripts ran, or a table of the scripts of all reports."""
    from rich.progress import TimeRemainingColumn

    from torch_embers import console
    from torch_embers.cli.print_item import print_answer
    from torch_embers.cli.print_runs import print_scripts
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run import report_scripts
    from torch_embers.views.item_evidence import report_of

    with ProgressBar("running", TimeRemainingColumn(), unit="runs") as progress:
        told = report_scripts.run_reports(store_at(wanted.database), wanted, request, numbers, progress)
    if json:
        print_json([one.row() for one in told])
    elif numbers is None:
        print_scripts(report_scripts.summary(told))
    else:
        for number in dict.fromkeys(numbers):
            typer.echo()
            print_answer(report_of(store_at(wanted.database), wanted.repo, number))
        console.print_next(f"`embers show {numbers[0]}` prints all that is known of it")


def _run_cases(wanted: "Settings", request: "RunRequest", database: Path | None, *, json: bool) -> int | None:
    """Print each verdict as it is reached, and a summary; the number of an item of the first case that has one."""
    from rich.progress import TimeRemainingColumn

    from torch_embers.cli import print_runs
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run import cases as command

    apart = request.folder is not None or request.kind is not None
    cells = []
    with ExitStack() as stack:
        store = stack.enter_context(command.database_for(database)) if apart else store_at(wanted.database)
        progress = stack.enter_context(ProgressBar("running", TimeRemainingColumn(), unit="runs"))
        try:
            for reached in command.run_cases(store, wanted, request, progress):
                if not json:
                    print_runs.print_reached(reached)
                cells.append(reached.cell)
        finally:  # Ctrl-C, too, leaves a summary of what was reached
            if json:
                print_json([cell.row() for cell in cells])
            elif cells:
                print_runs.print_summary(command.summary(store, cells))
                if apart and database is None:
                    typer.echo("nothing was kept: `--database FILE` keeps cases and verdicts; `embers mine` makes one")
    return next((number for cell in cells for _, number in cell.case.issues), None)


def merge(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders that --state has saved, or journals of hunts.", metavar="FOLDER...")
    ],
    out: Annotated[Path, typer.Option(help="Where journals of hunts are brought.")] = Path("hunt"),
    database: DatabaseOption = None,
) -> None:
    """Bring in what other machines ran; nothing is added twice."""
    from torch_embers.hunt import journal as hunts
    from torch_embers.run import state

    folders = [folder for folder in folders if folder.suffix != ".lock"]  # of a folder beside it: shard-* names both
    journals = [folder for folder in folders if (folder / hunts.FILE).is_file()]
    sealed = [folder for folder in folders if (folder / state.MANIFEST).is_file()]
    if missing := [folder for folder in folders if folder not in (*journals, *sealed)]:
        raise InputError(f"{missing[0]} holds no {state.MANIFEST}: name folders that --state has saved")
    for folder in journals:
        typer.echo(f"{folder}: {hunts.merge(folder, out)} new operators in {out}")
    if sealed:
        with store_at(database).writer("merge") as writer:
            for folder in sealed:
                typer.echo(f"{folder}: {state.load(writer, folder)} new rows")


def _run_watched(
    oracle: str, request: "RunRequest", database: Path | None, wanted: "Settings", *, json: bool
) -> NoReturn:
    """`embers run --oracle`: print what oracles found in each script."""
    from torch_embers.builds.registry import Registry
    from torch_embers.cli import print_runs
    from torch_embers.hunt.sanitize import oracles_of
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run import cases as command
    from torch_embers.run import oracles as watched

    oracles = oracles_of(oracle)
    builds = command.chosen_builds(Registry(wanted.builds_dir), request.builds)
    done = []
    with ExitStack() as stack:
        scripts = bool(request.cases) and all(watched.is_script(name) for name in request.cases)
        store = stack.enter_context(command.database_for(database)) if scripts else store_at(wanted.database)
        progress = stack.enter_context(ProgressBar("running", unit="scripts"))
        for one in watched.run_watched(store, wanted, request, oracles, builds, progress):
            done.append(one)
            if not json:
                print_runs.print_watched(one)
    if json:
        print_json([one.row() for one in done])
    raise typer.Exit(watched.exit_code(done))


def minimize(
    number: Annotated[int | None, typer.Argument(min=1, help="Number of the report.", show_default="none")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All scripts with a flip, or, with --build, that ran; goes on where it was.")
    ] = False,
    build: Annotated[
        str | None,
        typer.Option("--build", "-b", help="Keep what it does on this build.", show_default="both sides of its flip"),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=64, help="With --all: scripts at a time.")] = 2,
    minutes: Annotated[
        float, typer.Option(min=0.1, help="With --all: minutes for one script; it then stops with what it has.")
    ] = 15,
    shard: ShardOption = None,
    state: StateOption = None,
    repo: RepoOption = None,
    database: DatabaseOption = None,
) -> None:
    """Shrink the script of a report, keeping what it does."""
    from torch_embers.builds.registry import Registry
    from torch_embers.cli import print_runs
    from torch_embers.minimize import loop
    from torch_embers.minimize.minimize import MinimizeError
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run import state as states

    if every is (number is not None):
        raise InputError("give the number of one report, or all of them with --all")
    wanted = settings_at(database, repo)
    limit = minutes if every else None
    request = loop.MinimizeRequest(wanted.repo, number, build, jobs, limit, shard_of(shard))
    store, registry = store_at(wanted.database), Registry(wanted.builds_dir)
    reached: list[ReductionResult] = []
    with states.kept(store, "minimize", state) as writer, ProgressBar("minimising", unit="scripts") as progress:
        todo = loop.plan(store, registry, request)
        try:
            for one in loop.minimize_all(writer, registry, todo, request, progress):
                reached.append(one)
                if every:
                    print_runs.print_minimized(one, len(reached), len(todo.tasks))
        finally:  # Ctrl-C, too, leaves a summary
            if every:
                print_runs.print_minimized_all(reached, todo)
    if number is not None:
        [one] = reached
        if one.made is None:
            raise MinimizeError(one.detail)
        print_runs.print_reduction(one.made)


def matrix(
    csv: Annotated[Path | None, typer.Option(help="Also write it as CSV.")] = None,
    add_to: Annotated[Path | None, typer.Option(help="Also add it to a CSV file that --csv wrote.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Also write it as JUnit XML.")] = None,
    jsonl: Annotated[Path | None, typer.Option(help="Also write it as JSON Lines.")] = None,
    own: Annotated[bool, typer.Option("--own", help="Only verdicts of this database's own runs.")] = False,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Print the verdict of every case on every build."""
    from torch_embers.cli import print_runs
    from torch_embers.views import matrix_files

    entries = matrix_files.save_matrix(store_at(database), csv, junit, jsonl, only_own=own)
    if add_to is not None:
        print_runs.print_not_added(matrix_files.add_to_file(entries, add_to))
    if json:
        print_json([entry.row() for entry in entries])
    else:
        print_runs.print_matrix(entries)


def judge(
    item: ItemArgument,
    reason: Annotated[str, typer.Option(help="Why, in your own words; quote nothing of the report.")],
    right_script: Annotated[
        Literal["yes", "no", "unclear"] | None, typer.Option(help="Is the script the one that the report is about?")
    ] = None,
    match: Annotated[
        Literal["as_reported", "as_expected", "other", "unclear"] | None, typer.Option(help="What does a run show?")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            help="With --match: the release whose run it speaks of.", metavar="VERSION", show_default="newest"
        ),
    ] = None,
    relation: Annotated[
        Literal["same", "sibling", "none", "unknown"] | None,
        typer.Option(help="What has the bug that the script shows to do with that of the report?"),
    ] = None,
    annotator: Annotated[str | None, typer.Option(help="Who judges.", show_default="your account")] = None,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Say of a report's script what a program cannot."""
    from torch_embers import judgements
    from torch_embers.normalize import item_named
    from torch_embers.views import judging

    wanted = settings_at(database, repo)
    store = store_at(wanted.database)
    given = {"right_script": right_script, "match": match, "script_relation": relation}
    home, number = item_named(item, wanted.repo)
    rows = judging.judge(store, home, number, given, reason, on=on, reader=annotator)
    if json:
        print_json([row.model_dump(exclude_defaults=True) for row in rows])
        return
    said = ", ".join(f"{row.question} {row.answer}" for row in rows)
    file = store.path.with_name(judgements.OWN_FILE)
    typer.echo(f"#{number}: {said}, says {rows[0].reader}; it counts from now on (kept in {file})")


def recheck(
    only: Annotated[str, typer.Option(help="Items in this state: open, closed or all.")] = "all",
    build: Annotated[list[str] | None, builds_option("all")] = None,
    every: Annotated[float, typer.Option(min=0, help="Days after which a verdict is due again.")] = 7,
    jobs: JobsOption = 2,
    out: Annotated[Path | None, typer.Option(help="Folder for recheck.json, .md, .xml (JUnit) and .atom.")] = None,
    state: StateOption = None,
    annotations: Annotated[
        bool, typer.Option("--annotations", help="Print what changed as annotations of GitHub Actions instead.")
    ] = False,
    release_candidate: Annotated[
        str | None,
        typer.Option(help="Compare this build with the release before it instead.", metavar="VERSION"),
    ] = None,
    times: Annotated[
        bool, typer.Option("--times", help="With --release-candidate: also time common calls, with all your rights.")
    ] = False,
    unsandboxed: UnsandboxedOption = False,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Re-check bugs and print what changed since last time.

    What changed: came back, fixed, closed but there, open but gone. Statuses refer to the newest of the builds. Exit
    code 10 if there is something to tell.
    """
    from torch_embers import settings
    from torch_embers.console import print_page
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.recheck import events, notices, release, reports, service

    wanted = settings.load(database=database)
    if release_candidate is not None:
        candidate = release.ReleaseRequest(release_candidate, jobs, unsandboxed)
        _compare_release(wanted, candidate, out, times=times, json=json)
    if times:
        raise InputError(
            "--times goes with --release-candidate VERSION: `embers research perf` times calls over all builds"
        )

    def tell(found: "Recheck") -> None:
        progress.stop()
        if json:
            print_json(reports.as_table(found))
        elif annotations:
            for line in notices.as_annotations(found, events.rules().annotations.most):
                typer.echo(line)
        else:
            print_page(reports.page(found, "txt"))
        sys.stdout.flush()  # what waits to be written is not told

    with ProgressBar("re-checking") as progress:
        request = service.ServiceRequest(only, build or (), every, jobs, out, state, unsandboxed)
        found = service.run_recheck(store_at(wanted.database), wanted, request, progress, tell)
    raise typer.Exit(reports.exit_code(found))


def _compare_release(
    wanted: "Settings", request: "ReleaseRequest", out: Path | None, *, times: bool, json: bool
) -> NoReturn:
    """Print what broke, got fixed and became slower against the release before, and end the command."""
    from torch_embers import folders
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.recheck import release

    with ProgressBar("comparing") as progress:
        made = release.compare_release(store_at(wanted.database), wanted, request, progress)
    if times:
        with ProgressBar("timing", unit="processes") as progress:
            made = release.compare_times(made, progress)
    text = release.markdown(made)
    if out is not None:
        folders.write(out / "release.md", text.encode())
        folders.write(out / "release.json", as_json(release.as_table(made)).encode())
    if json:
        print_json(release.as_table(made))
    else:
        typer.echo(text)
    raise typer.Exit(made.exit_code)


def show_item(
    items: ItemsArgument,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Print all that is known of an item, the answer first."""
    from torch_embers import packages
    from torch_embers.cli.print_item import print_item
    from torch_embers.normalize import item_named
    from torch_embers.views.item_evidence import report_of

    wanted = settings_at(database, repo)
    store = store_at(wanted.database)
    rows = []
    for place, item in enumerate(dict.fromkeys(item_named(text, wanted.repo) for text in items)):
        report = report_of(store, *item)
        near = _possible_duplicates(store, *item) if packages.installed("classify") else []
        rows.append(report.row() | {"possible_duplicates": [asdict(hit) for hit in near]})
        if json:
            continue
        if place:
            typer.echo()
        print_item(report)
        if near:
            from torch_embers.search.show import print_duplicates

            print_duplicates(near)
    if json:
        print_json(rows if len(rows) > 1 else rows[0])


def _possible_duplicates(store: "Store", repo: str, number: int) -> "list[Hit]":
    from torch_embers.search.command import possible_duplicates

    return possible_duplicates(store, repo, number)
