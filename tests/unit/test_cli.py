"""The command line as a user meets it: exit codes, and one clean line for every error."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9"


def test_an_explicit_source_that_cannot_be_reached_is_an_error(database: Path) -> None:
    done = run_embers("mine", "--source", "rest", "--api-url", NOWHERE, "--database", str(database))
    assert_clean_error(done, 4, NOWHERE, "cannot be reached")


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("mine", "--source", "gopher"), 3, "gopher"),
        (("mine", "--since", "yesterday"), 3, "--since"),
        (("mine", "--since", "2024-02-01", "--until", "2024-01-01"), 3, "later"),
        (("mine", "--state", "ajar"), 3, "ajar"),
        (("mine", "--source", "graphql"), 3, "token"),
        (("mine", "--source", "jsonl"), 3, "needs a path"),
        (("mine", "--source", "jsonl", "missing.jsonl"), 3, "missing.jsonl"),
        (("mine", "--source", "git", "."), 3, "git"),
        (("mine", "--numbers", "missing.txt"), 3, "missing.txt"),
        (("mine", "--repo", "no slash"), 3, "repo"),
        (("mine", "--max-wait", "-1"), 3, "max_wait"),
        (("status",), 5, "embers mine"),
        (("funnel",), 5, "embers mine"),
        (("export", "--to", "out"), 5, "embers mine"),
        (("chain", "5"), 5, "embers mine"),
        (("mine", "--replay"), 5, "nothing to replay"),
    ],
)
def test_wrong_use_gets_one_clean_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: int, word: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_embers(*arguments, EMBERS_API_URL=NOWHERE)
    assert_clean_error(done, code, word)


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
