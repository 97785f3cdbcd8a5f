"""Commands without a database, or with one that is none: one clean line, its exit code, and no file."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers
from torch_embers.errors import StoreMissingError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path
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
    (tmp_path / "embers.duckdb").rename(tmp_path / "zzz.duckdb")
    with pytest.raises(StoreMissingError, match="run `embers mine` first"):
        Store(tmp_path / "embers.duckdb").require()  # none is called alike


def test_an_unknown_option_exits_with_two_and_help_with_zero() -> None:
    done = run_embers("mine", "--frobnicate")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    done = run_embers("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("mine", "status", "export", "chain", "funnel"))


def test_a_corrupted_database_is_told_and_left_alone(database: Path) -> None:
    database.write_bytes(b"no database at all" * 1000)
    before = database.read_bytes()
    for command in ("status", "mine"):
        done = run_embers(command, "--database", str(database), EMBERS_API_URL="http://127.0.0.1:9")
        assert_clean_error(done, 5, "cannot be read as a database")
    assert database.read_bytes() == before
