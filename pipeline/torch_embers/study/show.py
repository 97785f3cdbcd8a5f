"""What `embers study` prints. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stderr, stdout, table
from torch_embers.study import measured
from torch_embers.study.claims import checks, claims_table
from torch_embers.study.claims.verdicts import VERDICTS
from torch_embers.study.figures.display import display

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.study.claims.verdicts import Report
    from torch_embers.study.command import Done
    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Table
    from torch_embers.study.findings import Outcome
    from torch_embers.study.measured import Measured
    from torch_embers.study.samples import Plan


LONG = ("definition", "paper_name")
"""Columns that are too long for a terminal; the CSV has them."""
MOST_ROWS = 15
"""Rows of a table that are printed; the CSV has them all."""


def print_done(done: Done, out: Path) -> None:
    """Print what a study made: tables and findings, claims, results of experiments, files."""
    if done.study is not None:
        print_study(done.study, done.outcomes)
    if done.report is not None:
        print_claims(done.report, whole=done.study is None)
    if done.measured is not None:
        print_findings(done.measured)
    console = stdout()
    console.print(f"\n{len(done.paths)} files in {plain(out)}", soft_wrap=True)


def print_interrupted(out: Path) -> None:
    """Say what Ctrl-C left: whole files of the finished parts."""
    text = f"interrupted: what was finished is in {plain(out)}; the same command begins anew"
    stderr().print(text, soft_wrap=True)


def print_study(study: Study, outcomes: Sequence[Outcome]) -> None:
    """Print the tables, who was counted in the figures, and the findings."""
    out = stdout()
    last = study.plan.today.last
    out.print(f"[bold]the study as of {last}[/]: {plain(study.frame.words)}")
    for made in study.tables:
        if made.definition.kind == "table":
            print_table(made, study.plan)
    sizes = [(sample.label, study.sizes[sample.name]) for sample in study.plan.samples]
    out.print(table("\nSamples", [("sample", False), ("items", True)], sizes))
    rows = [(made.definition.id, made.definition.heading, len(made.rows) or made.notes[-1]) for made in study.tables]
    out.print(table("\nTables and figures", [("file", False), ("what", False), ("rows", True)], rows))
    findings = [
        (o.finding.says, o.numbers, "supported" if o.supported else f"insufficient data: {o.insufficient}")
        for o in outcomes
    ]
    out.print(table("\nFindings", [("finding", False), ("here", False), ("", False)], findings))


def print_table(made: Table, plan: Plan) -> None:
    """Print the first rows of a table with its notes."""
    out = stdout()
    names, rows = display(made, plan, LONG)
    columns = [(name, False) for name in names]
    out.print(table(f"\n{made.definition.heading}", columns, rows[:MOST_ROWS]))
    if len(rows) > MOST_ROWS:
        out.print(f"... {len(rows) - MOST_ROWS} more rows in {plain(made.definition.id)}.csv", style="dim")
    for note in made.notes:
        out.print(plain(note), style="dim", soft_wrap=True)


def print_findings(found: Measured) -> None:
    """Print what the times of figures 8 and 9 say, when they were measured, and on which machine."""
    stdout().print("\nExperiments")
    for line in (*measured.findings(found), found.where):
        stdout().print(f"- {plain(line)}", soft_wrap=True)


def print_claims(report: Report, *, whole: bool = True) -> None:
    """Print the claims with our figures, verdicts and consistency, then how many have each verdict.

    Args:
        report: the claims with their verdicts.
        whole: every claim; otherwise the counts alone.
    """
    out = stdout()
    if whole:
        columns = [(name, False) for name in claims_table.COLUMNS]
        out.print(table("", columns, claims_table.rows(report)))
        out.print(f"\n{plain(report.frame.words)}")
    counted = [("our figure rests on", False), *((verdict, True) for verdict in VERDICTS)]
    out.print(
        table("\nClaims" if not whole else "", counted, [(b, *counts) for b, counts in claims_table.by_basis(report)])
    )
    share = report.verdicts["cannot_be_compared"] / len(report.results)
    inconsistent = sum(bool(checks.failed(r.checks)) for r in report.results)
    out.print(
        f"\n{len(report.results)} claims: "
        + ", ".join(f"{report.verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        + f" ({share:.0%}); {inconsistent} with a failed consistency check"
    )
    out.print(claims_table.replicated(report))
