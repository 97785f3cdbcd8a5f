"""Measure how alike the runs of one zygote are: `python bench/starts.py BUILDS [CASE ...] [--starts 20] [--forks 5]`.

BUILDS holds a folder with bin/python for each release. Every case is run in many freshly started zygotes, with several
forks in each; the ways of preparing a fork's heap (ARMS) take turns within each start. From the hits of each start
follow the intra-start correlation (statistics/clusters.py), the design effect, and what a fork is worth. Written to
bench/starts.csv (a row per case, build, way and start) and bench/starts.json (what follows from it).
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.repro import case as cases
from torch_embers.repro import shipped_matrix
from torch_embers.run.verdict import USABLE, observe
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Attempt, Runner
from torch_embers.statistics.clusters import design_effect, effective_runs, intraclass_correlation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.repro.case import Case

OUT = Path(__file__).parent / "starts"
VARIANTS = Path(__file__).parent / "starts.toml"
COLUMNS = ("case", "build", "way", "start", "forks", "hits", "order", "seen")
MEMORY = 4 << 30
RESAMPLES = 2_000
"""Bootstrap samples of starts for the interval of a correlation."""

_SEEDED = "import ctypes, os, random\n_r = random.Random(os.environ['EMBERS_SEED'])\n_c = ctypes.CDLL(None)\n"
_FILLED = "_c.mallopt(-6, _r.randrange(1, 256))\n"
_BLOCKS = (
    "_c.malloc.restype = ctypes.c_void_p\n_c.free.argtypes = [ctypes.c_void_p]\n"
    "_b = [_c.malloc(ctypes.c_size_t(int(2 ** _r.uniform(4, 23)))) for _ in range(300)]\n"
    "[_c.free(b) for b in _b if _r.random() < 0.5]\n"
)
ARMS = {
    "plain": "",
    "M_PERTURB": _SEEDED + _FILLED,
    "blocks": _SEEDED + _BLOCKS,
    "M_PERTURB and blocks": _SEEDED + _FILLED + _BLOCKS,
}
"""What a fork does to its heap before the script: fill freed memory by a random byte (M_PERTURB is -6 in glibc);
300 blocks of 16 bytes to 8 MiB of which half are freed; both."""


@dataclass(frozen=True, slots=True)
class Row:
    """Runs of one case in one zygote, prepared in one way."""

    case: str
    build: str
    way: str
    start: int
    forks: int
    hits: int
    order: str
    """One letter for each fork in turn: X for a hit, a dot for a clean run, a question mark for no evidence."""
    seen: str


def prepared(case: Case, way: str) -> str:
    """The case with what its fork does first, in one line, so that line numbers stay nearly the same."""
    return f"exec({ARMS[way]!r}, {{}})\n{case.code}" if ARMS[way] else case.code


def start_of(
    runner: Runner, build: str, chosen: Sequence[Case], ways: Sequence[str], start: int, forks: int
) -> list[Row]:
    """Runs of all cases in the runner's present zygote."""
    attempts, meant = [], {}
    for fork in range(forks):
        for case in chosen:
            for way in ways:
                key = str(len(attempts))
                meant[key] = (case, way)
                seed = 1_000_000 * (1 + ways.index(way)) + 1_000 * start + fork
                attempts.append(
                    Attempt(
                        key,
                        prepared(case, way),
                        f"{case.name}.py",
                        seed=seed,
                        timeout=case.timeout,
                        memory=max(MEMORY, case.memory),
                        threads=case.threads,
                        finalise=case.finalise,
                    )
                )
    seen: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for result in runner.run(attempts):
        case, way = meant[result.key]
        observation = observe(case, result)
        seen[case.name, way].append((observation.outcome, observation.detail))
    rows = []
    for (name, way), outcomes in seen.items():
        usable = [outcome for outcome, _ in outcomes if outcome in USABLE]
        order = "".join({"reproduced": "X", "not_reproduced": "."}.get(outcome, "?") for outcome, _ in outcomes)
        kinds = " | ".join(sorted({detail[-60:] for _, detail in outcomes}))
        rows.append(Row(name, build, way, start, len(usable), usable.count("reproduced"), order, kinds[:200]))
    return rows


def measure(
    python: Path, build: str, chosen: Sequence[Case], ways: Sequence[str], starts: int, forks: int
) -> Iterator[Row]:
    """All starts on one build."""
    with Runner(python, "reviewed", doctor.prove()) as runner:
        for start in range(starts):
            yield from start_of(runner, build, chosen, ways, start, forks)
            runner.restart()


def interval(hits: Sequence[int], size: int) -> tuple[float, float] | None:
    """95 % percentile interval of the correlation, by drawing starts with replacement."""
    draw = random.Random(0)
    drawn = [intraclass_correlation(draw.choices(hits, k=len(hits)), size) for _ in range(RESAMPLES)]
    known = sorted(value for value in drawn if value is not None)
    return (known[int(0.025 * len(known))], known[int(0.975 * len(known)) - 1]) if len(known) > 100 else None


def rounded(value: float | None) -> float | None:
    """Three places."""
    return None if value is None else round(value, 3)


