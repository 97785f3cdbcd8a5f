"""Random fault schedules against the stand-in servers.

``python bench/schedules.py [COUNT [FIRST SEED]]`` writes bench/schedules.json; with ``--kills`` before the numbers the
mines under faults are killed at random moments, and bench/schedule_kills.json is written.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from schedules import TABLES, Attack
from servers.stand_ins import node_ready

FILE = Path(__file__).with_suffix(".json")
KILLS = FILE.with_name("schedule_kills.json")
KEPT_EVERY = 10
"""Schedules after which what came of them is written: an interrupted run is one of fewer schedules."""


def kept(attack: Attack, first: int, began: float, load: float, *, kills: bool) -> dict[str, Any]:
    """Write what came of the schedules so far."""
    made = asdict(attack.result) | {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "met": dict(sorted(attack.result.met.items())),
        "tables": TABLES,
        "first_seed": first,
        "seconds": round(time.monotonic() - began),
        "load": [round(load, 1), round(os.getloadavg()[0], 1)],
    }
    (KILLS if kills else FILE).write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return made


def main(count: int = 200, first: int = 1, *, kills: bool = False) -> int:
    """Run the schedules and write what came of them; the exit code is 1 where something was lost without a word."""
    if reason := node_ready():
        raise SystemExit(reason)
    began, load = time.monotonic(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, Attack(Path(folder)) as attack:
        for place, seed in enumerate(range(first, first + count), start=1):
            (attack.run_with_kills if kills else attack.run)(seed)
            if place % KEPT_EVERY == 0 or place == count:
                result = kept(attack, first, began, load, kills=kills)
                print(json.dumps(result), flush=True)
    return 1 if attack.result.silent or attack.result.unequal else 0


if __name__ == "__main__":
    words = sys.argv[1:]
    sys.exit(main(*(int(word) for word in words if word != "--kills"), kills="--kills" in words))
