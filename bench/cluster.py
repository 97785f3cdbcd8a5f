"""Measure two raylets against one, and both against local runs: `python bench/cluster.py [--cases 24] [--rounds 3]`.

With `--bisect CASE` (repeatable) bisections of shipped cases are measured instead, over all registered builds and
without their shipped verdicts: one machine against two raylets. The answers must be equal; that part of the file alone
is written anew. With `--hunt OPS` it is a hunt of these operators, and 1,024 pairs of titles embedded.

All raylets are on this machine, with one CPU each. A sweep runs shipped cases that need no accelerator on the torch of this environment, without
controls, into a new database; its time is from the first request to the last verdict, so that the start of Ray and the proof of the sandbox are
left out. The ways take turns. Every way must reach the same verdicts. Written to bench/cluster.json, and from there into bench/RESULTS.md.
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

import duckdb

from torch_embers import settings
from torch_embers.builds.registry import CURRENT, Registry
from torch_embers.classify.embedding import embed
from torch_embers.progress import Silent
from torch_embers.repro import bank
from torch_embers.run import hunt, hunt_coverage
from torch_embers.run.bisect import command as bisecting
from torch_embers.run.bisect.report import as_table
from torch_embers.run.bisect.request import BisectRequest
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.where import Where, embedding, opened
from torch_embers.store.store import Store

RESULTS = Path(__file__).parent / "cluster.json"
CATALOG = Path(__file__).parents[1] / "data" / "catalog.jsonl"
CASES = Path(__file__).parents[1] / "data" / "cases"
WAYS = {"local, 1 job": 0, "one raylet": 1, "two raylets": 2}


def sweep(where: Where, registry: Registry, cases: list[Any], folder: Path) -> tuple[float, dict[str, str]]:
    """Seconds of a sweep, and the verdicts by case."""
    build = registry.find(CURRENT)
    store = Store(folder / f"{secrets.token_hex(4)}.duckdb")
    with opened(where, registry, Silent(), jobs=1) as dispatcher, store.writer("bench", create=True) as writer:
        with writer.transaction() as connection:
            bank.save(connection, cases)
        executor = Executor(store, writer, dispatcher, Silent())
        begun = time.perf_counter()
        cells = list(executor.sweep(SweepRequest(cases, [build], [], 1)))
        return time.perf_counter() - begun, {cell.case.name: cell.decision.verdict for cell in cells}


def bisected(where: Where, case: Any, folder: Path) -> tuple[float, dict[str, Any], int]:
    """Seconds of a bisection without earlier verdicts, its answer, and the number of builds that were measured."""
    store = Store(folder / f"{secrets.token_hex(4)}.duckdb")
    with store.writer("bench", create=True) as writer, writer.transaction() as connection:
        bank.save(connection, [case])
    wanted = settings.load(database=store.path)
    begun = time.perf_counter()
    made = bisecting.bisect(store, wanted, BisectRequest(case.name, fresh=True, where=where), Silent())
    spent = time.perf_counter() - begun
    with store.read() as connection:
        [(builds,)] = connection.execute("SELECT count(DISTINCT build) FROM verdicts").fetchall()
    return spent, as_table(made), builds


def bisections(names: list[str], address: str, folder: Path) -> list[dict[str, Any]]:
    """Bisections of cases, here and on the raylets."""
    bisecting.shipped.load = lambda _: 0  # the cases are saved, and their shipped verdicts are not wanted
    known = {case.name: case for case in bank.read_folder(CASES)[0]}
    found = []
    for name in names:
        row: dict[str, Any] = {"case": name, "seconds": {}, "measured": {}, "loads": []}
        answers = {}
        for way, where in (("local", Where()), ("two raylets", Where("ray", address))):
            spent, answers[way], row["measured"][way] = bisected(where, known[name], folder)
            row["seconds"][way] = round(spent, 1)
            row["loads"].append(round(os.getloadavg()[0], 1))
            print(name, way, row["seconds"][way], answers[way]["sentence"], flush=True)
        row |= {"sentence": answers["local"]["sentence"], "equal": answers["local"] == answers["two raylets"]}
        row["asked"] = len({step["version"] for step in answers["local"]["steps"]})
        found.append(row)
    return found


def hunted(where: Where, ops: list[str], folder: Path) -> tuple[float, Any]:
    """Seconds of a hunt on the torch of this environment, and all that it found."""
    registry = Registry(settings.load().builds_dir)
    out = folder / secrets.token_hex(4)
    begun = time.perf_counter()
    with opened(where, registry, Silent(), jobs=1) as dispatcher:
        list(hunt.hunt(registry.find(CURRENT), hunt.HuntRequest(ops, ["float32"], out, ["forward", "out"]), dispatcher))
    spent = time.perf_counter() - begun
    hunt_coverage.write(out, out / "map.parquet")
    coverage = duckdb.sql(f"FROM read_parquet('{out / 'map.parquet'}') ORDER BY ALL").fetchall()
    journal = sorted((out / hunt.FILE).read_text(encoding="utf-8").splitlines())
    return spent, (journal, coverage)


def embedded(where: Where, texts: list[list[str]]) -> tuple[float, bytes]:
    """Seconds of embedding, the start of Ray left out, and all vectors."""
    with embedding(where, settings.load().builds_dir, Silent(), jobs=1) as spread:
        embedder = spread(embed.load_embedder(threads=1))
        begun = time.perf_counter()
        made = b"".join(one.tobytes() for one in embedder.encode_many(texts))
        return time.perf_counter() - begun, made


def others(ops: list[str], address: str, folder: Path) -> dict[str, Any]:
    """A hunt and the titles of the catalog embedded, here and on the raylets."""
    titles = [json.loads(line)["title"] for line in CATALOG.read_text(encoding="utf-8").splitlines()]
    texts = [[f"{one} {two}" for two in titles[:64]] for one in titles[:16]]
    found: dict[str, Any] = {"date": today(), "operators": len(ops), "texts": 1024, "loads": [], "seconds": {}}
    came: dict[str, list[Any]] = {"hunt": [], "embedding": []}
    for way, where in (("local", Where()), ("two raylets", Where("ray", address))):
        for what, (spent, made) in (("hunt", hunted(where, ops, folder)), ("embedding", embedded(where, texts))):
            came[what].append(made)
            found["seconds"].setdefault(what, {})[way] = round(spent, 1)
            print(what, way, round(spent, 1), flush=True)
        found["loads"].append(round(os.getloadavg()[0], 1))
    found["equal"] = {what: made[0] == made[1] for what, made in came.items()}
    if not found["equal"]["hunt"]:
        for one, other in zip(*(made[0] for made in came["hunt"]), strict=False):
            if one != other:
                print(one, other, sep="\n", flush=True)
    return found


def main() -> None:
    """Measure, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bisect", action="append", default=[])
    parser.add_argument("--hunt", default="", help="operators, separated by commas; embedding is measured with it")
    asked = parser.parse_args()
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_AUTH_MODE": "token"}
    os.environ |= {"RAY_AUTH_TOKEN": secrets.token_hex(32), "EMBERS_BUILDS_DIR": str(settings.load().builds_dir)}
    from ray.cluster_utils import Cluster  # reads the variables when it is imported

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    with ExitStack() as stack:
        stack.callback(cluster.shutdown)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if asked.bisect or asked.hunt:
            for _ in range(2):
                cluster.add_node(num_cpus=1)
        if asked.hunt:
            made["others"] = others(asked.hunt.split(","), cluster.address, folder)
        elif asked.bisect:
            made["bisections"] = {"date": today(), "rows": bisections(asked.bisect, cluster.address, folder)}
        else:
            made["sweeps"] = sweeps(cluster, asked.cases, asked.rounds, folder)
    RESULTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(made, indent=1))


