"""Measure what a sweep of the whole bank takes, from nothing: `python bench/bank.py BUILD ... [--jobs 2]`.

Each BUILD is a name in the registry (EMBERS_BUILDS_DIR). All shipped cases run on it with all their controls, in a fresh database, so that
no verdict and no zygote is there before; files that the machine has read before stay in its memory. There is one worker more than --jobs,
for while the case of another only sleeps (`SPARE` in run/schedule.py). The time of each is divided into: the start of its zygotes, the scripts,
what the sandbox needs around them (late imports of torch included), and waiting: for a place among the jobs, for the driver, or for the end
of the others. Written to bench/bank.json, printed as a table.
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import tempfile
import time
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers import settings
from torch_embers.builds.registry import Registry
from torch_embers.repro import bank
from torch_embers.run import schedule
from torch_embers.run.dispatch import LocalDispatcher
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.sandbox import runner as runners
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.sandbox.runner import Attempt, RunResult

RESULT = Path(__file__).with_suffix(".json")
LONGEST = 15
"""Cases that are listed with the time of their runs."""
COLUMNS = ("runs", "of it processor", "around the runs")
PARTS = ("starts of zygotes", "runs", "around the runs", "waiting")


class Clock:
    """Adds up where the seconds of the workers go, by build."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.cases: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])


CLOCK = Clock()


class Timed(runners.Worker):  # only a worker knows when its zygote is ready
    """A worker that notes when it starts a zygote, when it asks for a run, and when that is over."""

    mark = 0.0

    def _build(self) -> str:
        return str(self.runner._policy.layout.python)  # noqa: SLF001

    def _launch(self, *, fresh: bool) -> RunResult | None:
        server = self.servers.get(fresh)
        self.mark = time.monotonic()
        if server is None or not server.ready:
            CLOCK.counts[self._build()]["starts of zygotes"] += 1
        return super()._launch(fresh=fresh)

    def _ask(self, server: Any) -> RunResult | None:
        now = time.monotonic()
        CLOCK.seconds[self._build()]["starts of zygotes"] += now - self.mark
        self.mark = now
        return super()._ask(server)

    def _result(self, message: Mapping[str, Any]) -> RunResult:
        attempt: Attempt | None = self.attempt
        result = super()._result(message)
        whole = time.monotonic() - self.mark
        CLOCK.seconds[self._build()]["runs"] += result.duration
        CLOCK.seconds[self._build()]["around the runs"] += whole - result.duration
        CLOCK.counts[self._build()]["runs"] += 1
        spent = CLOCK.cases[attempt.name.removesuffix(".py") if attempt else ""]
        for place, seconds in enumerate((result.duration, result.cpu, whole - result.duration)):
            spent[place] += seconds
        return result


class Quiet:
    """Prints what a sweep says."""

    def expects(self, total: int | None) -> None:
        """Nobody counts."""

    def advanced(self, count: int) -> None:
        """Nobody counts."""

    def said(self, text: str) -> None:
        """A line."""
        print(text, flush=True)


def sweep(names: list[str], jobs: int) -> dict[str, Any]:
    """The whole bank on these builds, from nothing: verdicts, seconds, and where they went."""
    registry = Registry(settings.load().builds_dir)
    targets = sorted((registry.find(name) for name in names), key=lambda build: build.order())
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    texts = []
    load, cpu, start = os.getloadavg()[0], os.times(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="embers-bank-") as folder:
        store = Store(Path(folder) / "e.duckdb")
        with store.writer("bank", create=True) as writer:
            bank.refresh(writer)
            cases = bank.load(store)
            executor = Executor(store, writer, LocalDispatcher(registry, Quiet()), Quiet())
            for cell in executor.sweep(SweepRequest(cases, targets, registry.installed(), jobs)):
                decision = cell.decision
                verdicts[cell.build.name][decision.verdict] += 1
                control = f"{decision.control.kind} {decision.control.hits}/{decision.control.runs}"
                texts.append(f"{cell.build.name} {cell.case.name} {decision.verdict} {control}")
    wall, after = time.monotonic() - start, os.times()
    by_path = {str(build.python): build.name for build in registry.installed()}
    by_build = {}
    for path, seconds in CLOCK.seconds.items():
        name = next((name for own, name in by_path.items() if Path(own) == Path(path)), path)
        by_build[name] = {part: round(seconds[part], 1) for part in PARTS[:-1]} | {
            "zygotes": CLOCK.counts[path]["starts of zygotes"],
            "made": CLOCK.counts[path]["runs"],
        }
    busy = sum(seconds[part] for seconds in CLOCK.seconds.values() for part in PARTS[:-1])
    return {
        "builds": [build.version for build in targets],
        "cases": len(cases),
        "jobs": jobs,
        "workers": jobs + schedule.SPARE,
        "load_before": round(load, 1),
        "seconds": round(wall, 1),
        "worker_seconds": {
            **{part: round(sum(own[part] for own in CLOCK.seconds.values()), 1) for part in PARTS[:-1]},
            "waiting": round(wall * (jobs + schedule.SPARE) - busy, 1),
        },
        "by_build": by_build,
        "driver_cpu_seconds": round(after.user + after.system - cpu.user - cpu.system, 1),
        "cpu_seconds": round(sum(after[:4]) - sum(cpu[:4]), 1),
        "verdicts": {name: dict(sorted(found.items())) for name, found in verdicts.items()},
        "longest": {
            name: dict(zip(COLUMNS, (round(one, 1) for one in seconds), strict=True))
            for name, seconds in heapq.nlargest(LONGEST, CLOCK.cases.items(), lambda case: case[1][0] + case[1][2])
        },
        "cells": sorted(texts),
    }


def main() -> None:
    """Measure, write, print."""
    from run import machine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", nargs="+")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--label", default="", help="under which the result is kept; by default the builds")
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument(
        "--cells", type=Path, help="also write every verdict with its control, a line each, to compare two sweeps"
    )
    options = parser.parse_args()
    setattr(schedule, "Worker", Timed)  # noqa: B010 - a bench may put its own in place
    made = sweep(options.builds, options.jobs)
    cells = made.pop("cells")
    label = options.label or ", ".join(options.builds)
    report = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    report[label] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        **made,
    }
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.cells is not None:
        options.cells.write_text("\n".join(cells) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
