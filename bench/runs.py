"""Measure what one run costs, in one run of this program: `python bench/runs.py [--rounds 5] PYTHON ...`.

Each PYTHON is a build. The script imports torch, multiplies matrices and goes backward. The ways of running it take turns within each round,
so that a busy machine slows all of them; a figure is the median of its rounds. Written to bench/runs.json, printed as a table.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RESULTS = Path(__file__).parent / "runs.json"
SCRIPT = "import torch\na = torch.ones(8, 8, requires_grad=True)\n(a @ a).sum().backward()\nassert a.grad is not None\n"
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
PER_TURN = 20
"""Quick ways are run this often in a row per round."""
JOBS = 2


def plain(command: list[str]) -> None:
    subprocess.run(command, env={"PATH": os.defpath, **THREADS}, check=True, capture_output=True)


def attempts(count: int, **more: bool) -> Iterator[Attempt]:
    return (Attempt(str(number), SCRIPT, "case.py", **more) for number in range(count))


def run_all(runner: Runner, count: int, jobs: int = 1, **more: bool) -> None:
    for result in runner.run(attempts(count, **more), jobs):
        if result.exit_code != 0:
            raise SystemExit(f"the script failed: {result}")


def timed(action: Callable[[], None], count: int = 1) -> float:
    """Milliseconds per run of an action that makes ``count`` runs."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000 / count


def outside(runner: Runner) -> Runner:
    """The same runner without the sandbox: to see what the sandbox costs. For scripts that we wrote."""
    runner._policy = replace(runner._policy, isolate=False, own_id=False)  # noqa: SLF001
    return runner


def plain_per_minute(command: list[str], count: int) -> float:
    """Runs per minute of ``JOBS`` plain processes side by side."""
    start, running = time.perf_counter(), []
    for number in range(count):
        running.append(subprocess.Popen(command, env={"PATH": os.defpath, **THREADS}, stdout=subprocess.DEVNULL))
        if len(running) == JOBS or number == count - 1:
            for process in running:
                process.wait()
            running.clear()
    return 60 * count / (time.perf_counter() - start)


def measure(python: Path, rounds: int) -> dict[str, object]:
    """All ways on one build."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        script = Path(folder) / "case.py"
        script.write_text(SCRIPT, encoding="utf-8")
        command = [str(python), str(script)]
        wrapped = ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--unshare-all", *command]
        free = outside(stack.enter_context(Runner(python, "reviewed", doctor.prove())))
        caged = stack.enter_context(Runner(python, "hostile", doctor.prove()))
        [version] = {result.versions["torch"] for result in (*free.run(attempts(1)), *caged.run(attempts(JOBS), JOBS))}
        ways: dict[str, tuple[Callable[[], None], int]] = {
            "plain python": (lambda: plain(command), 1),
            "bubblewrap + python": (lambda: plain(wrapped), 1),
            "fresh process, every guarantee": (lambda: run_all(caged, 1, fresh=True), 1),
            "zygote": (lambda: run_all(free, PER_TURN), PER_TURN),
            "zygote, every guarantee": (lambda: run_all(caged, PER_TURN), PER_TURN),
            "zygote, every guarantee, finalised": (lambda: run_all(caged, 2, finalise=True), 2),
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        minute: dict[str, list[float]] = {"plain python": [], "zygote, every guarantee": []}
        for _ in range(rounds):
            for name, (action, count) in ways.items():
                times[name].append(timed(action, count))
            minute["plain python"].append(plain_per_minute(command, 2 * JOBS))
            minute["zygote, every guarantee"].append(60_000 / timed(lambda: run_all(caged, 100, JOBS), 100))
        medians = {name: round(statistics.median(values), 1) for name, values in times.items()}
        rates = {name: round(statistics.median(values)) for name, values in minute.items()}
        return {"torch": version, "milliseconds": medians, "runs_per_minute": rates}


def table(results: list[dict[str, object]]) -> Iterator[str]:
    """Lines of Markdown: milliseconds per run with the ratio to plain python, then runs per minute."""
    yield "| way | " + " | ".join(f"{result['torch']}" for result in results) + " |"
    yield "|---|" + "---:|" * len(results)
    for unit in ("milliseconds", "runs_per_minute"):
        figures = [result[unit] for result in results]
        assert all(isinstance(figure, dict) for figure in figures)
        for name in figures[0]:
            cells = []
            for figure in figures:
                base, value = figure["plain python"], figure[name]
                ratio = base / value if unit == "milliseconds" else value / base
                cells.append(f"{value:,} (x {ratio:.2f})" if name != "plain python" else f"{value:,}")
            label = name if unit == "milliseconds" else f"runs per minute, {JOBS} jobs: {name}"
            yield f"| {label} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, nargs="*", default=[Path(sys.executable)])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    load = os.getloadavg()[0]  # before: the runs themselves make two
    results = [measure(python, options.rounds) for python in options.python]
    report = {"date": datetime.now(UTC).date().isoformat(), "cores": os.cpu_count(), "load": load, "builds": results}
    RESULTS.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for line in itertools.chain(
        [f"Load {load:.1f} on {os.cpu_count()} cores; milliseconds per run unless said."], table(results)
    ):
        print(line)


if __name__ == "__main__":
    main()
