"""docs/howto/bisect.md: how often a simulated bisection is right, from bench/bisection.json."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from torch_embers.statistics.intervals import wilson

from .markdown import table
from .places import ROOT

MEASURED = ROOT / "bench" / "bisection.json"


@cache
def _measured() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def _share(row: dict[str, Any]) -> str:
    low, high = wilson(row["right"], row["trials"])
    return f"{row['right'] / row['trials']:.1%} ({low:.1%} to {high:.1%})"


def accuracy() -> str:
    """Every condition over the cases of the matrix that change."""
    made = _measured()
    rows = [
        (
            f"{row['rate']:g}",
            f"{row['untestable']:.0%}",
            "yes" if row["hint"] else "no",
            _share(row),
            f"{row['abstained'] / row['trials']:.1%}",
            f"{row['wrong'] / row['trials']:.2%}",
            f"{row['asked']:.1f}",
            f"{row['log2']:.1f}",
            f"{row['runs']:.0f}",
        )
        for row in made["rows"]
        if row["histories"] == "matrix"
    ]
    headings = (
        "hit rate:", "builds that cannot be tested:", "hint", "right (95 % interval)", "cannot tell:", "wrong:",
        "builds run:", "log2:", "runs:",
    )  # fmt: skip
    text = (
        f"{made['cases']} cases change over 17 releases; each is searched {made['draws']} times under each condition "
        f"(`bench/bisection.py`, {made['made_at']}). `builds run` counts ends, middles, second batches and random "
        "tries; `log2` the halvings that the list needs."
    )
    return f"{text}\n\n{table(headings, rows)}"


def returning() -> str:
    """Histories that come back, by the number of random tries."""
    rows = [
        (str(row["validation"]), _share(row), f"{row['wrong'] / row['trials']:.1%}", f"{row['asked']:.1f}")
        for row in _measured()["rows"]
        if row["histories"] == "returning"
    ]
    return table(("random tries:", "all ranges found (95 % interval)", "part of them missed:", "builds run:"), rows)
