"""Mines as a user starts them: what a first run ends with, two at once, an interrupted one, and odd files and databases."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import duckdb
import pytest

from servers.tracker import write_history
from support import assert_clean_error, eventually, rows, run_embers
from torch_embers.errors import StoreError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from servers.github import GitHub

NOWHERE = "http://127.0.0.1:9"


def test_a_first_run_without_network_ends_with_a_filled_database(database: Path) -> None:
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0, done.stderr
    assert "cannot be reached" in done.stdout
    assert "GITHUB_TOKEN" in done.stdout
    assert rows(database, "SELECT count(*) >= 80 FROM items") == [(True,)]
    assert rows(database, "SELECT count(*) > 100 FROM links") == [(True,)]


def test_a_second_run_without_network_changes_nothing(database: Path) -> None:
    run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    before = rows(database, "SELECT count(*) FROM raw_pages")
    done = run_embers("mine", "--api-url", NOWHERE, "--database", str(database))
    assert done.returncode == 0
    assert "nothing new" in done.stdout
    assert rows(database, "SELECT count(*) FROM raw_pages") == before


def test_a_first_run_with_network_adds_live_items_to_the_catalog(server: GitHub, database: Path) -> None:
    done = run_embers("mine", "--api-url", server.url, "--database", str(database), EMBERS_TOKENS="token-one")
    assert done.returncode == 0, done.stderr
    assert {s for (s,) in rows(database, "SELECT DISTINCT source FROM items")} == {"catalog", "graphql"}


def test_a_database_from_the_future_is_refused(database: Path) -> None:
    run_embers("mine", "--source", "catalog", "--database", str(database))
    with duckdb.connect(str(database)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (999, now()::TIMESTAMP, '99')")
    for command in ("status", "mine"):
        done = run_embers(command, "--database", str(database), EMBERS_API_URL=NOWHERE)
        assert_clean_error(done, 5, "999", "upgrade")


def test_malformed_lines_are_set_aside_with_their_numbers(tmp_path: Path, database: Path) -> None:
    source = tmp_path / "items.jsonl"
    source.write_bytes(
        b'{"number": 1, "title": "a"}\n{"number": \n\n[1]\n{"number": -4}\n{"number": 2, "title": "b\\u0000"}\n'
    )
    done = run_embers("mine", "--source", "jsonl", str(source), "--database", str(database))
    assert done.returncode == 0, done.stderr
    assert "3 records were set aside" in done.stdout
    assert rows(database, "SELECT line FROM rejects ORDER BY line") == [(2,), (4,), (5,)]
    assert rows(database, "SELECT number FROM items ORDER BY number") == [(1,), (2,)]


def test_foreign_text_cannot_write_terminal_codes(tmp_path: Path, database: Path) -> None:
    source = tmp_path / "items.jsonl"
    source.write_text('{"number": 1, "title": "\\u001b[31m[bold]red[/bold]", "body": "Fixes #2"}\n{"number": 2}\n')
    run_embers("mine", "--source", "jsonl", str(source), "--database", str(database))
    done = run_embers("chain", "1", "--database", str(database))
    assert "\x1b" not in done.stdout
    assert "[bold]red[/bold]" in done.stdout


@pytest.fixture
def slow_mine(tracker: GitHub, database: Path) -> Iterator[subprocess.Popen[str]]:
    """A mine that takes several seconds, running in the background."""
    write_history(tracker.repository("alice/bugs"), 1_000)
    command = [sys.executable, "-m", "torch_embers", "mine", "--source", "rest", "--repo", "alice/bugs"]
    process = subprocess.Popen(
        [*command, "--api-url", tracker.url, "--database", str(database)],
        env={**os.environ, "EMBERS_TOKENS": "t", "EMBERS_PAUSE": "0.3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    eventually(database.exists)
    yield process
    process.kill()


def test_two_miners_at_once_the_second_is_told_who_is_at_work(slow_mine: subprocess.Popen[str], database: Path) -> None:
    done = run_embers("mine", "--source", "catalog", "--database", str(database))
    assert_clean_error(done, 5, "embers mine --source rest", str(slow_mine.pid))
    slow_mine.communicate(timeout=120)
    assert slow_mine.returncode == 0


def has_items(database: Path) -> bool:
    """Whether the first items are written; not while the writer has the file."""
    try:
        return rows(database, "SELECT count(*) > 0 FROM items") == [(True,)]
    except StoreError:
        return False


def test_ctrl_c_saves_what_was_read_and_says_so(slow_mine: subprocess.Popen[str], database: Path) -> None:
    eventually(lambda: has_items(database))
    slow_mine.send_signal(signal.SIGINT)
    _, errors = slow_mine.communicate(timeout=120)
    assert slow_mine.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert rows(database, "SELECT count(*) > 0 FROM items") == [(True,)]


def test_a_hundred_status_calls_work_while_a_mine_runs(slow_mine: subprocess.Popen[str], database: Path) -> None:
    command = (
        "import sys; from pathlib import Path; from torch_embers.store.store import Store;"
        "from torch_embers.store.status import status\n"
        "for _ in range(25): status(Store(Path(sys.argv[1])))"
    )
    readers = [
        subprocess.Popen([sys.executable, "-c", command, str(database)], stderr=subprocess.PIPE) for _ in range(4)
    ]
    for reader in readers:
        _, errors = reader.communicate(timeout=120)
        assert reader.returncode == 0, errors
    _, errors = slow_mine.communicate(timeout=120)
    assert slow_mine.returncode == 0, errors
    assert Store(database).exists()
