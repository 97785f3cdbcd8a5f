"""The command line as a user meets it: exit codes, one clean line for every error, and no file that nobody asked for."""

from __future__ import annotations

import importlib.util
import re
import shutil
from typing import TYPE_CHECKING

import pytest

from support import assert_clean_error, run_embers
from torch_embers.cli.application import FORMER
from torch_embers.errors import StoreMissingError
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("mine --source rest", 4, f"{NOWHERE} cannot be reached"),
        ("mine --source git .", 3, "git"),
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


@pytest.mark.parametrize(
    ("missing", "extra", "words"),
    [
        ("onnxruntime", "classify", "classify"),
        ("sklearn", "train", "classify --train"),
        ("sentence_transformers", "train", "research evaluate"),
    ],
)
def test_a_missing_package_names_the_command_that_installs_it(
    database: Path, monkeypatch: pytest.MonkeyPatch, missing: str, extra: str, words: str
) -> None:
    known = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == missing else known(name, *rest)
    )
    done = run_embers(*words.split(), "--database", database)
    assert done.returncode == 3
    assert f"{missing}: pip install 'torch-embers[{extra}]'" in " ".join(done.stderr.split())


@pytest.mark.parametrize("group", ["", "data", "research", "builds"])
def test_help_has_a_line_with_a_whole_sentence_for_each_command(group: str) -> None:
    _, _, _, *blocks = run_embers(*group.split(), "--help", COLUMNS="80").stdout.rstrip().split("\n\n")
    listed = [line for block in blocks for line in block.splitlines()[1:]]
    assert listed
    assert [line for line in listed if not re.fullmatch(r"  [a-z-]+ +[A-Z].*[^.]\.", line)] == []


def test_help_lists_commands_in_the_order_of_need_and_forms_with_their_command() -> None:
    printed = run_embers("--help").stdout
    headings = ["Look up", "Keep current", "Run", "Check your own code", "Study and share", "Set up"]
    assert re.findall(r"(?m)^(\w.*):$", printed) == ["Options", *headings]
    assert re.search(r"\n  (mcp|list --matrix) ", printed) is None
    assert re.search(r"\n  --matrix +Print the verdict", run_embers("list", "--help").stdout)


@pytest.mark.parametrize("former", FORMER)
def test_a_former_name_works_and_says_the_new_one_once(former: str) -> None:
    done, today = (run_embers(*words.split(), "--help") for words in (former, FORMER[former]))
    assert (done.returncode, today.returncode, today.stderr) == (0, 0, "")
    assert done.stdout == today.stdout
    assert done.stderr == f"`embers {former}` is now `embers {FORMER[former]}`; the old name works until 0.3.\n"


@pytest.mark.parametrize(
    ("former", "today"),
    [
        ("cases --limit 1 pt84577", "list pt84577 --limit 1 --cases"),
        ("funnel --json", "data funnel --json"),
        ("similar -k 0 67513", "search 67513 -k 0 --like"),
        ("comment 4", "show 4 --paste"),
    ],
)
def test_options_of_a_former_name_are_those_of_the_new_one(catalog_template: Path, former: str, today: str) -> None:
    was, now = (run_embers(*words.split(), "--database", catalog_template) for words in (former, today))
    assert (was.returncode, was.stdout) == (now.returncode, now.stdout)
    assert was.stderr.splitlines()[1:] == now.stderr.splitlines()
    assert was.stdout or now.stderr


def test_a_form_of_a_command_has_options_of_its_own() -> None:
    for words in (("list", "--cases", "--state", "open"), ("list", "--csv", "m.csv"), ("list", "--cases", "--matrix")):
        assert run_embers(*words).returncode == 2


NAMES_A_DATABASE = [
    *("status", "data funnel", "list", "list --cases", "chain 5", "data link", "data export --to out", "classify"),
    *(
        "data export --dataset out",
        "research evaluate",
        "data label export s.csv",
        "search --like 5",
        "search strides",
    ),
    *("run", "research minimize 5", "list --matrix"),
    *("recheck", "show 5", "show --paste 5", "study tables --out out", "report --out out"),
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
