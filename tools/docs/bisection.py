"""docs/howto/bisect.md: how often a simulated bisection is right, from bench/bisection.json."""

from __future__ import annotations

import json
from functools import cache
from statistics import median
from typing import Any

from torch_embers.statistics.intervals import wilson

from .markdown import table
from .places import ROOT

MEASURED, REAL = ROOT / "bench" / "bisection.json", ROOT / "bench" / "bisection_runs.json"


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
            f"{1000 * row['seconds']:.0f}",
        )
        for row in made["rows"]
        if row["histories"] == "matrix"
    ]
    headings = (
        "hit rate:", "builds that cannot be tested:", "hint", "right (95 % interval)", "cannot tell:", "wrong:",
        "builds run:", "log2:", "runs:", "milliseconds of simulation:",
    )  # fmt: skip
    text = (
        f"{made['cases']} cases change over 17 releases; each is searched {made['draws']} times under each condition "
        f"(`bench/bisection.py`, {made['made_at']}). `builds run` counts ends, middles, second batches and random "
        "tries; `log2` the halvings that the list needs. The time is that of the search and the simulated sandbox for "
        "one bisection; what a real one takes stands [below](#real-searches)."
    )
    return f"{text}\n\n{table(headings, rows)}\n\n{_aim(made)}"


AIM, FLAKIEST = 0.95, 0.7
"""Share that should be right, the rest abstained, at this hit rate and above."""


def _aim(made: dict[str, Any]) -> str:
    """Where the aim is met, and each condition that misses it."""
    held = [row for row in made["rows"] if row["histories"] == "matrix" and row["rate"] >= FLAKIEST]
    missed = [
        f"{row['right'] / row['trials']:.1%} at hit rate {row['rate']:g} with {row['untestable']:.0%} of the builds "
        f"untestable, {'with' if row['hint'] else 'without'} a hint"
        for row in held
        if row["right"] < AIM * row["trials"]
    ]
    wrong = sum(row["wrong"] for row in held)
    total = sum(row["trials"] for row in held)
    return (
        f"The aim is {AIM:.0%} right at hit rates of {FLAKIEST:g} and above, the rest *cannot tell*, and none wrong. "
        f"Wrong were {wrong} of {total:,}. "
        + (f"Fewer than {AIM:.0%} right: {'; '.join(missed)}." if missed else "No condition has fewer right.")
    )


def real() -> str:
    """Real searches of drawn cases beside the matrix."""
    if not REAL.exists():
        return "None was measured yet."
    made = json.loads(REAL.read_text(encoding="utf-8"))
    rows = made["bisections"]
    grades = [row["grade"] for row in rows]
    low, high = wilson(grades.count("right"), len(rows))
    seconds, asked = [row["seconds"] for row in rows], [row["builds_run"] for row in rows]
    loads = [row["load"] for row in rows]
    text = (
        f"{len(rows)} cases were drawn from the {made['changing']} that change, and searched by "
        f"`embers bisect CASE --fresh` over {len(made['releases'])} releases (`bench/bisection_runs.py`, "
        f"{made['made_at']}). {grades.count('right')} gave the ranges of the matrix ({low:.0%} to {high:.0%}), "
        f"{grades.count('abstained')} could not tell, {grades.count('wrong')} gave others. A search ran "
        f"{median(asked):g} builds ({min(asked)} to {max(asked)}) in {median(seconds):.0f} seconds "
        f"({min(seconds):.0f} to {max(seconds):.0f}; medians, ranges), with {made['jobs']} job beside other work "
        f"(load {min(loads):g} to {max(loads):g})."
    )
    others = [f"`{row['case']}`: {row['answer']}" for row in rows if row["grade"] != "right"]
    return f"{text} Not right: {'; '.join(others)}." if others else text


def returning() -> str:
    """Histories that come back, by the number of random tries."""
    rows = [
        (str(row["validation"]), _share(row), f"{row['wrong'] / row['trials']:.1%}", f"{row['asked']:.1f}")
        for row in _measured()["rows"]
        if row["histories"] == "returning"
    ]
    return table(("random tries:", "all ranges found (95 % interval)", "part of them missed:", "builds run:"), rows)
