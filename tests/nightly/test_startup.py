"""Light commands start quickly: they import nothing heavy. Commands but `mine` make no database."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"numpy", "pyarrow", "pandas", "pydantic", "pydantic_settings", "torch", "github", "requests", "sklearn"}
RECORD = """
import atexit, json, sys
from torch_embers.cli import main
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main(sys.argv[1:])
"""


def ended(*arguments: str, code: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    start = ["-c", code] if code else ["-m", "torch_embers"]
    return subprocess.run([sys.executable, *start, *arguments], capture_output=True, text=True, check=False, cwd=cwd)


def test_a_mine_with_nothing_new_does_without_arrow_and_without_the_client_of_github(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"number": 1, "title": "wrong result", "state": "open"}\n')
    words = ("mine", "--source", "jsonl", "one.jsonl", "--repo", "alice/bugs", "--database", "e.duckdb")
    assert ended(*words, cwd=tmp_path).returncode == 0
    again = ended(*words, code=RECORD, cwd=tmp_path)
    assert "nothing new" in again.stdout, again.stderr
    unwanted = {"pandas", "numpy", "pyarrow", "github", "requests"}
    assert unwanted & set(json.loads(again.stderr.splitlines()[-1])) == set()


def test_a_mine_of_something_new_does_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"number": 1, "title": "wrong result", "state": "open"}\n')
    words = ("mine", "--source", "jsonl", "one.jsonl", "--repo", "alice/bugs", "--database", "e.duckdb")
    done = ended(*words, code=RECORD, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 items" in done.stdout
    assert "pandas" not in json.loads(done.stderr.splitlines()[-1])


def test_a_frame_can_be_made_after_pandas_was_left_out() -> None:
    code = (
        "import sys, pyarrow as pa; from torch_embers.store import tables; tables.without_pandas(); "
        "assert 'pandas' not in sys.modules; import pandas; "
        "assert pa.table({'a': pa.array(['x'])}).to_pandas().equals(pandas.DataFrame({'a': ['x']}))"
    )
    assert ended(code=code).stderr == ""


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("status",)])
def test_light_commands_import_nothing_heavy(
    catalog_template: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("EMBERS_DATABASE", str(catalog_template))
    done = ended(*arguments, code=RECORD)
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}
    assert loaded & HEAVY == set()


def test_the_environment_names_the_database(catalog_template: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBERS_DATABASE", str(catalog_template))
    assert str(catalog_template) in ended("status").stdout.replace("\n", "")


def test_settings_files_are_checked_by_light_commands_too(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EMBERS_DATABASE")
    (tmp_path / "embers.toml").write_text(f'database = "{catalog_template}"\n')
    assert ended("status", cwd=tmp_path).returncode == 0
    (tmp_path / "embers.toml").write_text('datenbank = "x"\n')
    assert ended("status", cwd=tmp_path).returncode == 3


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_with_141(catalog_template: Path, unbuffered: str) -> None:
    for command in (["status"], ["chain", "172340"], ["list"], ["list", "--json"], ["comment", "--help"]):
        read_end, write_end = os.pipe()
        os.close(read_end)
        process = subprocess.Popen(
            [sys.executable, "-m", "torch_embers", *command],
            stdout=write_end,
            stderr=subprocess.PIPE,
            env={**os.environ, "EMBERS_DATABASE": str(catalog_template), "PYTHONUNBUFFERED": unbuffered},
        )
        os.close(write_end)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 141, errors
        assert errors == b""


@pytest.mark.parametrize("command", ["status", "funnel", "list", "cases", "chain 172340", "--help", "show 84577"])
def test_terminals_without_unicode_get_ascii(catalog_template: Path, command: str) -> None:
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        done = subprocess.run(
            [sys.executable, "-m", "torch_embers", *command.split()],
            capture_output=True,
            check=False,
            env={**os.environ, **environment, "EMBERS_DATABASE": str(catalog_template)},
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
        assert command != "chain 172340" or b"\n|- reverted by" in done.stdout
