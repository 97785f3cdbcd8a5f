"""Give drawn validated fix tests verdicts with controls: `python bench/fix_tests_verdicts.py --database FILE --seed 4016 --sample 40`.

The class of a fix test rests on single runs. Here `embers run` decides drawn tests that data/fix_test_facts.csv calls `validated` as every
other case: on the last release before the fix, on the first with it and on the newest, with as many runs as its control asks for. The
database is one in which they were linked and run; the draw is that of bench/fix_tests_drawn.py. Written is bench/fix_tests_verdicts.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from fix_tests_drawn import order
from torch_embers.repro import shipped_fix_tests
from torch_embers.store.store import Store

FILE = Path(__file__).parent / "fix_tests_verdicts.json"
_VERDICTS = """
SELECT c.name, split_part(b.version, '+', 1) AS version, v.verdict, v.flaky, v.k, v.n, v.control, v.control_k, v.control_n
FROM verdicts v JOIN builds b USING (build) JOIN cases c USING (case_hash) WHERE c.name IN (SELECT unnest($names))
QUALIFY row_number() OVER (PARTITION BY v.case_hash, v.build ORDER BY v.decided_at DESC, v.batch DESC) = 1
"""


def main() -> None:
    """Draw, run, write."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--database", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--sample", type=int, default=40)
    arguments.add_argument("--newest", default="2.15.0")
    given = arguments.parse_args()
    validated = {test["name"]: test for test in shipped_fix_tests.facts() if test["class"] == "validated"}
    drawn = [validated[name] for name in order(validated, given.seed)[: given.sample]]
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for test in drawn:
        builds = dict.fromkeys((test["validated_before"], test["validated_after"], given.newest))
        groups[tuple(builds)].append(test["name"])
    start = time.perf_counter()
    for builds, names in sorted(groups.items()):
        asked = [part for build in builds for part in ("--build", build)]
        command = [sys.executable, "-m", "torch_embers", "run", *names, *asked, "--database", str(given.database)]
        subprocess.run(command, check=False)  # its exit code says that bugs occur
    seconds = time.perf_counter() - start
    with Store(given.database).read() as connection:
        found = connection.execute(_VERDICTS, {"names": [test["name"] for test in drawn]})
        columns = [column[0] for column in found.description or ()]
        verdicts = {(row[0], row[1]): dict(zip(columns[2:], row[2:], strict=True)) for row in found.fetchall()}
    tests = [_test(test, verdicts, given.newest) for test in drawn]
    facts = {
        "seed": given.seed,
        "validated": len(validated),
        "newest": given.newest,
        "seconds": round(seconds),
        "load": round(os.getloadavg()[0], 1),
        "verdicts": {place: Counter(_said(test[place]) for test in tests) for place in ("before", "after", "newest")},
        "confirmed": sum(_said(test["before"]) == "occurs" and _said(test["after"]) == "absent" for test in tests),
        "tests": tests,
    }
    FILE.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _test(test: dict[str, str], verdicts: dict[tuple[str, str], dict[str, Any]], newest: str) -> dict[str, Any]:
    """A test with its verdicts, each with its build."""
    builds = {"before": test["validated_before"], "after": test["validated_after"], "newest": newest}
    return {"name": test["name"]} | {
        place: {"build": build} | verdicts.get((test["name"], build), {}) for place, build in builds.items()
    }


def _said(verdict: dict[str, Any]) -> str:
    return str(verdict.get("verdict", "none"))


if __name__ == "__main__":
    main()
