"""Measure embers beside Perceval on stand-in servers in one run: `python bench/peers.py --perceval PYTHON`.

PYTHON is the interpreter of an environment of its own with `pip install perceval` (1.6). The server is
tests/servers/tracker.py in a process of its own. Both read all items with their comments, embers also the events: without a
pause between requests, as Perceval makes none, and with the shipped one. By GraphQL embers reads as many items with as many
comments of the same length from tests/servers/graphql.mjs; Perceval has no such way. Once more with a comment whose author
was deleted (`user: null`). Writes bench/peers.json; run.py puts it into RESULTS.md.
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


def embers(work: Path, source: Any) -> dict[str, Any]:
    """One mine into a new database, links included."""
    from torch_embers.mine import runner
    from torch_embers.store.store import Store

    started, before = time.monotonic(), time.process_time()
    report = runner.mine(Store(work / "mined.duckdb"), source)
    seconds, cpu = time.monotonic() - started, time.process_time() - before
    found = {"items": report.items, "comments": report.comments, "events": report.events}
    return found | {"requests": source.client.usage.requests, "seconds": seconds, "cpu_s": cpu}


def rest(url: str, *, pause: bool) -> Any:
    """A source by REST, with the shipped pause between requests or with none."""
    from support import QUICK, client
    from torch_embers.mine.github.replies import Patience
    from torch_embers.mine.github.rest import RestSource
    from torch_embers.mine.scope import Scope

    return RestSource(client(url, "t", patience=Patience() if pause else QUICK), Scope("alice/bugs"))


def same_texts(items: int) -> Any:
    """A dataset of the GraphQL server with as many items and comments, as long as those of the REST server."""
    from servers.stand_ins import synthetic_dataset

    made = synthetic_dataset(items)
    for item in made["repos"][0]["items"]:
        at = item["createdAt"]
        said = {"author": "bob", "authorAssociation": "NONE", "createdAt": at, "updatedAt": at, "reactionCounts": {}}
        item["body"] = "text " * 200
        item["comments"] = [
            said | {"databaseId": item["number"] * 10 + place, "body": "A comment. " * 20}
            for place in range(item["number"] % 4)
        ]
    return made


def by_graphql(items: int, latency: float) -> dict[str, Any]:
    """One mine by GraphQL from a server of its own."""
    from servers.stand_ins import GraphQLStandIn
    from support import graphql

    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder, GraphQLStandIn(same_texts(items)) as server:
        if latency:
            server.faults({"kind": "delay", "ms": latency * 1_000, "times": 1_000_000})
        return embers(Path(folder), graphql(server.url, "pytorch/pytorch")) | {"points": server.counters()["cost"]}


def compared(python: str, items: int, rounds: int, latency: float) -> dict[str, Any]:
    """All ways in turn; the best of the rounds counts."""
    ways: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    for _ in range(rounds):
        with tracker(items, "whole", latency) as url:
            for pause in (False, True):
                with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder:
                    ways["paused" if pause else "embers"].append(embers(Path(folder), rest(url, pause=pause)))
            ways["perceval"].append(perceval(python, url))
        ways["graphql"].append(by_graphql(items, latency))
    best = {name: min(results, key=lambda one: one["seconds"]) for name, results in ways.items()}
    for row in best.values():
        row |= {
            "ratio": best["perceval"]["seconds"] / row["seconds"],
            "ratio_cpu": best["perceval"]["cpu_s"] / row["cpu_s"],
        }
    return {"latency": latency, **best}


WAYS = {
    "perceval": "Perceval",
    "embers": "embers, REST",
    "paused": "embers, REST, shipped pause",
    "graphql": "embers, GraphQL",
}
"""What is measured, and what the table calls it."""


def main() -> None:
    from run import machine
    from torch_embers.mine.github.replies import Patience

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--perceval", required=True, help="interpreter of an environment with Perceval")
    parser.add_argument("--items", type=int, default=1_500)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    runs = [compared(options.perceval, options.items, options.rounds, latency) for latency in LATENCIES]
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder, tracker(30, "ghost") as url:
        ghost = {"embers": embers(Path(folder), rest(url, pause=False)), "perceval": perceval(options.perceval, url)}
    results = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "priority": os.nice(0),
        "seeded": options.items,
        "rounds": options.rounds,
        "pause": Patience().pause,
        "runs": runs,
        "deleted_author": ghost,
    }
    before = json.loads(OUT.read_text())
    ratios = {str(run["latency"]): run["embers"].get("ratio") or run["ratio"] for run in before["runs"]}
    results["earlier"] = {"date": before["date"], "load": before["load"], "ratios": ratios}
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
