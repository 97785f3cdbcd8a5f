"""Commands that say since when a bug is there or gone, and what a triager can paste about it."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from torch_embers.cli.options import (
    DatabaseOption,
    ItemArgument,
    JobsOption,
    JsonOption,
    RepoOption,
    UnsandboxedOption,
    settings_at,
    store_at,
)
from torch_embers.json_output import print_json

OutOption = Annotated[Path | None, typer.Option(help="Also write the report as Markdown into this file.")]


def bisect(
    case: Annotated[str | None, typer.Argument(help="A case by name, or the number of an item.")] = None,
    good: Annotated[str | None, typer.Option(help="Version that is said to be without the bug.")] = None,
    bad: Annotated[str | None, typer.Option(help="Version that is said to show the bug.")] = None,
    script: Annotated[Path | None, typer.Option(help="Bisect this script instead, in the sandbox.")] = None,
    predicate: Annotated[
        str | None,
        typer.Option(help="Bisect this command instead: 0 good, 125 skip, 1 to 127 bad, 128 and above stop."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(min=1, help="Runs of a script or command that measure how often it fails.", show_default="10"),
    ] = None,
    validate: Annotated[
        int | None,
        typer.Option(min=0, help="Builds to try at random outside the range that was found.", show_default="2"),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds of one run of a script or command.", show_default="600"),
    ] = None,
    hang_is: Annotated[
        Literal["bad", "skip"],
        typer.Option(help="What a run of a script or command that is killed at --timeout means."),
    ] = "skip",
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure anew; use no earlier verdict.")] = False,
    install: Annotated[bool, typer.Option("--install", help="Install the releases that are asked for.")] = False,
    evict: Annotated[bool, typer.Option("--evict", help="Remove afterwards what was installed for this.")] = False,
    nightly: Annotated[
        bool, typer.Option("--nightly", help="Go on over nightlies between the two releases found.")
    ] = False,
    index: Annotated[
        str | None, typer.Option(help="Nightlies from this index or folder of wheels.", metavar="URL|FOLDER")
    ] = None,
    commits: Annotated[
        Path | None, typer.Option(help="List the likeliest commits of the range from this clone.", metavar="CLONE")
    ] = None,
    out: OutOption = None,
    jobs: JobsOption = 2,
    unsandboxed: UnsandboxedOption = False,
    repo: RepoOption = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Find the build since which a bug is there, or gone.

    By halves, with controls and a stated confidence. Exit code 11 if it cannot be told.
    """
    from torch_embers import console, folders
    from torch_embers.bisect import bisection, bisector
    from torch_embers.bisect.request import BisectRequest
    from torch_embers.builds.install import NIGHTLY
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.run import cases

    wanted = settings_at(database, repo)
    request = BisectRequest(
        name=case or "",
        good=good or "",
        bad=bad or "",
        script=script,
        predicate=predicate or "",
        runs=runs or 0,
        validation=validate,
        fresh=fresh,
        install=install,
        evict=evict,
        index=index or (NIGHTLY if nightly else ""),
        clone=commits,
        jobs=jobs,
        timeout=timeout or 0,
        hang_is=hang_is,
        unsandboxed=unsandboxed,
    )
    with ExitStack() as stack:
        needs_none = case is None and not wanted.database.is_file()
        store = stack.enter_context(cases.database_for(None)) if needs_none else store_at(wanted.database)
        made = bisector.bisect(store, wanted, request, stack.enter_context(ProgressBar("bisecting")))
    if out is not None:
        folders.write(out, bisection.markdown(made, wanted.repo).encode())
    if json:
        print_json(bisection.as_table(made))
    else:
        console.print_lines(bisection.lines(made), whole=True)
    raise typer.Exit(bisector.ANSWERED if made.answered else bisector.CANNOT_TELL)


def paste(
    item: ItemArgument,
    out: OutOption = None,
    repo: RepoOption = None,
    _short: Annotated[
        bool, typer.Option("--short", hidden=True, help="Of the former name; there is one form.")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", hidden=True, help="Of the former name: as `embers show --json`.")
    ] = False,
    database: DatabaseOption = None,
) -> None:
    """Print the answer as text to paste, with every release and the whole scripts; it is never posted."""
    from torch_embers import console, folders
    from torch_embers.normalize import item_named
    from torch_embers.views import paste
    from torch_embers.views.item_evidence import report_of

    wanted = settings_at(database, repo)
    report = report_of(store_at(wanted.database), *item_named(item, wanted.repo))
    text = paste.text(report)
    if out is not None:
        folders.write(out, text.encode())
    if json:
        print_json(report.row())
    else:
        typer.echo(text, nl=False)
        if len(text) > paste.LONGEST_COMMENT:
            said = f"note: GitHub takes {paste.LONGEST_COMMENT:,} characters, this has {len(text):,}: leave scripts out"
            console.stderr().print(said)
