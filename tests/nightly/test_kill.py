"""`kill -9` at random moments of a mine of files, then the same command again: nothing lost, nothing twice.

Mines of GitHub are killed in test_schedules.py, and among the promises.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import orjson
import pytest

from support import snapshot

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("KILLS", "15"))
"""How often the mine is killed."""


@pytest.mark.timeout(600)
def test_a_mine_of_files_survives_being_killed(tmp_path: Path) -> None:
    """A mine that is killed is started again on its database; one that gets through, on a new one."""
    source = tmp_path / "items.jsonl"
    with source.open("wb") as stream:
        for n in range(1, 12_001):
            body = f"Fixes #{n - 1}\n" + "strided " * (n % 90)
            record = {"number": n, "node_id": str(n), "title": f"wrong result of op {n}", "body": body, "state": "open"}
            record |= {"updated_at": f"2024-01-01T{n % 24:02d}:00:00Z", "labels": [{"name": "module: cuda"}]}
            stream.write(orjson.dumps(record) + b"\n")

    def start(number: int) -> subprocess.Popen[bytes]:
        words = ["mine", "--source", "jsonl", str(source), "--database", str(tmp_path / f"{number}.duckdb")]
        program = [sys.executable, "-m", "torch_embers", *words]
        return subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    began = time.monotonic()
    assert start(0).wait(120) == 0
    moments, duration, kills, number = random.Random(7), time.monotonic() - began, 0, 1
    while kills < KILLS:
        process = start(number)
        try:
            assert process.wait(moments.uniform(0.3, duration)) == 0
            number += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    assert start(number).wait(120) == 0
    whole = snapshot(tmp_path / "0.duckdb")
    for place in range(1, number + 1):
        assert snapshot(tmp_path / f"{place}.duckdb") == whole
