"""docs/howto/cluster.md: sizes of tasks, and what a large sweep costs by measured figures."""

from __future__ import annotations

import json
from statistics import median
from typing import Any

from torch_embers import resources
from torch_embers.run import verdict

from .markdown import cell, code, table
from .places import ROOT

CASES, BUILDS = 10_000, 30
CPUS = (2, 16, 64, 512)


def limits() -> str:
    """Numbers of data/cluster.toml with their reasons."""
    numbers = resources.load_toml("cluster.toml")["limits"]
    rows = [
        (code(key), f"{value:,}" if isinstance(value, int) else f"{value:g}", cell(numbers[f"{key}_reason"]))
        for key, value in numbers.items()
        if not key.endswith("_reason")
    ]
    return table(("number", "value:", "why"), rows)


def cost() -> str:
    """Processor time of a sweep whose controls all hit, computed from bench/imports.json and bench/runs.json."""
    rules = verdict.Rules.load()
    clean = verdict.runs_needed(rules.control_batch, rules.control_batch, rules) or rules.most
    runs = CASES * (rules.control_batch + BUILDS * clean)
    tasks = -(-CASES // int(resources.load_toml("cluster.toml")["limits"]["most_cases"]))
    starts = (BUILDS + 1) * tasks * rules.zygotes
    per_run = median(one["cpu_seconds"]["after"] / one["cases"] for one in _measured("imports.json"))
    per_start = median(
        one["milliseconds"]["fresh process, every guarantee"] / 1000 for one in _measured("runs.json")["builds"]
    )
    total = runs * per_run + starts * per_start
    rows = [
        ("controls", f"{CASES * rules.control_batch:,} runs", f"{CASES * rules.control_batch * per_run / 3600:.1f}"),
        ("targets", f"{CASES * BUILDS * clean:,} runs", f"{CASES * BUILDS * clean * per_run / 3600:.1f}"),
        ("fresh zygotes", f"{starts:,} starts", f"{starts * per_start / 3600:.1f}"),
        ("in all", "", f"{total / 3600:.1f}"),
    ]
    shares = [(f"{cpus}", f"{total / 3600 / cpus:.2g}") for cpus in CPUS]
    return "\n\n".join(
        (
            f"A run: {per_run:.2f} s of a processor (`bench/imports.json`: shipped cases that make torch import more, "
            f"median of the builds). A start of a zygote: {per_start:.2f} s (`bench/runs.json`: a fresh process with "
            f"every guarantee). {clean} clean runs follow from a control that hits {rules.control_batch} of "
            f"{rules.control_batch} times.",
            table(("part", "count:", "CPU hours:"), rows),
            table(("CPUs", "hours, if all are always busy:"), shares),
        )
    )


def _measured(name: str) -> Any:
    return json.loads((ROOT / "bench" / name).read_text(encoding="utf-8"))


def one_machine() -> str:
    """What a cluster costs where it has one machine, from what bench/cluster.py measured last."""
    swept = json.loads((ROOT / "bench" / "cluster.json").read_text(encoding="utf-8"))["sweeps"]
    local, one, two = (median(swept["seconds"][way]) for way in ("local, 1 job", "one raylet", "two raylets"))
    return (
        f"Measured on one machine with {swept['cores']} cores ({swept['cases']} cases, `bench/cluster.py`, "
        f"{swept['date']}): one local job took {local:.1f} s, one raylet with one CPU {one:.1f} s "
        f"({round(100 * (one / local - 1)):+d} %), two {two:.1f} s ({round(100 * (two / local - 1)):+d} %). What "
        "further machines bring was not measured."
    )
