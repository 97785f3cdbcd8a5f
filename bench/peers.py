"""Measure embers beside Perceval on one stand-in server in one run: `python bench/peers.py --perceval PYTHON`.

PYTHON is the interpreter of an environment of its own with `pip install perceval` (1.6). The server is
tests/servers/tracker.py in a process of its own. Both read all items with their comments, embers also the events. Once more
with a comment whose author was deleted (`user: null`). Writes bench/peers.json; run.py puts it into RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
LATENCIES = (0.0, 0.1)
"""Seconds that the server waits before each answer: none, and what GitHub takes at least for a page of 100 items."""
OUT = ROOT / "bench" / "peers.json"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench")]

PERCEVAL = """
import json, sys, time
import requests
from perceval.backends.core import github
github.GITHUB_API_URL = sys.argv[1]
calls = 0
send = requests.Session.send
def counted(*arguments, **options):
    global calls
    calls += 1
    return send(*arguments, **options)
requests.Session.send = counted
started = time.monotonic()
items = comments = 0
error = ""
try:
    backend = github.GitHub(owner="alice", repository="bugs", api_token=["t"])
    for item in backend.fetch(category="issue"):
        items += 1
        comments += len(item["data"].get("comments_data", []))
except Exception as caught:
    error = f"{type(caught).__name__}: {caught}"[:200]
print(json.dumps({"items": items, "comments": comments, "requests": calls, "seconds": time.monotonic() - started,
                  "cpu_s": time.process_time(), "error": error}))
"""


SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
latency = float(sys.argv[4])
from servers.tracker import Answered, Tracker, moment

class Whole(Tracker):
    def answer(self, target):
        time.sleep(latency)
        return super().answer(target)

    def _routed(self, asked):
        if asked.path == "/rate_limit":
            return Answered({"resources": {}, "rate": {"remaining": 5000}})
        if asked.path.startswith("/users/"):
            return Answered([] if asked.path.endswith("/orgs") else {"login": "ann", "id": 1})
        return super()._routed(asked)

with Whole() as tracker:
    repository = tracker.repository("alice/bugs")
    for number in range(1, int(sys.argv[2]) + 1):
        item = repository.add(number, reactions={"total_count": 0}, assignee=None, assignees=[], body="text " * 200)
        for place in range(number % 4):
            repository.comment(number, "A comment. " * 20)["reactions"] = {"total_count": 0}
        repository.event(number)
    if sys.argv[3] == "ghost":
        repository.comments[1]["user"] = None
    print(tracker.url, flush=True)
    sys.stdin.read()
"""


@contextmanager
def tracker(items: int, kind: str, latency: float = 0.0) -> Iterator[str]:
    """Address of the server."""
    command = [sys.executable, "-c", SERVER, str(ROOT / "tests"), str(items), kind, str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def perceval(python: str, url: str) -> dict[str, Any]:
    """One fetch of issues and of pull requests."""
    done = subprocess.run([python, "-c", PERCEVAL, url], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def embers(work: Path, url: str) -> dict[str, Any]:
    """One mine by REST into a new database, links included; no pause between requests, as Perceval makes none."""
    from support import rest
    from torch_embers.mine import runner
    from torch_embers.store.store import Store

    source = rest(url, "alice/bugs", "t")
    started, before = time.monotonic(), time.process_time()
    report = runner.mine(Store(work / "rest.duckdb"), source)
    seconds, cpu = time.monotonic() - started, time.process_time() - before
    found = {"items": report.items, "comments": report.comments, "events": report.events}
    return found | {"requests": source.client.usage.requests, "seconds": seconds, "cpu_s": cpu}


def compared(python: str, items: int, rounds: int, latency: float) -> dict[str, Any]:
    """Both in turn on one server; the best of the rounds counts."""
    ways: dict[str, list[dict[str, Any]]] = {"embers": [], "perceval": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder, tracker(items, "whole", latency) as url:
            ways["embers"].append(embers(Path(folder), url))
            ways["perceval"].append(perceval(python, url))
    best = {name: min(results, key=lambda one: one["seconds"]) for name, results in ways.items()}
    ratio, of_cpu = (best["perceval"][key] / best["embers"][key] for key in ("seconds", "cpu_s"))
    return {"latency": latency, "ratio": ratio, "ratio_cpu": of_cpu, **best}


def main() -> None:
    from run import machine

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--perceval", required=True, help="interpreter of an environment with Perceval")
    parser.add_argument("--items", type=int, default=1_500)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    runs = [compared(options.perceval, options.items, options.rounds, latency) for latency in LATENCIES]
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder, tracker(30, "ghost") as url:
        ghost = {"embers": embers(Path(folder), url), "perceval": perceval(options.perceval, url)}
    results = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "seeded": options.items,
        "rounds": options.rounds,
        "runs": runs,
        "deleted_author": ghost,
    }
    results["earlier"] = {key: value for key, value in json.loads(OUT.read_text()).items() if key != "earlier"}
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