def sweeps(cluster: Any, count: int, rounds: int, folder: Path) -> dict[str, Any]:
    """Sweeps in turn: here, on one raylet, on two."""
    registry = Registry(settings.load().builds_dir)
    cases = [case for case in bank.read_folder(CASES)[0] if case.device == "cpu"][:count]
    loads, seconds, verdicts = [], {way: [] for way in WAYS}, {}
    for _ in range(rounds):
        for way, number in WAYS.items():
            nodes = [cluster.add_node(num_cpus=1) for _ in range(number)]
            where = Where("ray", cluster.address) if number else Where()
            spent, verdicts[way] = sweep(where, registry, cases, folder)
            for node in nodes:
                cluster.remove_node(node, allow_graceful=False)
            seconds[way].append(round(spent, 2))
            loads.append(round(os.getloadavg()[0], 1))
            print(way, seconds[way][-1], "load", loads[-1], flush=True)
    return {
        "date": today(),
        "cores": os.cpu_count(),
        "loads": loads,
        "cases": len(cases),
        "build": registry.find(CURRENT).version,
        "seconds": seconds,
        "equal_verdicts": all(found == verdicts["local, 1 job"] for found in verdicts.values()),
        "ratio": round(median(seconds["one raylet"]) / median(seconds["two raylets"]), 2),
    }


def today() -> str:
    """The day, UTC."""
    return datetime.now(UTC).date().isoformat()


if __name__ == "__main__":
    main()
