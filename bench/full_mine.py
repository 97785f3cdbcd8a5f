"""Measure a mine by GraphQL that runs through several quota windows unattended: `python bench/full_mine.py [--items 6000]`.

The server is tests/servers/graphql.mjs (GitHub's schema, GitHub's formula of points) over generated items. Its quota
windows are short here: some points, refilled after some seconds. What a whole tracker of 150,000 items needs follows
from the points per item and GitHub's 5,000 points an hour. Writes bench/full_mine.json; run.py puts it into RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "full_mine.json"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]
WHOLE = 150_000
"""Items of a tracker like PyTorch's."""
HOURLY = 5_000
"""GitHub's points an hour for one token."""


def main() -> None:
    from run import machine
    from servers.stand_ins import GraphQLStandIn, node_ready, synthetic_dataset
    from support import QUICK, Recorded, client
    from torch_embers.mine import runner
    from torch_embers.mine.github.graphql import GraphqlSource
    from torch_embers.mine.scope import Scope
    from torch_embers.store.store import Store

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=6_000)
    parser.add_argument("--window-points", type=int, default=150)
    parser.add_argument("--window-seconds", type=int, default=20)
    options = parser.parse_args()
    if reason := node_ready():
        raise SystemExit(reason)
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryDirectory(prefix="embers-bench-") as folder,
        GraphQLStandIn(synthetic_dataset(options.items)) as server,
    ):
        server.limit(options.window_points, options.window_seconds)
        store = Store(Path(folder) / "e.duckdb")
        progress = Recorded()
        source = GraphqlSource(
            client(server.url, "token-one", patience=replace(QUICK, max_wait=3_600, timeout=120)),
            Scope("pytorch/pytorch"),
        )
        source.client.announce = progress.said
        started = time.monotonic()
        report = runner.mine(store, source, progress=progress)
        seconds = time.monotonic() - started
        with store.read() as connection:
            [(stored,)] = connection.execute("SELECT count(*) FROM items").fetchall()
        points = server.counters()["cost"]
    waits = [line for line in progress.lines if "wait" in line]
    per_item = points / stored
    results = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "items": stored,
        "comments": report.comments,
        "events": report.events,
        "seconds": seconds,
        "points": points,
        "requests": source.client.usage.requests,
        "window": {"points": options.window_points, "seconds": options.window_seconds},
        "waits": len(waits),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "whole": {"items": WHOLE, "points": per_item * WHOLE, "hours_of_quota": per_item * WHOLE / HOURLY},
    }
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2), *waits[:3], sep="\n")


if __name__ == "__main__":
    main()
