"""Measure two raylets against one, and both against local runs: `python bench/cluster.py [--cases 24] [--rounds 3]`.

All raylets are on this machine, with one CPU each. A sweep runs shipped cases that need no accelerator on the torch of this environment, without
controls, into a new database; its time is from the first request to the last verdict, so that the start of Ray and the proof of the sandbox are
left out. The ways take turns. Every way must reach the same verdicts. Written to bench/cluster.json, printed as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from torch_embers.builds.registry import CURRENT, Registry
from torch_embers.locations import default_builds_dir
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.where import Where, opened
from torch_embers.store.store import Store

RESULTS = Path(__file__).parent / "cluster.json"
CASES = Path(__file__).parents[1] / "data" / "cases"
WAYS = {"local, 1 job": 0, "one raylet": 1, "two raylets": 2}


def sweep(where: Where, registry: Registry, cases: list[Any], folder: Path) -> tuple[float, dict[str, str]]:
    """Seconds of a sweep, and the verdicts by case."""
    build = registry.find(CURRENT)
    store = Store(folder / f"{secrets.token_hex(4)}.duckdb")
    with opened(where, registry, Silent(), jobs=1) as dispatcher, store.writer("bench", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, cases)
        executor = Executor(store, writer, registry, Silent(), dispatcher=dispatcher)
        begun = time.perf_counter()
        cells = list(executor.sweep(SweepRequest(cases, [build], [], 1)))
        return time.perf_counter() - begun, {cell.case.name: cell.decision.verdict for cell in cells}


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "token"}
    os.environ |= {"RAY_AUTH_TOKEN": secrets.token_hex(32), "EMBERS_BUILDS_DIR": str(default_builds_dir())}
    from ray.cluster_utils import Cluster  # reads the variables when it is imported

    registry = Registry(default_builds_dir())
    cases = [case for case in bank.read_folder(CASES)[0] if case.device == "cpu"][: asked.cases]
    loads, seconds, verdicts = [], {way: [] for way in WAYS}, {}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    with ExitStack() as stack:
        stack.callback(cluster.shutdown)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for _ in range(asked.rounds):
            for way, count in WAYS.items():
                nodes = [cluster.add_node(num_cpus=1) for _ in range(count)]
                where = Where("ray", cluster.address) if count else Where()
                spent, verdicts[way] = sweep(where, registry, cases, folder)
                for node in nodes:
                    cluster.remove_node(node, allow_graceful=False)
                seconds[way].append(round(spent, 2))
                loads.append(round(os.getloadavg()[0], 1))
                print(way, seconds[way][-1], "load", loads[-1], flush=True)
    made = {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "loads": loads,
        "cases": len(cases),
        "build": registry.find(CURRENT).version,
        "seconds": seconds,
        "equal_verdicts": all(found == verdicts["local, 1 job"] for found in verdicts.values()),
        "ratio": round(median(seconds["one raylet"]) / median(seconds["two raylets"]), 2),
    }
    RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
