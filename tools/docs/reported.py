"""docs/case-reviews.md: the reporters' own scripts beside our cases, from analysis/results/reported.csv."""

from __future__ import annotations

import csv
from functools import cache

from packaging.version import Version

from .cases import bank, ranges
from .markdown import PYTORCH, code, issue_link, table
from .places import ROOT
from .still_occurring import matrix

REPORTED = ROOT / "analysis" / "results" / "reported.csv"


@cache
def _scripts() -> dict[int, dict[str, str]]:
    """Outcome of a reporter's script by issue and release."""
    found: dict[int, dict[str, str]] = {}
    with REPORTED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(int(row["issue"]), {})[row["release"]] = row["outcome"]
    return found


def _case_of(number: int) -> str:
    """The case that is the report's own, or nothing."""
    names = [one.name for one in bank() if one.relations.get((PYTORCH, number)) == "same"]
    return min(names, default="")


def beside() -> str:
    """One row for each report whose script was run: where it fails, where our case occurs, and how often both agree."""
    rows = []
    for number, seen in _scripts().items():
        known = sorted(map(Version, seen))
        name = _case_of(number)
        verdicts = {row["build"]: row["verdict"] for row in matrix() if row["case"] == name}
        fails = [release for release, outcome in seen.items() if outcome == "reproduced"]
        occurs = [release for release in seen if verdicts.get(release) == "occurs"]
        both = [r for r, outcome in seen.items() if outcome != "untestable" and verdicts.get(r) in ("occurs", "absent")]
        agree = sum((seen[r] == "reproduced") == (verdicts[r] == "occurs") for r in both)
        rows.append(
            (
                issue_link(PYTORCH, number),
                ranges(fails, known) or "no release",
                code(name) or "none",
                (ranges(occurs, known) or "no release") if name else "",
                f"{agree} of {len(both)}" if name else "",
            )
        )
    return table(("issue", "the reporter's script fails on", "our case", "it occurs on", "releases that agree:"), rows)
