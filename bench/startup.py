"""How much processor time light commands take: `python bench/startup.py` writes bench/startup.json.

CPU seconds (user and system) of a whole process, so that other work on the machine matters little; the database holds
the catalog alone.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = ("--version", "--help", "status")
REPEATS = 10
TARGET_SECONDS = 0.35
RESULT = Path(__file__).with_name("startup.json")


def cpu_seconds(arguments: list[str]) -> float:
    """CPU seconds of one process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    """Measure each command, and Python alone for comparison."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["EMBERS_DATABASE"] = str(Path(folder) / "e.duckdb")
        embers = ["-m", "torch_embers"]
        subprocess.run([sys.executable, *embers, "mine", "--source", "catalog"], check=True, stdout=subprocess.DEVNULL)
        measured = {"python": [cpu_seconds(["-c", "pass"]) for _ in range(REPEATS)]}
        measured |= {word: [cpu_seconds([*embers, word]) for _ in range(REPEATS)] for word in COMMANDS}
    made = {
        word: {"best": round(min(times), 3), "median": round(statistics.median(times), 3)}
        for word, times in measured.items()
    }
    RESULT.write_text(json.dumps({"target": TARGET_SECONDS, "repeats": REPEATS, "cpu_seconds": made}, indent=1) + "\n")
    print(json.dumps(made, indent=1))


if __name__ == "__main__":
    main()
