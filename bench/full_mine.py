"""Measure a mine by GraphQL that runs through several quota windows unattended: `python bench/full_mine.py [--items 40000]`.

The command itself runs, with its shipped pauses and a long `--max-wait`. The server is tests/servers/graphql.mjs (GitHub's
schema, GitHub's formula of points) over generated items; its quota windows are short: some points, refilled after some
seconds. Writes bench/full_mine.json, where each size with its windows has a place of its own; run.py puts it into RESULTS.md.
"""

from __future__ import annotations

import argparse
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
OUT = ROOT / "bench" / "full_mine.json"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
MAX_WAIT = "3600"
"""Seconds that the mine may wait at a time: as long as a window of GitHub's."""
COUNTED = ("items", "comments", "events", "reviews", "links")


def peak_mb(pid: int) -> float:
    """The most memory that a process has held so far; unlike rusage it leaves out what the parent held at the fork."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else 0.0


def mined(url: str, database: Path, log: Path) -> dict[str, Any]:
    """One `embers mine` from start to end: its exit code, time, CPU seconds and memory."""
    command = [sys.executable, "-m", "torch_embers", "mine", "--source", "graphql", "--repo", "pytorch/pytorch"]
    command += ["--api-url", url, "--max-wait", MAX_WAIT, "--database", str(database)]
    environment = {**os.environ, "GITHUB_TOKEN": "token-one"}
    before, started, most = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic(), 0.0
    with log.open("w") as said, subprocess.Popen(command, stdout=said, stderr=said, env=environment) as process:
        while process.poll() is None:
            most = max(most, peak_mb(process.pid))
            time.sleep(0.5)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"exit": process.returncode, "seconds": time.monotonic() - started, "cpu_s": cpu, "peak_mb": most}


def main() -> None:
    import duckdb

    from run import machine
    from servers.stand_ins import GraphQLStandIn, node_ready, synthetic_dataset

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=40_000)
    parser.add_argument("--window-points", type=int, default=500)
    parser.add_argument("--window-seconds", type=int, default=60)
    options = parser.parse_args()
    if reason := node_ready():
        raise SystemExit(reason)
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(prefix="embers-bench-") as folder,
        GraphQLStandIn(synthetic_dataset(options.items)) as server,
    ):
        server.dataset["repos"].clear()  # the server has read them; 150,000 items take two gigabytes here
        server.limit(options.window_points, options.window_seconds)
        database, log = Path(folder) / "e.duckdb", Path(folder) / "log"
        done = mined(server.url, database, log)
        said = log.read_text(encoding="utf-8")
        print(said[-2_000:], file=sys.stderr)
        waited = [int(seconds.replace(",", "")) for seconds in re.findall(r"waiting ([\d,]+) s \(all requests", said)]
        database_mb = database.stat().st_size / 2**20
        with duckdb.connect(str(database), read_only=True) as connection:
            counts = {t: connection.execute(f"SELECT count(*) FROM {t}").fetchall()[0][0] for t in COUNTED}
        counters = server.counters()
    made = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "load_at_end": os.getloadavg()[0],
        **counts,
        **done,
        "database_mb": database_mb,
        "points": counters["cost"],
        "requests": counters["graphql"],
        "window": {"points": options.window_points, "seconds": options.window_seconds},
        "waits": len(waited),
        "waited_s": sum(waited),
    }
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() else {}
    kept[f"{counts['items']} items, windows of {options.window_points} points in {options.window_seconds} s"] = made
    OUT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=2))


if __name__ == "__main__":
    main()
