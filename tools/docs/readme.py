"""README.md: what the committed results say in two lines, and how much there is."""

from __future__ import annotations

import csv

from .catalog import entries
from .markdown import table
from .places import ROOT
from .still_occurring import matrix, releases

STATES = {"closed": "closed, for whatever reason", "open": "open"}


def counted() -> str:
    """How many items, cases, releases and verdicts come with embers."""
    names = {row["case"] for row in matrix()}
    return (
        f"With embers come {len(entries()):,} items of PyTorch's tracker with labels and links, {len(names)} cases, and their "
        f"{len(matrix()):,} verdicts on {len(releases())} releases ({releases()[0]} to {releases()[-1]})."
    )


def still_occurring() -> str:
    """Of the reports with a case that could be tested on the newest release: how many occur there."""
    with (ROOT / "analysis" / "results" / "still_occurring.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["scheme"] == "all"]
    lines = [
        (STATES[row["state"]], row["n"], row["k"], f"{float(row['share']):.0f} % [{float(row['low']):.0f}, {float(row['high']):.0f}]")
        for row in rows
    ]
    headings = ("state on the tracker", "reports tested:", f"occur on {rows[0]['release']}:", "share [95 % interval]:")
    return table(headings, lines)
