"""The command `embers study`: the tables, figures and claims of the paper, from this database."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from torch_embers.cli.options import INTERRUPTED, DatabaseOption, JsonOption, store_at
from torch_embers.json_output import print_json


def study(
    what: Annotated[
        list[str] | None,
        typer.Argument(help="tables, claims, figures: one or more.", show_default="all"),
    ] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", help="Count what there was on this day (UTC).", show_default="today")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("analysis/results"),
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Rebuild the study from this database, beside the paper's numbers.

    Its parts: tables, claims, figures. Every number is printed with its count of items and how they were selected;
    findings need enough of them. Figures 8 and 9 are measured instead, by `python analysis/figures_8_and_9.py` in a
    checkout.
    """
    from torch_embers.console import plain, stderr
    from torch_embers.progress_bar import ProgressBar
    from torch_embers.study import parts, printing
    from torch_embers.study.samples import parse_day

    day = parse_day(as_of) if as_of else None
    try:
        with ProgressBar("study", unit="steps") as progress:
            done = parts.run(store_at(database), what or (), out, progress, as_of=day)
    except KeyboardInterrupt:
        told = f"interrupted: what was finished is in {plain(out)}; the same command begins anew"
        stderr().print(told, soft_wrap=True)
        sys.exit(INTERRUPTED)  # typer.Exit would have the usual words said as well
    if json:
        print_json(parts.as_table(done))
    else:
        printing.print_done(done, out)


def silent(
    out: Annotated[Path | None, typer.Option(help="Also write the rows to this CSV file.")] = None,
    json: JsonOption = False,
    database: DatabaseOption = None,
) -> None:
    """Count which silent-correctness issues of 2026 still occur."""
    from torch_embers import console, folders
    from torch_embers.research import silent_census

    found = silent_census.census(store_at(database))
    if out is not None:
        folders.write(out, silent_census.as_csv(found).encode())
    if json:
        print_json(found)
    else:
        console.print_lines(silent_census.lines(found))
