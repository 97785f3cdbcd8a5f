"""The command line as a user meets it: exit codes, one clean line for every error, what a first run ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support import assert_clean_error, run_embers

if TYPE_CHECKING:
    from pathlib import Path


NOWHERE = "http://127.0.0.1:9"


def test_an_unknown_option_exits_with_two() -> None:
    done = run_embers("mine", "--frobnicate")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_help_needs_nothing_but_the_core(tmp_path: Path) -> None:
    done = run_embers("--help")
    assert done.returncode == 0
    for command in ("mine", "status", "export", "chain", "funnel"):
        assert command in done.stdout


def test_a_corrupted_database_is_told_and_left_alone(database: Path) -> None:
    database.write_bytes(b"no database at all" * 1000)
    before = database.read_bytes()
    for command in ("status", "mine"):
        done = run_embers(command, "--database", str(database), EMBERS_API_URL=NOWHERE)
        assert_clean_error(done, 5, "cannot be read as a database")
    assert database.read_bytes() == before
