"""`kill -9` at random moments of a mine, then the same command again: nothing lost, nothing twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from servers.tracker import write_history
from support import rows, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from servers.github import GitHub

KILLS = int(os.environ.get("KILLS", "15"))
"""How often each mine is killed; `.ci/run` asks for one."""
LINES = 12_000
LONGEST_ROUND = 30


class Attacked:
    """A command that is killed again and again on the same database until it gets through."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.folder = folder
        self.arguments = arguments
        self.environment = {**os.environ, **environment}
        self.random = random.Random(7)
        self.kills = 0
        self.finished: list[Path] = []
        self.duration = 1.0

    def start(self, database: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "torch_embers", "mine", *self.arguments, "--database", str(database)]
        return subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )

    def complete(self, database: Path) -> None:
        started = time.monotonic()
        process = self.start(database)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output.decode()
        self.duration = time.monotonic() - started

    def run(self, kills: int) -> None:
        """Kill ``kills`` times; every database that got through is kept in ``finished``."""
        database = self.folder / "0.duckdb"
        while self.kills < kills:
            process = self.start(database)
            try:
                process.wait(timeout=self.random.uniform(0.3, self.duration))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=LONGEST_ROUND)
                self.kills += 1
                continue
            assert process.returncode == 0, process.stdout.read().decode() if process.stdout else ""
            self.finished.append(database)
            database = self.folder / f"{len(self.finished)}.duckdb"
        self.complete(database)
        self.finished.append(database)


def check(attacked: Attacked, whole: dict[str, list[Any]]) -> None:
    attacked.run(KILLS)
    for database in attacked.finished:
        assert snapshot(database) == whole
        assert rows(database, "SELECT count(*) - count(DISTINCT page_id) FROM raw_pages") == [(0,)]


@pytest.mark.timeout(600)
def test_a_mine_by_rest_survives_being_killed(tracker: GitHub, tmp_path: Path) -> None:
    write_history(tracker.repository("alice/bugs"), 1_000)
    arguments = ("--source", "rest", "--repo", "alice/bugs", "--api-url", tracker.url)
    attacked = Attacked(tmp_path, *arguments, EMBERS_TOKENS="t", EMBERS_PAUSE="0.03")
    attacked.complete(tmp_path / "whole.duckdb")
    check(attacked, snapshot(tmp_path / "whole.duckdb"))


@pytest.mark.timeout(600)
def test_a_mine_by_graphql_with_gaps_survives_being_killed(server: GitHub, tmp_path: Path) -> None:
    """Every page of issues lacks an item, so that each run has some to read again when it is killed."""
    arguments = ("--source", "graphql", "--repo", "pytorch/pytorch", "--api-url", server.url)
    attacked = Attacked(tmp_path, *arguments, EMBERS_TOKENS="token-one", EMBERS_PAUSE="0.03")
    attacked.complete(tmp_path / "whole.duckdb")
    server.fault({"path": ["repository", "issues", "nodes", 2]}, times=10_000, contains="query issues(")
    check(attacked, snapshot(tmp_path / "whole.duckdb"))


@pytest.mark.timeout(600)
def test_a_mine_of_files_survives_being_killed(tmp_path: Path) -> None:
    source = tmp_path / "items.jsonl"
    with source.open("wb") as stream:
        for n in range(1, LINES + 1):
            record = {
                "number": n,
                "node_id": str(n),
                "title": f"wrong result of op {n}",
                "body": f"Fixes #{n - 1}\n" + "strided " * (n % 90),
                "state": "open",
                "updated_at": f"2024-01-01T{n % 24:02d}:00:00Z",
                "labels": [{"name": "module: cuda"}],
            }
            stream.write(orjson.dumps(record) + b"\n")
    attacked = Attacked(tmp_path, "--source", "jsonl", str(source))
    attacked.complete(tmp_path / "whole.duckdb")
    check(attacked, snapshot(tmp_path / "whole.duckdb"))
