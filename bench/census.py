"""Mine a merged history into a new database, time it, and take the census: `python bench/census.py NAME HISTORY [--also FILE]... [--catalog]`.

HISTORY is a clone (`--source git`) or a file of commits (`--source jsonl`). What stands in the database before it changes
what a census calls an issue: `--catalog` reads the embedded catalog first, `--also` files of records. Each run is kept under
its NAME in bench/census.json; docs/history.md says which one the published numbers are of. `make study` writes those.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = Path(__file__).with_suffix(".json")
sys.path[:0] = [str(ROOT / "bench")]
NUMBERS = ("k", "n")


def embers(*words: str | Path) -> dict[str, Any]:
    """One command from start to end: what it printed, seconds, CPU seconds."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "torch_embers", *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "said": done.stdout + done.stderr,
        "seconds": round(time.monotonic() - started, 1),
        "user_s": round(after.ru_utime - before.ru_utime, 1),
        "system_s": round(after.ru_stime - before.ru_stime, 1),
    }


def mined(source: str, path: Path | None, database: Path) -> dict[str, Any]:
    """One mine: how long it took with links, and how long of that it read."""
    words = [*([path] if path else []), "--repo", "pytorch/pytorch", "--database", database]
    done = embers("mine", "--source", source, *words)
    found = re.search(rf"^{source}: .* in ([\d.,]+) s", done["said"], re.MULTILINE)
    return {"reading_s": float(found[1].replace(",", "")) if found else None, **done}


def main() -> None:
    import duckdb

    from run import machine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("history", type=Path)
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--catalog", action="store_true")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder:
        database = Path(folder) / "e.duckdb"
        if options.catalog:
            mined("catalog", None, database)
        for path in options.also:
            mined("jsonl", path, database)
        time_of = mined("git" if options.history.is_dir() else "jsonl", options.history, database)
        taken = embers("study", "census", "--out", Path(folder) / "results", "--database", database)
        results = Path(folder) / "results" / "census"
        population = json.loads((results / "census.json").read_text(encoding="utf-8"))["population"]
        with (results / "numbers.csv").open(encoding="utf-8", newline="") as file:
            numbers = {
                row["measure"]: [int(row[name]) for name in NUMBERS if row[name]] for row in csv.DictReader(file)
            }
        with duckdb.connect(str(database), read_only=True) as connection:
            commits = connection.execute("SELECT count(*), count(*) FILTER (line = 'main') FROM commits").fetchall()[0]
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
        "before": [*(["catalog"] if options.catalog else []), *(path.name for path in options.also)],
        "history": options.history.name,
        "commits": commits[0],
        "of_the_main_line": commits[1],
        **{key: value for key, value in time_of.items() if key != "said"},
        "census_s": taken["seconds"],
        "population": population,
        "numbers": numbers,
    }
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    kept[options.name] = made
    OUT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
