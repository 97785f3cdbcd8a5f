"""Mines as a user starts them: what a first run ends with, two at once, an interrupted one, and odd files and databases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb

from servers.tracker import write_history
from support import assert_clean_error, eventually, rows, run_embers
from torch_embers.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

    from servers.github import GitHub

NOWHERE = "http://127.0.0.1:9"


def test_a_first_run_without_network_fills_a_database_and_a_second_one_changes_nothing(database: Path) -> None:
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0, done.stderr
    assert "cannot be reached" in done.stdout
    assert "GITHUB_TOKEN" in done.stdout
    counts = "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM links), (SELECT count(*) FROM raw_pages)"
    before = rows(database, counts)
    assert min(before[0]) > 0
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0
    assert "nothing new" in done.stdout
    assert rows(database, counts) == before


def test_a_first_run_with_network_adds_live_items_to_the_catalog(server: GitHub, database: Path) -> None:
    done = run_embers("mine", "--api-url", server.url, "--database", str(database), EMBERS_TOKENS="token-one")
    assert done.returncode == 0, done.stderr
    assert {s for (s,) in rows(database, "SELECT DISTINCT source FROM items")} == {"catalog", "graphql"}


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
    asked = [one.path for one in tracker.asked if one.path.endswith("/timeline")]
    assert [path for path in asked if f"/{wanted}/" in path] == [f"/repos/pytorch/pytorch/issues/{wanted}/timeline"]
    assert len([path for path in asked if f"/{gone}/" in path]) == 2, "a number that GitHub does not have"
    assert rows(database, f"SELECT disposition FROM item_dispositions WHERE number = {wanted}") == [("declined",)]
    assert len(asked) <= 2 * 10, "half of what it may ask"


def test_a_database_from_the_future_is_refused(database: Path) -> None:
    run_embers("mine", "--source", "catalog", "--database", str(database))
    with duckdb.connect(str(database)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (999, now()::TIMESTAMP, '99')")
    for command in ("status", "mine"):
        done = run_embers(command, "--database", str(database), EMBERS_API_URL=NOWHERE)
        assert_clean_error(done, 5, "999", "upgrade")


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
