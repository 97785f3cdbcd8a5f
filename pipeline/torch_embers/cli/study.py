"""The commands `embers study ...`: what the study prints, checked against this database."""

from pathlib import Path
from typing import Annotated

import typer

from torch_embers.cli.options import DatabaseOption, store_at

study_app = typer.Typer(help="Check what the study prints against this database, claim by claim.", no_args_is_help=True)


@study_app.command("claims")
def study_claims(
    out: Annotated[Path | None, typer.Option(help="Also write claims.csv and claims.json into this folder.")] = None,
    database: DatabaseOption = None,
) -> None:
    """Judge every number that the study prints: our figure, a verdict, and whether the number can be right at all."""
    from torch_embers.study import show
    from torch_embers.study.claims import claims_table, judge

    report = judge.on_store(store_at(database))
    show.print_claims(report, claims_table.write(report, out) if out is not None else ())
