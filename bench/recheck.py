"""What a re-check takes as a whole command: `python bench/recheck.py --known PYTHON [--known PYTHON ...] [--new PYTHON]`.

Known builds are checked first. Then one build is new to the database, and all cases run on it (`--new`); then nothing is due any more. Wall time and
load, because the machine may have other work; processor time of the command by the operating system's account, that of the scripts, which
run in sandboxes of their own, as each run has it in the database. Written to bench/recheck.json after each part, printed as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from torch_embers.store.store import Store

RESULT = Path(__file__).with_suffix(".json")
AIM_SECONDS = 3.0
"""For a re-check with nothing due."""
REPEATS = 7


def measured(database: Path, *words: object) -> dict[str, Any]:
    """Run `embers` and say what it took.

    Raises:
        SystemExit: it failed.
    """
    runs = _runs(database)
    before, load, start = resource.getrusage(resource.RUSAGE_CHILDREN), os.getloadavg()[0], time.perf_counter()
    program = [sys.executable, "-m", "torch_embers", *map(str, words), "--database", str(database)]
    done = subprocess.run(program, stdout=subprocess.PIPE, check=False, text=True)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 10):
        raise SystemExit(f"embers {words[0]} ended with {done.returncode}")
    more = [now - then for now, then in zip(_runs(database), runs, strict=True)]
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    made = {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "load_before": round(load, 1)}
    if words[0] == "recheck":
        made |= {"verdicts": json.loads(done.stdout)["verdicts_reached"], "runs": more[0]}
        made |= {"cpu_seconds_of_scripts": round(more[1], 1)}
    return made


def _runs(database: Path) -> tuple[int, float]:
    if not database.exists():
        return 0, 0.0
    with Store(database).read() as connection:
        [(count, cpu)] = connection.execute("SELECT count(*), coalesce(sum(cpu), 0) FROM runs").fetchall()
    return count, cpu


def add(python: Path, name: str) -> str:
    """Register a build under a name."""
    program = [sys.executable, "-m", "torch_embers", "builds", "add", "--python", str(python), "--name", name]
    subprocess.run(program, check=True, stdout=subprocess.DEVNULL)
    return name


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--known", type=Path, action="append", required=True)
    parser.add_argument("--new", type=Path, help="without it, nothing new alone is measured")
    parser.add_argument("--database", type=Path, help="a database with verdicts on the known builds, which is copied")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    report: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "jobs": options.jobs,
        "aim_seconds_nothing_new": AIM_SECONDS,
    }
    with tempfile.TemporaryDirectory(prefix="embers-recheck-") as folder:
        home = Path(folder)
        os.environ["EMBERS_BUILDS_DIR"] = str(home / "builds")
        database = home / "e.duckdb"
        if options.database:
            shutil.copy(options.database, database)
        else:
            measured(database, "mine", "--source", "catalog")
            measured(database, "link-repros")
        names = [add(python, f"known{place}") for place, python in enumerate(options.known)]

        def recheck(*more: object) -> dict[str, Any]:
            chosen = [word for name in names for word in ("--build", name)]
            return measured(database, "recheck", "--json", "--jobs", options.jobs, *chosen, *more)

        def keep(part: str, made: Any) -> None:
            report[part] = made
            RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
            print(part, json.dumps(made), flush=True)

        keep("known_builds", recheck() | {"builds": len(names)})
        if options.new:
            names.append(add(options.new, "new"))
            keep("new_build", recheck())
        for part, more in (
            ("nothing_new", ()),
            ("nothing_new_all_files", ("--out", home / "o", "--state", home / "s")),
        ):
            runs = [recheck(*more) for _ in range(REPEATS + 1)][1:]  # the first writes what the others find
            if any(run["verdicts"] for run in runs):
                raise SystemExit(f"{part}: something was due")
            figures = {
                name: {
                    pick.__name__: round(pick(run[name] for run in runs), 2) for pick in (min, statistics.median, max)
                }
                for name in ("seconds", "cpu_seconds", "load_before")
            }
            keep(part, figures | {"repeats": REPEATS})


if __name__ == "__main__":
    main()
