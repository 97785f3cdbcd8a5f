"""docs/commands/perf.md: what the cases about time measured, from bench/perf_cases.csv."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from torch_embers.run.matrix import version_key

from .markdown import code, table
from .places import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULTS = ROOT / "bench" / "perf_cases.csv"


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


def _ratio(row: Mapping[str, str] | None, with_interval: bool) -> str:
    """``3.5``, or ``3.5 [3.4, 3.6]``; a dash where nothing was measured."""
    if row is None:
        return "-"
    ratio, low, high = (_short(float(row[key])) for key in ("ratio", "low", "high"))
    return f"{ratio} [{low}, {high}]" if with_interval else ratio


def _short(value: float) -> str:
    """Two digits, or all before the point."""
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"
