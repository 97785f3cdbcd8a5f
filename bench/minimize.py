"""Minimise real extracted scripts, and compare ways to do so: `python bench/minimize.py --data FOLDER --scratch FOLDER NUMBER@BUILD ...`.

FOLDER of `--data` is that of bench/extraction.py. Each NUMBER is an item whose extracted script shows its failure on the build BUILD (bench/extraction.json says
which do); it goes through what `embers minimize` does: the whole script three times, the passes, and verbatim, runnable and minimal text
together at the end. For items also named with `--compare` the same script is reduced in other ways with the same test and the same
budget of tests: pysource-minimize alone, the torch-aware passes alone, and shrinkray as PyPI has it for this Python, where `--shrinkray`
names the folder of its package (it is not a dependency).

Results go to bench/minimize.json (numbers only) and, with the texts, to the scratch folder. Items measured before are kept.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from extraction import SETS, entry, texts
from torch_embers.builds.registry import Registry
from torch_embers.progress import Silent
from torch_embers.repro.minimize import GENERAL, MOST_TESTS, MinimizeError, minimize
from torch_embers.repro.shortcuts import invents
from torch_embers.repro.shrink import PASSES
from torch_embers.run.reduction import Trial, lines, reduce_case
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Runner
from torch_embers.settings import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from extraction import Entry
    from torch_embers.builds.registry import Build
    from torch_embers.repro.case import Case

    Test = Callable[[str], bool]
    Way = Callable[[str, Test], tuple[str, int, bool]]
    """Script and test -> smallest script, tests, whether it ran out of tests."""

RESULTS = Path(__file__).parent / "minimize.json"


class Printed(Silent):
    """Progress whose lines are printed."""

    def said(self, text: str) -> None:
        """Print a line."""
        print(text)


class OutOfTestsError(Exception):
    """The budget is used up."""


def passes(*order: str) -> Way:
    def reduce(code: str, test: Test) -> tuple[str, int, bool]:
        found = minimize(code, test, order=order)
        return found.code, found.tests, found.stopped

    return reduce


def shrinkray(folder: Path) -> Way:
    """The reducer of shrinkray's package, given the same test."""
    sys.path.append(str(folder))
    reducer: Any = importlib.import_module("shrinkray.reducer")

    def reduce(code: str, test: Test) -> tuple[str, int, bool]:
        best, count = code, 0

        def is_interesting(candidate: bytes) -> bool:
            nonlocal best, count
            if count >= MOST_TESTS:
                raise OutOfTestsError
            text = candidate.decode("utf-8", "replace")
            count += 1
            kept = not invents(code, text) and test(text)
            if kept and len(text) < len(best):
                best = text
            return kept

        try:
            reducer.Reducer(code.encode(), is_interesting).run()
        except OutOfTestsError:
            return best, count, True
        return best, count, False

    return reduce


# ---- measuring -----------------------------------------------------------------------------------------------------


def product(one: Entry, case: Case, build: Build, registry: Registry, scratch: Path) -> dict[str, Any]:
    """What `embers minimize` does, with its figures."""
    made = reduce_case(case, one.found.script, one.found.verbatim, build, registry, Printed())
    keep(scratch, case, "minimal", made.minimized.code)
    keep(scratch, case, "runnable", one.found.script)
    return {
        "number": one.item.number,
        "build": build.name,
        "shows": str(case.signature[0]),
        "characters": [made.before, made.after],
        "lines": [made.lines_before, made.lines_after],
        "tests": made.minimized.tests,
        "stopped": made.minimized.stopped,
        "minutes": round(made.seconds / 60, 2),
        "agree": dict(made.agree),
        "steps": [asdict(step) for step in made.minimized.steps],
    }


def compared(
    one: Entry, case: Case, build: Build, registry: Registry, ways: dict[str, Way], scratch: Path
) -> Iterator[dict[str, Any]]:
    """The same script by each way."""
    for name, way in ways.items():
        started = time.monotonic()
        with registry.using(build), Runner(build.python, "hostile", doctor.prove()) as runner:
            trial = Trial(case, one.found.script, build, runner)
            code, tests, stopped = way(one.found.script, trial.is_interesting)
        keep(scratch, case, name.partition(" ")[0], code)
        yield {
            "number": one.item.number,
            "way": name,
            "characters": len(code),
            "lines": lines(code),
            "tests": tests,
            "stopped": stopped,
            "minutes": round((time.monotonic() - started) / 60, 2),
        }
        print(f"  {name}: {len(code)} characters, {tests} tests", flush=True)


def keep(scratch: Path, case: Case, what: str, code: str) -> None:
    (scratch / f"{case.name}.{what}.py").write_text(code, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", metavar="NUMBER@BUILD")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--scratch", type=Path, required=True, help="folder for databases and texts")
    parser.add_argument(
        "--compare", type=int, action="append", default=[], help="an item to reduce in all ways; repeat"
    )
    parser.add_argument("--shrinkray", type=Path, help="folder that holds shrinkray's package")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    ways = {"pysource-minimize alone": passes(GENERAL), "torch-aware passes alone": passes(*PASSES)}
    if options.shrinkray:
        ways["shrinkray 0.0.2"] = shrinkray(options.shrinkray)
    registry = Registry(load().builds_dir)
    report = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    made = {one["number"]: one for one in report.get("scripts", [])}
    rivals = {(one["number"], one["way"]): one for one in report.get("compared", [])}
    items = {item.number: item for file in SETS.values() for item in texts(options.data / file, options.scratch)}
    for given in options.wanted:
        number, _, name = given.partition("@")
        one, build = entry(items[int(number)]), registry.find(name)
        if one.case is None:
            raise SystemExit(f"#{number}: no script was extracted")
        try:
            made[one.item.number] = product(one, one.case, build, registry, options.scratch)
        except MinimizeError as error:
            print(f"#{number}: {error}", flush=True)
            continue
        print(f"#{number}: {made[one.item.number]}", flush=True)
        if one.item.number in options.compare:
            for found in compared(one, one.case, build, registry, ways, options.scratch):
                rivals[found["number"], found["way"]] = found
        report = {
            "date": datetime.now(UTC).date().isoformat(),
            "cores": os.cpu_count(),
            "most_tests": MOST_TESTS,
            "scripts": [made[number] for number in sorted(made)],
            "compared": [rivals[key] for key in sorted(rivals)],
        }
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
