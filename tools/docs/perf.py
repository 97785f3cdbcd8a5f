"""docs/commands/perf.md: what cases about time and calls timed again measured, and why other items have no case."""

from __future__ import annotations

import csv
import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.oracles import timing
from torch_embers.run import perf as calls
from torch_embers.run import perf_cases
from torch_embers.run.matrix import version_key

from .cases import bank
from .catalog import entries
from .markdown import cell, code, issue_link, table
from .places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

WITHOUT = "timing_cases/without.toml"
REPO = "pytorch/pytorch"
RESULTS = ROOT / "bench" / "perf_cases.csv"
AGAIN = ROOT / "bench" / "perf_again.json"


def cases() -> str:
    """A row per case: the ratio of both ways on each release, with its interval on the newest."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    builds = sorted({row["build"] for row in rows}, key=version_key)
    newest = builds[-1]
    found: dict[str, dict[str, Mapping[str, str]]] = {}
    for row in rows:
        found.setdefault(row["case"], {})[row["build"]] = row
    order = sorted(found, key=lambda case: -float(found[case].get(newest, {}).get("ratio", 0)))
    return table(
        ("case", *(f"{build}:" for build in builds[:-1]), f"{newest} [95 %]:"),
        [(code(case), *(_ratio(found[case].get(build), build == newest) for build in builds)) for case in order],
    )


def again() -> str:
    """Each two builds of the second measurement: intervals computed anew from the seconds of each round."""
    rounds = json.loads(AGAIN.read_text(encoding="utf-8"))["rounds"]
    margin = calls.Rules.load().limits.margin
    rows = []
    for call, times in rounds.items():
        for before, since in combinations(sorted(times, key=version_key), 2):
            report = timing.judge_times(times[before], times[since], margin)
            interval = f"{report.ratio:.2f} [{report.low:.2f}, {report.high:.2f}]"
            rows.append((code(call), before, since, str(len(times[since])), report.verdict, interval))
    return table(("call", "from", "to", "processes a build:", "verdict", "ratio [95 %]:"), rows)


def without() -> str:
    """Items about performance that have no case, with the reasons; beside them how many have one."""
    listed = resources.load_toml(WITHOUT)["without"]
    rows = [
        (", ".join(issue_link(REPO, number) for number in sorted(one["items"])), cell(one["reason"])) for one in listed
    ]
    about = [entry["number"] for entry in entries() if _is_slow(entry)]
    timed = {number for case in perf_cases.all_timed() for _, number in case.issues}
    kept = {number for case in bank() for _, number in case.issues}
    text = (
        f"The catalog has {len(about)} items with the consequence `performance`, most of them about memory. "
        f"{len(timed.intersection(about))} has a case about time, {len(kept.intersection(about) - timed)} more have "
        f"one in `data/cases` (leaks); {sum(len(one['items']) for one in listed)} have none. The other cases above are "
        f"of {len(timed.difference(about))} issues that the catalog does not have."
    )
    return f"{text}\n\n{table(('items', 'why they have no case'), rows)}"


def _is_slow(entry: Mapping[str, Any]) -> bool:
    return any(one["scheme"] == "consequence" and one["value"] == "performance" for one in entry["taxonomy"])


def _ratio(row: Mapping[str, str] | None, with_interval: bool) -> str:
    """``3.5``, or ``3.5 [3.4, 3.6]``; a dash where nothing was measured."""
    if row is None:
        return "-"
    ratio, low, high = (_short(float(row[key])) for key in ("ratio", "low", "high"))
    return f"{ratio} [{low}, {high}]" if with_interval else ratio


def _short(value: float) -> str:
    """Two digits, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
