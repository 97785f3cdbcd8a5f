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


def ended(
    *arguments: str, code: str | None = None, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "torch_embers"]), *arguments]
    surroundings = {**os.environ, **more}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=surroundings)


def test_a_mine_with_nothing_new_does_without_arrow_and_without_the_client_of_github(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text('{"number": 1, "title": "wrong result", "state": "open"}\n')
    words = ("mine", "--source", "jsonl", "one.jsonl", "--repo", "alice/bugs", "--database", "e.duckdb")
    first = ended(*words, code=RECORD, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert "1 item" in first.stdout
    assert "pandas" not in json.loads(first.stderr.splitlines()[-1])
    again = ended(*words, code=RECORD, cwd=tmp_path)
    assert "nothing new" in again.stdout, again.stderr
    unwanted = {"pandas", "numpy", "pyarrow", "github", "requests"}
    assert unwanted & set(json.loads(again.stderr.splitlines()[-1])) == set()


LIGHT = "print(sorted({'pandas', 'duckdb', 'numpy', 'pydantic', 'matplotlib', 'torch', 'pyarrow'} & set(sys.modules)))"
QUESTIONS = (
    "import torch_embers.classify.questions, torch_embers; assert torch_embers.classify.__name__ == 'classify'; "
    "assert callable(torch_embers.classify)"
)
WITHOUT_PANDAS = (
    "import sys, pyarrow as pa; from torch_embers.store import rows; rows.without_pandas(); "
    "assert 'pandas' not in sys.modules; import pandas; "
    "assert pa.table({'a': pa.array(['x'])}).to_pandas().equals(pandas.DataFrame({'a': ['x']}))"
)


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        (f"import sys, torch_embers; {LIGHT}", "[]"),
        (f"import sys, torch_embers.study; {LIGHT}", "[]"),
        (QUESTIONS, ""),  # it stays the function when the package of that name is imported
        (WITHOUT_PANDAS, ""),
    ],
)
def test_an_import_loads_nothing_heavy_and_shadows_nothing(code: str, printed: str) -> None:
    done = ended(code=code)
    assert (done.stdout.strip(), done.stderr) == (printed, "")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("status",)])
def test_light_commands_import_nothing_heavy(catalog_template: Path, arguments: tuple[str, ...]) -> None:
    done = ended(*arguments, code=RECORD, EMBERS_DATABASE=str(catalog_template))
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in json.loads(done.stderr.splitlines()[-1])}
    assert loaded & (HEAVY if arguments == ("status",) else HEAVY | {"rich"}) == set()


def test_settings_files_are_checked_by_light_commands_too(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = ended("status", EMBERS_DATABASE=str(catalog_template))
    assert str(catalog_template) in named.stdout.replace("\n", ""), "the environment names the database"
    monkeypatch.delenv("EMBERS_DATABASE")
    (tmp_path / "embers.toml").write_text(f'database = "{catalog_template}"\n')
    assert ended("status", cwd=tmp_path).returncode == 0
    (tmp_path / "embers.toml").write_text('datenbank = "x"\n')
    assert ended("status", cwd=tmp_path).returncode == 3


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_with_141(catalog_template: Path, unbuffered: str) -> None:
    for command in (["status"], ["chain", "172340"], ["list"], ["list", "--json"], ["show", "--paste", "--help"]):
        read_end, write_end = os.pipe()
        os.close(read_end)
        surroundings = {**os.environ, "EMBERS_DATABASE": str(catalog_template), "PYTHONUNBUFFERED": unbuffered}
        program = [sys.executable, "-m", "torch_embers", *command]
        process = subprocess.Popen(program, stdout=write_end, stderr=subprocess.PIPE, env=surroundings)
        os.close(write_end)
        _, errors = process.communicate(timeout=120)
        assert (process.returncode, errors) == (141, b"")


@pytest.mark.parametrize(
    "command", ["status", "data funnel", "list", "list --cases", "chain 172340", "--help", "show 84577"]
)
def test_terminals_without_unicode_get_ascii(catalog_template: Path, command: str) -> None:
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}):
        done = ended(*command.split(), EMBERS_DATABASE=str(catalog_template), **environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()
        assert command != "chain 172340" or "\n|- reverted by" in done.stdout
