"""Measure embers beside what everybody can write: `python bench/run.py [MEASURE ...]`.

bench.toml says what the six measures compare; measures.py does it. Without names all are made. A measure takes the
place of its row in results.json, and the table of RESULTS.md is written anew from all rows. `--python PYTHON` names the
interpreter of a build for the sandboxed run; `--parameter items=20000` takes the place of a number of bench.toml.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measures import MEASURES, OURS, Comparison, Given, interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    Prepare = Callable[[Given], AbstractContextManager[list[Comparison]]]

HERE = Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results.json", HERE / "RESULTS.md"
BEGIN, END = "<!-- written by bench/run.py -->", "<!-- end -->"
STATISTICS: dict[str, Callable[[Iterable[float]], float]] = {"min": min, "median": statistics.median}


@dataclass(frozen=True)
class Spec:
    """A measure as bench.toml has it."""

    name: str
    compares: str
    warm_up: int
    repeats: int
    statistic: str
    parameters: dict[str, Any] = field(default_factory=dict)


def specs() -> list[Spec]:
    """The measures of bench.toml."""
    return [Spec(**entry) for entry in tomllib.loads((HERE / "bench.toml").read_text(encoding="utf-8"))["measure"]]


def compared(comparison: Comparison, spec: Spec) -> dict[str, Any]:
    """Time the ways of a comparison in turn."""
    for _ in range(spec.warm_up):
        for way in comparison.ways.values():
            way()
    rounds: dict[str, list[float]] = {name: [] for name in comparison.ways}
    for _ in range(spec.repeats):
        for name, way in comparison.ways.items():
            rounds[name].append(way())
    seconds = {name: STATISTICS[spec.statistic](times) for name, times in rounds.items()}
    return {
        "what": comparison.what,
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "ratios": ratios(seconds),
        "rounds": {name: [round(value, 4) for value in times] for name, times in rounds.items()},
        **({"note": comparison.note} if comparison.note else {}),
    }


def ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds of each other way by those of embers: above 1 where embers takes less time."""
    return {name: round(value / seconds[OURS], 3) for name, value in seconds.items() if name != OURS}


def measured(spec: Spec, prepare: Prepare, pythons: Sequence[Path]) -> dict[str, Any]:
    """One row of results.json."""
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(prefix="embers-bench-") as folder,
        prepare(Given(Path(folder), spec.parameters, pythons)) as comparisons,
    ):
        found = []
        for comparison in comparisons:
            found.append(compared(comparison, spec))
            print(f"{spec.name}: {json.dumps(found[-1])}", flush=True)
    return {
        "measure": spec.name,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": machine(),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "warm_up": spec.warm_up,
        "repeats": spec.repeats,
        "statistic": spec.statistic,
        "comparisons": found,
    }


def commit() -> str:
    """Short name of the checkout's commit, with a plus where the package differs from it; `unknown` without git."""
    git = ["git", "-C", str(HERE.parent)]
    try:
        named = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "pipeline", "data", "models"], capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return named.stdout.strip() + "+" * bool(changed.stdout)


def machine() -> dict[str, Any]:
    """What figures depend on beside the code."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines() if Path("/proc/cpuinfo").exists() else []
    return {
        "cores": os.cpu_count(),
        "processor": next(
            (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine()
        ),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("duckdb", "torch")},
    }


def table(rows: Sequence[Mapping[str, Any]], order: Sequence[Spec]) -> str:
    """The table of RESULTS.md, measures in the order of bench.toml, and below it when each was made."""
    by_name = {row["measure"]: row for row in rows}
    known = [(spec, by_name[spec.name]) for spec in order if spec.name in by_name]
    lines = ["| measure | what | embers, s | beside | its s | ratio |", "|---|---|---:|---|---:|---:|"]
    for spec, row in known:
        for one in row["comparisons"]:
            seconds = one["seconds"]
            for other, ratio in one["ratios"].items():
                cells = (
                    spec.name,
                    one["what"],
                    f"{seconds[OURS]:,.3f}",
                    other,
                    f"{seconds[other]:,.3f}",
                    f"{ratio:,.2f}",
                )
                lines.append(f"| {' | '.join(cells)} |")
    by_machine: dict[str, list[str]] = {}
    for spec, row in known:
        by_machine.setdefault(machine_of(row["machine"]), []).append(described(spec, row))
    return "\n".join([*lines, *(text for name, own in by_machine.items() for text in ("", f"On {name}:", "", *own))])


def machine_of(facts: Mapping[str, Any]) -> str:
    """A machine in one line."""
    versions = ", ".join(f"{name} {facts[name]}" for name in ("python", "torch", "duckdb"))
    return f"{facts['cores']} cores ({facts['processor']}), {facts['memory_gib']} GiB, {facts['system']}; {versions}"


def described(spec: Spec, row: Mapping[str, Any]) -> str:
    """When and how a row was measured, and what is missing."""
    load = row["load"]
    made = f"{row['date']}, commit {row['commit']}, load {load[0]} before and {load[1]} after"
    rounds = f"{row['statistic']} of {row['repeats']} rounds, {row['warm_up']} before them not counted"
    notes = dict.fromkeys(one["note"] for one in row["comparisons"] if "note" in one)
    return " ".join([f"- **{spec.name}**: {made}; {rounds}.", *notes])


def with_table(page: str, made: str) -> str:
    """The page with the table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"


def parameter(given: str) -> tuple[str, int]:
    """A number that takes the place of one of bench.toml."""
    name, _, number = given.partition("=")
    return name, int(number)


def main() -> None:
    """Measure what is asked for and write it down."""
    known = {spec.name: spec for spec in specs()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measures", nargs="*", metavar="MEASURE", help=", ".join(known))
    parser.add_argument(
        "--parameter",
        action="append",
        type=parameter,
        default=[],
        metavar="NAME=NUMBER",
        help="instead of bench.toml's",
    )
    parser.add_argument(
        "--python",
        action="append",
        type=interpreter,
        metavar="PYTHON",
        help="interpreter of a build, a path or a command",
    )
    parser.add_argument(
        "--once",
        action="store_true",
        help="one round without warm-up, for a look where time is short; replaces the measured row",
    )
    asked = parser.parse_args()
    if unknown := set(asked.measures) - set(known):
        parser.error(f"no measure {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    for name in asked.measures or known:
        spec = replace(known[name], parameters=known[name].parameters | dict(asked.parameter))
        spec = replace(spec, warm_up=0, repeats=1) if asked.once else spec
        row = measured(spec, MEASURES[name], asked.python or [Path(sys.executable)])
        before = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else []
        by_name = {one["measure"]: one for one in [*before, row]}
        rows = [by_name[one] for one in known if one in by_name]
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        page = with_table(PAGE.read_text(encoding="utf-8"), table(rows, list(known.values())))
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
