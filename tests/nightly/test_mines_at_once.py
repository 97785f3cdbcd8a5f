"""Several mines at once on one database, each a process: one writes, the others are told; nothing is lost or twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from support import run_embers, snapshot

if TYPE_CHECKING:
    from pathlib import Path

ITEMS = 400
BUSY = 5
ROUNDS = 60


def items_file(path: Path, numbers: range) -> Path:
    records = (
        {
            "number": n,
            "title": f"wrong result of op {n}",
            "body": f"Fixes #{n - 1}\n" + "strided " * (n % 90),
            "state": "open",
            "updated_at": f"2024-01-{1 + n % 28:02d}T00:00:00Z",
        }
        for n in numbers
    )
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def start(database: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "torch_embers", "mine", *arguments, "--database", str(database)]
    return subprocess.Popen(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def mine_at_once(database: Path, runs: list[tuple[str, ...]]) -> int:
    """Start all runs together, and those that were refused again until each got through; returns the refusals."""
    refused = 0
    waiting = list(runs)
    for _ in range(ROUNDS):
        started = [(run, start(database, *run)) for run in waiting]
        waiting = []
        for run, process in started:
            _, errors = process.communicate(timeout=240)
            assert "Traceback" not in errors
            assert process.returncode in (0, BUSY), errors
            if process.returncode == BUSY:
                assert f"{database} is being written by `embers mine" in errors
                waiting.append(run)
                refused += 1
        if not waiting:
            return refused
        assert len(waiting) < len(started), "nobody got through"
    raise AssertionError("a mine never got its turn")


def one_after_the_other(database: Path, runs: list[tuple[str, ...]]) -> dict[str, list[Any]]:
    for run in runs:
        done = run_embers("mine", *run, "--database", str(database))
        assert done.returncode == 0, done.stderr
    return snapshot(database)


def test_mines_of_the_same_and_of_other_files_at_once_give_what_they_give_in_turn(tmp_path: Path) -> None:
    """None of them finds the database: each would make it."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    runs = [("--source", "jsonl", str(items_file(first, range(1, ITEMS))))]
    runs += [("--source", "jsonl", str(items_file(second, range(ITEMS // 2, 2 * ITEMS))))]
    whole = one_after_the_other(tmp_path / "in_turn.duckdb", runs)
    database = tmp_path / "at_once.duckdb"
    assert mine_at_once(database, [*runs, *runs]) > 0
    assert snapshot(database) == whole
