"""The command line as a user meets it: exit codes, one clean line for every error, and no file that nobody asked for."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers
from torch_embers.errors import StoreMissingError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("mine --source gopher", 3, "gopher"),
        ("mine --since yesterday", 3, "--since"),
        ("mine --since 2024-02-01 --until 2024-01-01", 3, "later"),
        ("mine --state ajar", 3, "ajar"),
        ("mine --source graphql", 3, "token"),
        ("mine --source rest", 4, f"{NOWHERE} cannot be reached"),
        ("mine --source jsonl", 3, "needs a path"),
        ("mine --source jsonl missing.jsonl", 3, "missing.jsonl"),
        ("mine --source git .", 3, "git"),
        ("mine --numbers missing.txt", 3, "missing.txt"),
        ("mine --repo no/slash/less", 3, "repo"),
        ("mine --max-wait -1", 3, "max_wait"),
        ("mine --replay", 5, "nothing to replay"),
        ("status", 5, "embers mine"),
    ],
)
def test_wrong_use_gets_one_clean_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, code: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert_clean_error(run_embers(*words.split(), EMBERS_API_URL=NOWHERE), code, said)


def test_an_unknown_option_exits_with_two_and_help_with_zero() -> None:
    done = run_embers("mine", "--frobnicate")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    done = run_embers("--help")
    assert done.returncode == 0
    assert all(command in done.stdout for command in ("mine", "status", "export", "chain", "funnel"))


NAMES_A_DATABASE = [
    *("status", "funnel", "list", "cases", "chain 5", "link", "export --to out", "export --dataset out", "classify"),
    *("evaluate", "label export s.csv", "similar 5", "search strides", "run", "minimize 5", "matrix"),
    *("recheck", "show 5", "comment 5", "study tables --out out", "report --out out"),
]


@pytest.mark.parametrize("words", NAMES_A_DATABASE)
def test_a_mistyped_database_makes_no_file_and_names_the_nearest(
    catalog_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    shutil.copy(catalog_template, tmp_path / "embers.duckdb")
    monkeypatch.chdir(tmp_path)
    done = run_embers(*words.split(), "--database", "embres.duckdb")
    if "pip install" in done.stderr:
        pytest.skip("an extra is missing")
    assert done.returncode == 5, done.stdout + done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: no database at embres.duckdb")
    assert "embers.duckdb" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["embers.duckdb"]
    (tmp_path / "embers.duckdb").rename(tmp_path / "zzz.duckdb")
    with pytest.raises(StoreMissingError, match="run `embers mine` first"):
        Store(tmp_path / "embers.duckdb").require()  # none is called alike
