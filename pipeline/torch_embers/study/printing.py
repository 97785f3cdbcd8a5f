"""What `embers study` prints. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, print_table, stdout
from torch_embers.study.claims import claims_table
from torch_embers.study.claims.verdicts import VERDICTS
from torch_embers.study.figures.display import display

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.study.claims.verdicts import ClaimsReport
    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Table
    from torch_embers.study.findings import Outcome
    from torch_embers.study.parts import Done
    from torch_embers.study.samples import StudyPlan


LONG = ("definition", "paper_name")
"""Columns that are too long for a terminal; the CSV has them."""
MOST_ROWS = 15
"""Rows of a table that are printed; the CSV has them all."""


def print_done(done: Done, out: Path) -> None:
    """Print what a study made: tables and findings, claims, how many files."""
    if done.study is not None:
        print_study(done.study, done.outcomes)
    if done.report is not None:
        print_claims(done.report, whole=done.study is None)
    stdout().print(f"\n{len(done.paths)} files in {plain(out)}", soft_wrap=True)


def print_study(study: Study, outcomes: Sequence[Outcome]) -> None:
    """Print the tables, who was counted in the figures, and the findings."""
    out = stdout()
    last = study.plan.today.last
    out.print(f"[bold]the study as of {last}[/]: {plain(study.frame.words)}")
    for made in study.tables:
        if made.definition.kind == "table":
            _print_table(made, study.plan)
    sizes = [(sample.label, study.sizes[sample.name]) for sample in study.plan.samples]
    print_table(["sample", "items"], sizes, title="\nSamples")
    rows = [(made.definition.id, made.definition.heading, len(made.rows) or made.notes[-1]) for made in study.tables]
    print_table(["file", "what", "rows"], rows, title="\nTables and figures")
    findings = [
        (o.finding.says, o.numbers, "supported" if o.supported else f"insufficient data: {o.insufficient}")
        for o in outcomes
    ]
    print_table(["finding", "here", ""], findings, title="\nFindings")


def _print_table(made: Table, plan: StudyPlan) -> None:
    """Print the first rows of a table with its notes."""
    out = stdout()
    names, rows = display(made, plan, LONG)
    print_table(names, rows[:MOST_ROWS], title=f"\n{made.definition.heading}")
    if len(rows) > MOST_ROWS:
        out.print(f"... {len(rows) - MOST_ROWS} more rows in {plain(made.definition.id)}.csv", style="dim")
    for note in made.notes:
        out.print(plain(note), style="dim", soft_wrap=True)


def print_claims(report: ClaimsReport, *, whole: bool = True) -> None:
    """Print the claims with our figures, verdicts and consistency, then how many have each verdict.

    Args:
        report: the claims with their verdicts.
        whole: every claim; otherwise the counts alone.
    """
    out = stdout()
    if whole:
        print_table(claims_table.COLUMNS, claims_table.rows(report))
        out.print(f"\n{plain(report.frame.words)}")
    counted = [(basis, *counts) for basis, counts in claims_table.by_basis(report)]
    print_table(["our figure rests on", *VERDICTS], counted, title="" if whole else "\nClaims")
    share = report.verdicts["cannot_be_compared"] / len(report.results)
    inconsistent = sum(bool(result.claim.failed) for result in report.results)
    out.print(
        f"\n{len(report.results)} claims: "
        + ", ".join(f"{report.verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        + f" ({share:.0%}); {inconsistent} with a failed consistency check"
    )
    out.print(claims_table.replicated(report))
