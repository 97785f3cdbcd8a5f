"""What `embers study` prints. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.console import plain, stdout, table
from torch_embers.study.claims import claims_table
from torch_embers.study.claims.judge import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.study.claims.judge import Report


def print_claims(report: Report, written: Sequence[Path] = ()) -> None:
    """Print every claim with our figure, verdict and consistency, then how many have each verdict."""
    out = stdout()
    columns = [(name, False) for name in claims_table.COLUMNS]
    out.print(table("", columns, claims_table.rows(report)))
    out.print(f"\n{plain(report.frame.words)}")
    counted = [("our figure rests on", False), *((verdict, True) for verdict in VERDICTS)]
    out.print(table("", counted, [(basis, *counts) for basis, counts in claims_table.by_basis(report)]))
    share = report.verdicts["cannot_be_compared"] / len(report.results)
    inconsistent = sum(any(not f.holds for f in r.findings) for r in report.results)
    out.print(
        f"\n{len(report.results)} claims: "
        + ", ".join(f"{report.verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        + f" ({share:.0%}); {inconsistent} with a failed consistency check"
    )
    for path in written:
        out.print(f"written: {plain(path)}", soft_wrap=True)
