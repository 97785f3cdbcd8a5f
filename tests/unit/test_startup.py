"""Light commands start quickly: they import nothing heavy. Commands but `mine` make no database."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support import run_embers
from torch_embers.errors import StoreMissingError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path
RECORD = """
import atexit, json, sys
from torch_embers.cli import main
atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))
main(sys.argv[1:])
"""
NAMES_A_DATABASE = [
    ("status",),
    ("funnel",),
    ("list",),
    ("cases",),
    ("chain", "5"),
    ("link",),
    ("export", "--to", "out"),
    ("export", "--dataset", "out"),
    ("classify",),
    ("evaluate",),
    ("label", "--annotator", "a"),
    ("similar", "5"),
    ("search", "strides"),
    ("link-repros",),
    ("run",),
    ("minimize", "x5"),
    ("matrix",),
    ("recheck",),
    ("show", "5"),
    ("comment", "5"),
    ("study", "tables", "--out", "out"),
    ("report", "--out", "out"),
]


def ended(*arguments: str, code: str | None = None, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    start = ["-c", code] if code else ["-m", "torch_embers"]
    return subprocess.run([sys.executable, *start, *arguments], capture_output=True, text=True, check=False, cwd=cwd)


def test_help_and_version_draw_no_tables() -> None:
    done = ended("--help", code=RECORD)
    assert "rich" not in json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("arguments", NAMES_A_DATABASE, ids=lambda words: "-".join(words[:2]))
def test_a_mistyped_database_makes_no_file_and_names_the_nearest(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    shutil.copy(catalog_template, tmp_path / "embers.duckdb")
    monkeypatch.chdir(tmp_path)
    done = run_embers(*arguments, "--database", "embres.duckdb")
    if "pip install" in done.stderr:
        pytest.skip("an extra is missing")
    assert done.returncode == 5, done.stdout + done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: no database at embres.duckdb")
    assert "embers.duckdb" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["embers.duckdb"]


def test_no_database_is_suggested_where_none_is_called_alike(tmp_path: Path) -> None:
    (tmp_path / "zzz.duckdb").touch()
    with pytest.raises(StoreMissingError, match="run `embers mine` first"):
        Store(tmp_path / "embers.duckdb").require()
