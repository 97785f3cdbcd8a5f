"""The part of bench/RESULTS.md about bisections: simulated ones (bench/bisection.py) and real ones (bench/bisection_runs.py)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

from torch_embers.statistics.intervals import wilson

SIMULATED, REAL = (Path(__file__).with_name(name) for name in ("bisection.json", "bisection_runs.json"))


def part() -> str:
    """What was measured last; real bisections are left out where they never ran."""
    lines = ["## Bisection", "", *_simulated(json.loads(SIMULATED.read_text(encoding="utf-8")))]
    if REAL.exists():
        lines += ["", *_real(json.loads(REAL.read_text(encoding="utf-8")))]
    return "\n".join(lines) + "\n"


def _simulated(made: dict[str, Any]) -> list[str]:
    """Wrong answers by hit rate, over all conditions of the matrix."""
    trials, wrong = Counter[float](), Counter[float]()
    for row in made["rows"]:
        if row["histories"] == "matrix":
            trials[row["rate"]] += row["trials"]
            wrong[row["rate"]] += row["wrong"]
    said = ", ".join(f"{wrong[rate]} of {trials[rate]:,} at {rate:g}" for rate in sorted(trials, reverse=True))
    all_of_them = sum(row["trials"] for row in made["rows"])
    return [
        f"`python bench/bisection.py --draws {made['draws']}` on {made['made_at']}: pure simulation over the {made['cases']} cases of the matrix that change, {all_of_them:,} bisections.",
        f"Wrong by hit rate: {said}. Table and meaning: [docs/howto/bisect.md](../docs/howto/bisect.md).",
    ]


def _real(made: dict[str, Any]) -> list[str]:
    """Real searches beside the matrix."""
    rows = made["bisections"]
    right = sum(row["grade"] == "right" for row in rows)
    low, high = wilson(right, len(rows))
    seconds, asked = [row["seconds"] for row in rows], [row["builds_run"] for row in rows]
    lines = [
        f"`python bench/bisection_runs.py` on {made['made_at']}: `embers bisect CASE --fresh` over {len(made['releases'])} releases, for {len(rows)} cases drawn (seed {made['seed']}) from the {made['changing']}",
        f"that change. The ranges are those of the matrix in {right} of {len(rows)} ({low:.0%} to {high:.0%}); {sum(row['grade'] == 'abstained' for row in rows)} cannot tell, {sum(row['grade'] == 'wrong' for row in rows)} say other ranges. A search ran {median(asked):g} builds (median; {min(asked)} to {max(asked)}) in",
        f"{median(seconds):.0f} s ({min(seconds):.0f} to {max(seconds):.0f}), with {made['jobs']} job, at a load of {min(row['load'] for row in rows):g} to {max(row['load'] for row in rows):g}.",
        "",
        "| case | grade | answer | builds run | runs | seconds | load |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    return lines + [
        f"| {row['case']} | {row['grade']} | {row['answer']} | {row['builds_run']} | {row['runs']} | {row['seconds']:.0f} | {row['load']:g} |"
        for row in rows
    ]
