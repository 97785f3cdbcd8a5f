"""`kill -9` at random moments of a mine, then the same command again: nothing lost, nothing twice."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

import orjson
import pytest

from servers.tracker import write_history
from support import rows, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from servers.github import GitHub

KILLS = int(os.environ.get("KILLS", "15"))
"""How often each mine is killed; `.ci/run` asks for one."""
LINES = 12_000


def attacked(folder: Path, *arguments: str, fault: Callable[[], object] = int, **environment: str) -> None:
    """Mine undisturbed, let something happen to the tracker, and mine under attack: each time the same tables come of it.

    A mine that is killed is started again on its database; one that gets through, on a new one.
    """

    def start(database: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "torch_embers", "mine", *arguments, "--database", str(database)]
        surroundings = {**os.environ, **environment}
        return subprocess.Popen(command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(database: Path) -> None:
        process = start(database)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output.decode()

    began = time.monotonic()
    end(folder / "whole.duckdb")
    duration, whole = time.monotonic() - began, snapshot(folder / "whole.duckdb")
    fault()
    moments, kills, made = random.Random(7), 0, 1
    while kills < KILLS:
        process = start(folder / f"{made}.duckdb")
        try:
            process.wait(timeout=moments.uniform(0.3, duration))
            assert process.returncode == 0, process.stdout.read().decode() if process.stdout else ""
            made += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    end(folder / f"{made}.duckdb")
    for place in range(1, made + 1):
        database = folder / f"{place}.duckdb"
        assert snapshot(database) == whole
        assert rows(database, "SELECT count(*) - count(DISTINCT page_id) FROM raw_pages") == [(0,)]


@pytest.mark.timeout(600)
def test_a_mine_by_rest_survives_being_killed(tracker: GitHub, tmp_path: Path) -> None:
    write_history(tracker.repository("alice/bugs"), 1_000)
    arguments = ("--source", "rest", "--repo", "alice/bugs", "--api-url", tracker.url)
    attacked(tmp_path, *arguments, EMBERS_TOKENS="t", EMBERS_PAUSE="0.03")


@pytest.mark.timeout(600)
def test_a_mine_by_graphql_with_gaps_survives_being_killed(server: GitHub, tmp_path: Path) -> None:
    """Every page of issues lacks an item, so that each run has some to read again when it is killed."""
    arguments = ("--source", "graphql", "--repo", "pytorch/pytorch", "--api-url", server.url)
    gap = {"path": ["repository", "issues", "nodes", 2]}
    fault = partial(server.fault, gap, times=10_000, contains="query issues(")
    attacked(tmp_path, *arguments, fault=fault, EMBERS_TOKENS="token-one", EMBERS_PAUSE="0.03")


@pytest.mark.timeout(600)
def test_a_mine_of_files_survives_being_killed(tmp_path: Path) -> None:
    source = tmp_path / "items.jsonl"
    with source.open("wb") as stream:
        for n in range(1, LINES + 1):
            body = f"Fixes #{n - 1}\n" + "strided " * (n % 90)
            record = {"number": n, "node_id": str(n), "title": f"wrong result of op {n}", "body": body, "state": "open"}
            record |= {"updated_at": f"2024-01-01T{n % 24:02d}:00:00Z", "labels": [{"name": "module: cuda"}]}
            stream.write(orjson.dumps(record) + b"\n")
    attacked(tmp_path, "--source", "jsonl", str(source))
