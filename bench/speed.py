"""Measure mines of files by this checkout beside those by an older one: `python bench/speed.py --before CHECKOUT`.

Both checkouts in turn, in processes of their own, on the same made-up files; the best of the rounds counts, and CPU seconds
stand beside wall time because other work disturbs them less. Writes bench/speed.json; run.py puts it into RESULTS.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "bench" / "speed.json"
sys.path[:0] = [str(ROOT / "bench")]
ARCHIVE = "GH Archive"
PAGES = "40 pages of 100 items into 20,000"

FINDER = """
from importlib import import_module, util
def part(name):  # an older checkout has all files of mine/ in one folder
    folders = [f for f in ("files", "records") if util.find_spec("torch_embers.mine." + f)]
    names = ["torch_embers.mine." + f + "." + name for f in folders] + ["torch_embers.mine." + name]
    return import_module(next(found for found in names if util.find_spec(found)))
"""
MINE = """
import json, resource, sys, time
from pathlib import Path
from torch_embers.mine import runner
from torch_embers.store.store import Store
{source} = part("{module}").{source}
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before, started = cpu(), time.monotonic()
runner.mine(Store(Path(sys.argv[1])), {source}("pytorch/pytorch", [{wrap}(p) for p in sys.argv[2:]]), link={link})
print(json.dumps({{"seconds": time.monotonic() - started, "cpu_s": cpu() - before,
                   "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}}))
"""
COMMIT = """
import json, resource, sys, time
from itertools import islice
from pathlib import Path
from torch_embers.mine.pages import make_page
from torch_embers.store.records import Batch, SyncState
from torch_embers.store.store import Store
item = part("rest_records").item
lines = [json.loads(line) for line in islice(open(sys.argv[2], "rb"), 24_000)]
def batch(objects, place):
    page = make_page("pytorch/pytorch", "rest", "rest.items", f"/x?{place}", json.dumps(objects).encode())
    cursor = SyncState("pytorch/pytorch", "rest", "items", str(place), "2024-01-01T00:00:00Z")
    return Batch(pages=[page], items=[item(one, page) for one in objects], cursors=[cursor])
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
with Store(Path(sys.argv[1])).writer("bench", create=True) as writer:
    writer.commit(batch(lines[:20_000], 0))
    pages = [batch(lines[n : n + 100], n) for n in range(20_000, 24_000, 100)]
    before, started = cpu(), time.monotonic()
    for page in pages:
        writer.commit(page)
print(json.dumps({"seconds": time.monotonic() - started, "cpu_s": cpu() - before,
                  "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measured(checkout: Path, code: str, *arguments: str | Path) -> dict[str, Any]:
    """Run code with a checkout's package and read the figures that it prints."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "pipeline")}
    command = [sys.executable, "-c", FINDER + code, *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def one_round(checkout: Path, work: Path, source: Path, hours: list[Path]) -> dict[str, dict[str, Any]]:
    """Every figure of a checkout once, in new databases."""
    work.mkdir()
    plain = MINE.format(module="jsonl", source="JsonlSource", wrap="Path", link=False)
    linked = MINE.format(module="jsonl", source="JsonlSource", wrap="Path", link=True)
    archive = MINE.format(module="archive", source="ArchiveSource", wrap="str", link=False)
    return {
        "JSONL": measured(checkout, plain, work / "plain.duckdb", source),
        "JSONL with links and components": measured(checkout, linked, work / "linked.duckdb", source),
        "JSONL again, nothing new": measured(checkout, linked, work / "linked.duckdb", source),
        ARCHIVE: measured(checkout, archive, work / "archive.duckdb", *hours),
        PAGES: measured(checkout, COMMIT, work / "pages.duckdb", source),
    }


def main() -> None:
    from make_archive import write_hours
    from run import machine, write_items

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="checkout of the older version")
    parser.add_argument("--items", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    found: dict[str, list[dict[str, dict[str, Any]]]] = {"before": [], "after": []}
    with tempfile.TemporaryDirectory(prefix="embers-bench-") as folder:
        work = Path(folder)
        write_items(work / "items.jsonl", options.items)
        hours = write_hours(work / "hours", hours=2, events=options.items // 2, share=1.0, repo="pytorch/pytorch")
        for place in range(options.rounds):
            for name, checkout in (("before", options.before), ("after", ROOT)):
                found[name].append(one_round(checkout, work / f"{name}{place}", work / "items.jsonl", hours))
    rows = {
        what: {
            name: {key: min(one[what][key] for one in rounds) for key in ("seconds", "cpu_s", "peak_mb")}
            for name, rounds in found.items()
        }
        for what in found["after"][0]
    }
    commit = subprocess.run(
        ["git", "-C", str(options.before), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    )
    results = {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": machine(),
        "load": load,
        "priority": os.nice(0),
        "before": commit.stdout.strip(),
        "items": options.items,
        "rounds": options.rounds,
        "rows": rows,
    }
    OUT.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
