"""Measure linking and a mine with nothing new on many comments: `python bench/comments.py [--items 20000] [--comments 100000]`.

The database is made up (tests/synthetic.py) and written by SQL, so that linking is measured and not loading. Every figure is
of a process of its own, in CPU seconds because other work disturbs those less, and the most memory that it held. Writes
bench/comments.json, where each size has a place of its own, and its part of bench/RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "comments.json"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
NEW_ITEMS = 1
"""Items of the file that is mined again with nothing new."""

MAKE = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from synthetic import make
make(Path(sys.argv[1]), int(sys.argv[3]), int(sys.argv[4]))
"""
LINK = """
import sys
from pathlib import Path
from torch_embers.mine import runner
from torch_embers.store.store import Store
runner.link_only(Store(Path(sys.argv[1])))
"""


def measured(*command: str | Path) -> dict[str, float]:
    """CPU and wall seconds of a process, and the most memory that it held."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen([sys.executable, *map(str, command)], stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"exit code {process.returncode}: {said.read()[-2_000:]}")
    return {"seconds": seconds, "cpu_s": used.ru_utime + used.ru_stime, "peak_mb": used.ru_maxrss / 1024}


def main() -> None:
    import duckdb

    from run import machine, rewrite_parts, write_items

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--comments", type=int, default=100_000)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder:
        database, file = Path(folder) / "e.duckdb", Path(folder) / "new.jsonl"
        subprocess.run(
            [sys.executable, "-c", MAKE, database, ROOT / "tests", str(options.items), str(options.comments)],
            check=True,
        )
        write_items(file, NEW_ITEMS)
        mine = (
            "-m",
            "torch_embers",
            "mine",
            "--source",
            "jsonl",
            file,
            "--repo",
            "pytorch/pytorch",
            "--database",
            database,
        )
        found["link"] = measured("-c", LINK, database)
        found["link again"] = measured("-c", LINK, database)
        found["one item"] = measured(*mine)
        found["nothing new"] = measured(*mine)
        with duckdb.connect(str(database), read_only=True) as connection:
            counts = {
                table: connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0]
                for table in ("items", "comments", "links", "components")
            }
        size = database.stat().st_size / 2**20
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "priority": os.nice(0),
        **counts,
        "database_mb": size,
        "texts_per_cpu_s": (counts["items"] + counts["comments"]) / found["link"]["cpu_s"],
        "runs": found,
    }
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    kept[f"{options.items} items, {options.comments} comments"] = made
    OUT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    rewrite_parts()
    print(json.dumps(made, indent=2))


if __name__ == "__main__":
    main()
