"""Measure what modules that torch imports late cost, with and without zygotes that hold them: `python bench/imports.py PYTHON ...`.

Each PYTHON is a build. Each shipped case whose words ask for such modules (`preloads` in data/sandbox.toml) runs once in both ways, from one
zygote; processor time is that of the whole sandbox, zygotes and imports included. What the case says and how it ends must be equal
both ways. Written to bench/imports.json beside what is there of other builds, printed as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.sandbox import doctor, rules
from torch_embers.sandbox.runner import Attempt, Runner, RunResult, descendants

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parent / "imports.json"
CASES = Path(__file__).parents[1] / "data" / "cases"
TICKS = os.sysconf("SC_CLK_TCK")
WAYS = {"before": False, "after": True}


def concerned() -> list[Path]:
    """The cases whose words ask for such modules on the newest release."""
    words = [entry.words for entry in rules.load().preloads if entry.words.pattern]
    return [path for path in sorted(CASES.glob("*.py")) if any(re.search(word, path.read_text()) for word in words)]


def cpu_seconds(runner: Runner) -> float:
    """Processor time of all processes of the sandbox, those that have ended included."""
    total = 0
    for first in runner.first_pids():
        for pid in (first, *descendants(first)):
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            total += sum(map(int, fields[11:15]))
    return total / TICKS


def ending(result: RunResult) -> tuple[object, ...]:
    """What a verdict is made of."""
    return result.ended, result.exit_code, result.signal, result.stdout.strip().splitlines()[-1:]


def run_once(python: Path, cases: list[Path], *, early: bool) -> tuple[str, float, dict[str, RunResult]]:
    """Version of torch, processor seconds beyond the start of the zygote, and results by case."""
    real = rules.modules_for
    if not early:
        rules.modules_for = lambda _code, _torch: []
    try:
        with Runner(python, "hostile", doctor.prove()) as runner:
            [first] = runner.run([Attempt("first", "import torch", "first.py")])
            start = cpu_seconds(runner)
            attempts = [Attempt(path.stem, path.read_text(), path.name, timeout=300) for path in cases]
            results = {result.key: result for result in runner.run(attempts)}
            return first.versions["torch"], cpu_seconds(runner) - start, results
    finally:
        rules.modules_for = real


def measure(python: Path, cases: list[Path]) -> dict[str, object]:
    """Both ways on one build."""
    load = os.getloadavg()[0]
    found = {way: run_once(python, cases, early=early) for way, early in WAYS.items()}
    seconds = {way: round(spent, 2) for way, (_, spent, _) in found.items()}
    before, after = (results for _, _, results in found.values())
    different = [name for name in before if ending(before[name]) != ending(after[name])]
    return {
        "torch": found["before"][0],
        "cases": len(cases),
        "cpu_seconds": seconds,
        "different": different,
        "largest_peak_mb": {
            way: round(max(result.peak_memory for result in results.values()) / 1e6)
            for way, (_, _, results) in found.items()
        },
        "load": round(load, 1),
        "date": datetime.now(UTC).date().isoformat(),
    }


def table(results: list[dict[str, object]]) -> Iterator[str]:
    """Lines of Markdown."""
    yield "| build | cases | CPU seconds before | after | ratio | cases that end otherwise | load |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for one in results:
        spent = one["cpu_seconds"]
        assert isinstance(spent, dict)
        ratio = spent["before"] / spent["after"]
        different = one["different"]
        assert isinstance(different, list)
        cells = (
            one["torch"],
            one["cases"],
            spent["before"],
            spent["after"],
            f"{ratio:.1f}",
            len(different),
            one["load"],
        )
        yield "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", type=Path, nargs="+")
    options = parser.parse_args()
    cases = concerned()
    for python in options.python:
        one = measure(python, cases)
        kept = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        results = sorted([*(old for old in kept if old["torch"] != one["torch"]), one], key=lambda done: done["torch"])
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    for line in table(results):
        print(line)


if __name__ == "__main__":
    main()
