"""Real bisections against the matrix: `python bench/bisection_runs.py [CASES]`, written to bench/bisection_runs.json.

bench/bisection.py simulates the sandbox. Here `embers bisect CASE --fresh` really runs, over all releases of the shipped
matrix, on cases that are drawn from those whose verdict changes between two releases. The truth is the shipped matrix,
measured earlier: a difference may be an error of the search, of the matrix, or of this machine, so each case is kept
with what it answered. Cases that were measured before are kept; an interrupted run goes on.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from bisection import changing, graded, ranges
from torch_embers.progress import Silent
from torch_embers.repro import shipped_matrix
from torch_embers.run.bisect import command
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.settings import load
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from torch_embers.run.bisect.report import Bisection

OUT = Path(__file__).with_suffix(".json")
CASES, SEED = 25, 17
JOBS = 1


def releases() -> list[str]:
    """The releases of the matrix, oldest first: one letter of a history each."""
    return sorted({row["build"] for row in shipped_matrix.matrix()}, key=Version)


def compared(case: str, truth: str, made: Bisection, seconds: float) -> dict[str, Any]:
    """One bisection beside the truth; what it could not test here is taken out of both."""
    found, versions = made.history, [place.version for place in made.places]
    letters = {"yes": "Y", "no": "n", "unknown": "-"}
    seen = {versions[place]: letters[reply.answer] for place, reply in found.replies.items()}
    testable = "".join("-" if seen.get(v) == "-" else letter for v, letter in zip(versions, truth, strict=True))
    return {
        "case": case,
        "grade": graded(found, testable),
        "answer": found.kind,
        "ranges": [list(one) for one in found.ranges],
        "truth": [list(one) for one in ranges(testable)],
        "matrix": truth,
        "seen": seen,
        "builds_run": len(made.run_places),
        "runs": sum(step.reply.runs for step in found.steps),
        "confidence": made.confidence,
        "seconds": round(seconds, 1),
        "load": round(os.getloadavg()[0], 1),
        "environments": list(made.environments),
    }


def bisected(case: str, truth: str) -> dict[str, Any]:
    """Search one case in a database of its own."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = load(database=Path(folder) / "e.duckdb")
        store = Store(wanted.database)
        with store.writer("bench", create=True) as writer, writer.transaction():
            pass
        began = time.perf_counter()
        made = command.bisect(store, wanted, BisectRequest(case, fresh=True, jobs=JOBS), Silent())
        return compared(case, truth, made, time.perf_counter() - began)


def main(count: int = CASES) -> int:
    """Search the drawn cases; 1 where one was wrong."""
    histories = changing()
    order = sorted(histories)
    random.Random(SEED).shuffle(order)  # so that more cases are the same ones and others
    drawn = order[:count]
    kept = json.loads(OUT.read_text(encoding="utf-8"))["bisections"] if OUT.exists() else []
    done = {one["case"]: one for one in kept if one["case"] in drawn}
    for case in drawn:
        if case not in done:
            done[case] = bisected(case, histories[case])
            print(case, done[case]["grade"], done[case]["seconds"], flush=True)
        made = {
            "made_at": datetime.now(UTC).date().isoformat(),
            "seed": SEED,
            "changing": len(histories),
            "releases": releases(),
            "jobs": JOBS,
            "bisections": [done[one] for one in drawn if one in done],
        }
        OUT.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return int(any(one["grade"] == "wrong" for one in done.values()))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
