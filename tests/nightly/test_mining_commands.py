"""Mines as a user starts them: what a first run ends with, several at once, one that is interrupted, and killed ones."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from mines import REPO
from servers.tracker import write_history
from support import assert_clean_error, eventually, rows, run_embers, snapshot
from torch_embers.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from servers.github import GitHub

NOWHERE = "http://127.0.0.1:9"
HASTY = {"EMBERS_PAUSE": "0", "EMBERS_BACKOFF": "0.01", "EMBERS_RETRIES": "2"}


def test_a_first_run_without_network_fills_a_database_and_a_second_one_changes_nothing(database: Path) -> None:
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0, done.stderr
    assert "cannot be reached" in done.stdout
    assert "GITHUB_TOKEN" in done.stdout
    counts = "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM links), (SELECT count(*) FROM raw)"
    before = rows(database, counts)
    assert min(before[0]) > 0
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0
    assert "nothing new" in done.stdout
    assert rows(database, counts) == before


def test_without_a_token_why_issues_were_closed_is_asked_first_and_once(tracker: GitHub, database: Path) -> None:
    run_embers("mine", "--source", "catalog", "--database", str(database))
    unknown = "SELECT number FROM item_dispositions WHERE evidence LIKE 'no event%' ORDER BY number LIMIT 2"
    gone, wanted = (number for (number,) in rows(database, unknown))
    repository = tracker.repository("pytorch/pytorch")
    repository.add(wanted, state="closed", state_reason="not_planned")
    repository.event(wanted, "closed", state_reason="not_planned")
    for _ in range(2):
        done = run_embers("mine", "--api-url", tracker.url, "--database", str(database), "--budget", "20")
        assert done.returncode == 0, done.stderr
    asked = [one.path for one in tracker.asked if "/issues/" in one.path]
    assert len([path for path in asked if path.endswith(f"/{wanted}/timeline")]) == 1
    assert len([path for path in asked if path.endswith(f"/{gone}")]) == 1, "GitHub does not have it"
    assert rows(database, f"SELECT disposition FROM item_dispositions WHERE number = {wanted}") == [("declined",)]
    assert rows(database, f"SELECT deleted_at IS NOT NULL FROM items WHERE number = {gone}") == [(True,)]


def has_items(database: Path) -> bool:
    """Whether the first items are written; not while the writer has the file."""
    try:
        return rows(database, "SELECT count(*) > 0 FROM items") == [(True,)]
    except StoreError:
        return False


def test_ctrl_c_saves_what_was_read_and_says_so(tracker: GitHub, database: Path) -> None:
    write_history(tracker.repository("alice/bugs"), 1_000)
    command = [sys.executable, "-m", "torch_embers", "mine", "--source", "rest", "--repo", "alice/bugs"]
    command += ["--api-url", tracker.url, "--database", str(database)]
    slow = {**os.environ, "EMBERS_TOKENS": "t", "EMBERS_PAUSE": "0.3"}
    with subprocess.Popen(command, env=slow, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        eventually(lambda: has_items(database))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert rows(database, "SELECT count(*) > 0 FROM items") == [(True,)]


# ---- live: what a user sees ----------------------------------------------------------------------------------------


def mine(server: GitHub, database: Path, *words: object, code: int = 0, **settings: str) -> str:
    """What a mine of the tracker prints."""
    given = HASTY | {"EMBERS_TOKENS": "token-one"} | settings
    done = run_embers("mine", *words, "--repo", REPO, "--api-url", server.url, "--database", database, **given)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_items_are_fetched_by_number_address_and_file(server: GitHub, database: Path, tmp_path: Path) -> None:
    (tmp_path / "numbers.txt").write_text("#3\n4\n")
    assert "graphql: 2 items" in mine(server, database, "1", f"https://github.com/{REPO}/issues/2")
    assert "graphql: 2 items" in mine(server, database, "--numbers", tmp_path / "numbers.txt")
    assert "nothing new" in mine(server, database, "--numbers", tmp_path / "numbers.txt")
    assert "graphql: 1 items" in mine(server, database, "--refresh", "4")
    assert rows(database, "SELECT number FROM items WHERE source = 'graphql' ORDER BY ALL") == [(1,), (2,), (3,), (4,)]
    assert "has no item #99999" in mine(server, database, "99999", code=4)


def test_bounds_and_refresh_all_read_what_they_name(server: GitHub, database: Path) -> None:
    live = "FROM items WHERE source = 'graphql'"
    mine(server, database, "--state", "open")
    assert rows(database, f"SELECT DISTINCT state {live}") == [("open",)]
    [(count,)] = rows(database, f"SELECT count(*) {live}")
    assert "nothing new" in mine(server, database, "--state", "open")
    assert f"graphql: {count} items" in mine(server, database, "--state", "open", "--refresh", "all")
    mine(server, database)
    assert rows(database, "SELECT DISTINCT source FROM items ORDER BY ALL") == [("catalog",), ("graphql",)]
    [(whole,)] = rows(database, f"SELECT count(*) {live}")
    assert whole > count
    assert f"graphql: {whole} items" in mine(server, database, "--refresh", "all")


def test_what_is_deleted_is_found_by_its_number_with_and_without_a_token(
    server: GitHub, database: Path, tmp_path: Path
) -> None:
    gone = "SELECT number FROM items WHERE deleted_at IS NOT NULL"
    mine(server, database)
    anonymous = shutil.copy(database, tmp_path / "anonymous.duckdb")
    server.delete(REPO, 5)
    assert "1 items that are gone" in mine(server, database, "--check-numbers")
    assert rows(database, gone) == [(5,)]
    assert "1 items that are gone" in mine(server, anonymous, "5", EMBERS_TOKENS="")
    assert rows(anonymous, gone) == [(5,)]


def test_a_budget_ends_a_mine_and_says_so(server: GitHub, database: Path, tmp_path: Path) -> None:
    assert "stopped: the budget of 4 requests is used up" in mine(server, database, "--budget", "4")
    mine(server, database)
    mine(server, tmp_path / "fresh.duckdb")
    assert snapshot(database) == snapshot(tmp_path / "fresh.duckdb")


def test_a_renamed_repository_is_not_stored_twice(server: GitHub, database: Path) -> None:
    mine(server, database)
    [(count,)] = rows(database, "SELECT count(*) FROM items")
    server.rename_repo(REPO, "pytorch/renamed")
    assert "is now called pytorch/renamed" in mine(server, database)
    assert rows(database, "SELECT repo, count(*) FROM items GROUP BY ALL") == [("pytorch/renamed", count)]
    assert rows(database, "SELECT DISTINCT repo FROM raw") == [("pytorch/renamed",)]


def test_what_came_before_an_error_is_stored_and_linked(server: GitHub, database: Path) -> None:
    server.fault("bad_gateway_502", "/graphql", times=10_000, at=6)
    said = mine(server, database, code=4)
    assert "HTTP 502" in said or "try again later" in said
    assert rows(database, "SELECT count(*) > 0 FROM items") == [(True,)]
    assert rows(database, "SELECT count(*) FROM link_scans WHERE origin = 'tables'") == [(1,)]


def test_the_catalog_is_linked_where_github_refuses_the_token(server: GitHub, database: Path) -> None:
    words = ("mine", "--api-url", server.url, "--database", database)
    done = run_embers(*words, EMBERS_TOKENS="token-unknown", **HASTY)
    assert_clean_error(done, 4, "make a new one")
    assert rows(database, "SELECT count(*) > 100 FROM links") == [(True,)]


# ---- several at once, and kills ------------------------------------------------------------------------------------

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
            "labels": [{"name": "module: cuda"}],
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


def test_mines_of_the_same_and_of_other_files_at_once_give_what_they_give_in_turn(tmp_path: Path) -> None:
    """None of them finds the database: each would make it."""
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    runs = [("--source", "jsonl", str(items_file(first, range(1, ITEMS))))]
    runs += [("--source", "jsonl", str(items_file(second, range(ITEMS // 2, 2 * ITEMS))))]
    for run in runs:
        assert run_embers("mine", *run, "--database", tmp_path / "in_turn.duckdb").returncode == 0
    assert mine_at_once(tmp_path / "at_once.duckdb", [*runs, *runs]) > 0
    assert snapshot(tmp_path / "at_once.duckdb") == snapshot(tmp_path / "in_turn.duckdb")


@pytest.mark.timeout(600)
def test_a_mine_of_files_survives_being_killed(tmp_path: Path) -> None:
    """A mine that is killed is started again on its database; one that gets through, on a new one."""
    source = items_file(tmp_path / "items.jsonl", range(1, 12_001))

    def begun(number: int) -> subprocess.Popen[str]:
        return start(tmp_path / f"{number}.duckdb", "--source", "jsonl", str(source))

    began = time.monotonic()
    assert begun(0).wait(120) == 0
    moments, duration, kills, number = random.Random(7), time.monotonic() - began, 0, 1
    while kills < 15:
        process = begun(number)
        try:
            assert process.wait(moments.uniform(0.3, duration)) == 0
            number += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
    assert begun(number).wait(120) == 0
    whole = snapshot(tmp_path / "0.duckdb")
    for place in range(1, number + 1):
        assert snapshot(tmp_path / f"{place}.duckdb") == whole
