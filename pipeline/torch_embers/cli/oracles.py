"""Commands around oracles: sanitize, hunt, skips, perf."""

from pathlib import Path
from typing import Annotated, Any

import typer

from torch_embers.cli.options import (
    AddressOption,
    BuildOption,
    JobsOption,
    JsonOption,
    MarginOption,
    ShardOption,
    UnsandboxedOption,
    fraction,
    shard_of,
)
from torch_embers.json_output import print_json

PASS_ON: dict[str, Any] = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""Options behind the script are the script's own."""


def sanitize(
    script: Annotated[Path, typer.Argument(help="A Python script that uses torch.")],
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of the script.")] = None,
    oracle: Annotated[
        str, typer.Option(help="Oracles, separated by commas: layout, precision; the others compare two runs.")
    ] = "layout",
    every: Annotated[int, typer.Option(min=1, help="Look at one call in so many, for long trainings.")] = 1,
    op: Annotated[list[str] | None, typer.Option(help="Look at this operator alone; repeat for more.")] = None,
    python: Annotated[Path | None, typer.Option(help="Interpreter with torch.", show_default="that of embers")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Also write the findings as SARIF.")] = None,
    cases: Annotated[Path | None, typer.Option(help="Folder for a case file per finding.")] = None,
    json: JsonOption = False,
) -> None:
    """Run your own script and report silent errors with their lines.

    It runs under oracles, with your rights. Exit code 10 with findings, else that of the script.
    """
    from torch_embers import console
    from torch_embers.hunt import sanitize as command
    from torch_embers.oracles.finding import describe

    command.check_places(sarif, cases)
    done = command.sanitize(script, arguments or (), python=python, oracles=oracle, every=every, ops=op or ())
    for line in command.undecided(done.looked):
        typer.echo(console.plain(line), err=True)
    if json:
        print_json([finding.row() for finding in done.findings])
    else:
        for finding in done.findings:
            typer.echo(console.plain(describe(finding)))
        typer.echo(command.summary(done))
    written = command.save(done, sarif, cases)
    for path in written if not json else ():
        typer.echo(f"case: {path}")
    raise typer.Exit(done.exit_code)


def hunt(
    action: Annotated[
        list[str] | None,
        typer.Argument(help="Nothing to hunt; `report ID`: draft of a report; `coverage FILE`: the map as Parquet."),
    ] = None,
    ops: Annotated[str, typer.Option(help="Operators, separated by commas.", show_default="all")] = "",
    dtypes: Annotated[str, typer.Option(help="Dtypes of the samples, separated by commas.")] = "float32",
    modes: Annotated[
        str, typer.Option(help="What is called, separated by commas.")
    ] = "forward,backward,inplace,out,kernels",
    device: Annotated[str, typer.Option(help="Device on which they are called: cpu, cuda or mps.")] = "cpu",
    build: BuildOption = None,
    out: Annotated[Path, typer.Option(help="Folder of the journal; what stands there is not run again.")] = Path(
        "hunt"
    ),
    jobs: JobsOption = 2,
    shard: ShardOption = None,
    address: AddressOption = None,
    unsandboxed: UnsandboxedOption = False,
    json: JsonOption = False,
) -> None:
    """Look for unknown bugs in every operator of a build.

    Each is called with its arguments and destinations in many layouts. Exit code 10 with findings that
    nobody has judged yet.
    """
    from torch_embers.hunt import summary
    from torch_embers.hunt.sweep import HuntRequest

    if action:
        typer.echo(summary.act(action, out))
        return
    names = [op for op in ops.split(",") if op]
    request = HuntRequest(names, dtypes.split(","), out, modes.split(","), jobs, device, shard_of(shard))
    reached = summary.run(build or (), request, unsandboxed=unsandboxed, address=address)
    if json:
        print_json([one.row() for one in reached.done])
    else:
        for line in reached.lines():
            typer.echo(line)
    raise typer.Exit(reached.exit_code)


def skips(
    build: BuildOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for skips.csv and its journal; what stands there is not run again.", show_default="no"
        ),
    ] = None,
    unsandboxed: UnsandboxedOption = False,
    json: JsonOption = False,
) -> None:
    """Say which skips of PyTorch's own operator tests are stale.

    The list is that of the installed build. Eight tests are asked anew, entries of all others are counted.
    """
    from dataclasses import asdict

    from torch_embers import settings
    from torch_embers.builds.registry import Registry
    from torch_embers.builds.work import Machine
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.research import skips as command
    from torch_embers.run.cases import chosen_builds

    registry = Registry(settings.load().builds_dir)
    with ProgressBar("reading skips") as progress:
        builds = chosen_builds(registry, build or ())
        entries = command.run(builds, Machine(registry, unsandboxed, progress), out, progress)
    if json:
        print_json([asdict(one) for one in entries])
    else:
        for line in command.lines(entries):
            typer.echo(line)


def perf(
    script: Annotated[
        Path | None,
        typer.Argument(
            help="Your own script, or a case by name or number of its item.",
            show_default="none: the calls of data/perf.toml",
        ),
    ] = None,
    arguments: Annotated[list[str] | None, typer.Argument(help="Arguments of the script.")] = None,
    build: BuildOption = None,
    call: Annotated[list[str] | None, typer.Option(help="Time this call alone; repeat for more.")] = None,
    cases: Annotated[bool, typer.Option("--cases", help="Time all cases of bugs that make something slow.")] = False,
    rounds: Annotated[
        int | None, typer.Option(min=6, help="Fresh processes per build.", show_default="that of data/perf.toml")
    ] = None,
    margin: MarginOption = None,
    csv: Annotated[Path | None, typer.Option(help="Also write a row per call or case and build.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Also draw what changed, as SVG and PNG.")] = None,
    json: JsonOption = False,
) -> None:
    """Time calls, cases or your script: what became slower or faster.

    Builds take turns, and what did not stay so is left out. Everything runs with your rights, not in the
    sandbox. Exit code 10 where something became slower.
    """
    from torch_embers.perf import comparison

    timed = comparison.run(
        script, arguments or (), build or (), call or (), rounds, cases=cases, margin=fraction(margin)
    )
    comparison.save(timed, csv, picture)
    if json:
        print_json(timed.table())
    else:
        for line in comparison.lines(timed):
            typer.echo(line)
    raise typer.Exit(comparison.exit_code(timed))