def figures(rows: Sequence[Row]) -> list[dict[str, object]]:
    """What follows for each case, build and way.

    The correlation within starts says what forks of one start are worth. The one by fork (all first forks, all second
    ones, ...) says how alike the starts are: what one fork of each start would be worth.
    """
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.case, row.build, row.way].append(row)
    made = []
    for (case, build, way), members in sorted(groups.items()):
        size = min(row.forks for row in members)
        whole = [row.hits for row in members if row.forks == size]
        runs, hits = sum(row.forks for row in members), sum(row.hits for row in members)
        if not runs:
            continue
        orders = [row.order for row in members if row.forks == size == len(row.order)]
        by_fork = [sum(order[fork] == "X" for order in orders) for fork in range(size)]
        alike = intraclass_correlation(whole, size)
        alike_by_fork = intraclass_correlation(by_fork, len(orders)) if orders else None
        between = interval(whole, size) if alike is not None else None
        made.append(
            {
                "case": case,
                "build": build,
                "way": way,
                "starts": len(members),
                "forks": size,
                "hits": hits,
                "runs": runs,
                "correlation": rounded(alike),
                "interval": None if between is None else [rounded(value) for value in between],
                "design_effect": None if alike is None else round(design_effect(alike, size), 2),
                "worth": None if alike is None else round(effective_runs(runs, alike, size), 1),
                "hits_by_fork": by_fork,
                "correlation_by_fork": rounded(alike_by_fork),
                "starts_with_a_hit_in_the_first": [
                    sum("X" in order[: fork + 1] for order in orders) for fork in range(size)
                ],
            }
        )
    return made


def occurring() -> set[tuple[str, str]]:
    """Cases and releases with a shipped verdict ``occurs``: a clean case says nothing about how hits come in clusters."""
    return {(row["case"], row["build"]) for row in shipped_matrix.matrix() if row["verdict"] == "occurs"}


def variants() -> list[Case]:
    """Cases with smaller damage, of bench/starts.toml.

    Raises:
        SystemExit: a case does not hold the text that is to be replaced.
    """
    by_name = {case.name: case for case in cases.shipped()}
    made = []
    for entry in tomllib.loads(VARIANTS.read_text(encoding="utf-8"))["variant"]:
        case = by_name[entry["case"]]
        if entry["text"] not in case.code:
            raise SystemExit(f"{VARIANTS.name}: {case.name} does not hold {entry['text']!r}")
        code = case.code.replace(entry["text"], entry["by"])
        made.append(replace(case, name=f"{case.name}, {entry['text']} -> {entry['by']}", code=code))
    return made


def chosen_cases(names: Sequence[str], kinds: Sequence[str]) -> list[Case]:
    """Cases by name, else all on the CPU whose signature has one of these kinds."""
    shipped = [case for case in cases.shipped() if case.device == "cpu"]
    if names:
        return [case for case in shipped if case.name in names]
    return [case for case in shipped if any(signature.kind in kinds for signature in case.signature)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("builds", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--forks", type=int, default=5)
    parser.add_argument("--release", action="append", default=[])
    parser.add_argument("--way", action="append", choices=list(ARMS), default=[])
    parser.add_argument("--kind", action="append", default=[], help="of signature; signal where left out")
    parser.add_argument("--variants", action="store_true", help="the cases of bench/starts.toml")
    parser.add_argument("--again", action="store_true", help="only compute the figures of the rows in --out anew")
    parser.add_argument("--out", type=Path, default=OUT)
    options = parser.parse_args()
    chosen = variants() if options.variants else chosen_cases(options.cases, options.kind or ["signal"])
    ways = options.way or list(ARMS)
    rows, conditions = earlier(options.out)
    places = (path for path in options.builds.glob("[0-9]*") if (path / "bin/python").exists())
    releases = [] if options.again else sorted(places, key=lambda path: Version(path.name))
    bad = occurring()
    for folder in releases:
        if options.release and folder.name not in options.release:
            continue
        began = time.monotonic()
        fitting = [case for case in chosen if (case.name.partition(",")[0], folder.name) in bad]
        made = list(measure(folder / "bin/python", folder.name, fitting, ways, options.starts, options.forks))
        rows = [row for row in rows if row.build != folder.name] + made
        conditions[folder.name] = {
            "date": datetime.now(UTC).date().isoformat(),
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[2], 1),
            "minutes": round((time.monotonic() - began) / 60, 1),
        }
        print(f"{folder.name}: {len(made):,} rows, {conditions[folder.name]}", flush=True)
        save(options.out, rows, conditions)
    save(options.out, rows, conditions)


def earlier(out: Path) -> tuple[list[Row], dict[str, object]]:
    """Rows and conditions of an earlier call: a build that is measured now replaces its rows."""
    if not out.with_suffix(".csv").exists():
        return [], {}
    with out.with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows = [
            Row(**{**row, "start": int(row["start"]), "forks": int(row["forks"]), "hits": int(row["hits"])})
            for row in csv.DictReader(file)
        ]
    return rows, json.loads(out.with_suffix(".json").read_text(encoding="utf-8"))["builds"]


def save(out: Path, rows: Sequence[Row], conditions: dict[str, object]) -> None:
    """Write the rows, and what follows from them."""
    with out.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([getattr(row, name) for name in COLUMNS] for row in rows)
    report = {"builds": conditions, "cases": figures(rows)}
    out.with_suffix(".json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
