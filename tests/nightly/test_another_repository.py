"""A database of another repository than PyTorch's: commands read its name from it, and call nothing of it PyTorch's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from helpers.rows import Commit, CommitFile, put
from support import execute, rows, run_embers
from torch_embers import settings
from torch_embers.cli.options import settings_at
from torch_embers.dataset.collect import collect
from torch_embers.dataset.publish import render
from torch_embers.errors import InputError
from torch_embers.report.data_files import metadata
from torch_embers.report.source import read
from torch_embers.store.store import Store
from torch_embers.study import parts
from torch_embers.verdicts import shipped

if TYPE_CHECKING:
    from pathlib import Path

RUST = "rust-lang/rust"
ISSUE = {
    "number": 4,
    "title": "Wrong result of slice::sort",
    "body": "",
    "state": "open",
    "created_at": "2023-01-05T00:00:00Z",
    "updated_at": "2023-02-05T00:00:00Z",
    "user": {"login": "ann"},
}


@pytest.fixture
def rust(database: Path, tmp_path: Path) -> Store:
    file = tmp_path / "rust.jsonl"
    file.write_text(json.dumps(ISSUE) + "\n", encoding="utf-8")
    store = Store(database)
    assert run_embers("mine", "--source", "jsonl", file, "--repo", RUST, "--database", database).returncode == 0
    return store


def test_a_number_is_of_the_only_repository(rust: Store, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings_at(database, None).repo == RUST
    assert settings_at(database, "a/b").repo == "a/b"
    monkeypatch.setenv("EMBERS_REPO", "c/d")
    assert settings_at(database, None).repo == "c/d"
    monkeypatch.delenv("EMBERS_REPO")
    assert RUST not in settings_at(database.with_name("none.duckdb"), None).repo
    assert run_embers("show", 4, "--database", database).returncode == 0
    execute(rust.path, "INSERT INTO items (repo, number, source) VALUES ('a/b', 1, 'jsonl')")
    assert settings_at(database, None).repo == settings.DEFAULT_REPO


@pytest.mark.parametrize("name", ["a/b\nc: d", "<b>/x", "", "a/b/c"])
def test_a_name_that_no_repository_has_stands_in_no_title(name: str) -> None:
    assert settings.only_repository([name]) == settings.DEFAULT_REPO


def test_dataset_and_report_leave_out_what_is_pytorchs(rust: Store) -> None:
    with rust.writer("test") as writer:
        shipped.load(writer)  # as a run in this database does
    known, files = render(collect(rust))
    sizes = {name: files[f"data/{name}.csv"].count(b"\n") - 1 for name in ("items", "cases", "verdicts", "statuses")}
    sizes |= {name: files[f"data/{name}.csv"].count(b"\n") - 1 for name in ("builds", "timelines", "fix_tests")}
    assert sizes == dict.fromkeys(sizes, 0) | {"items": 1}
    assert known.title == f"embers: bugs of {RUST}, with labels and links"
    for name in ("README.md", "CITATION.cff"):
        assert RUST in files[name].decode()
    assert 'tags: ["rust", ' in files["README.md"].decode()
    source = read(rust, lambda _: [], 10, 10)
    assert (source.cases, source.verdicts, source.statuses, source.reports) == ([], [], [], {})
    assert metadata("x", [RUST])["title"] == f"embers: {RUST} bugs, re-checked"


def test_the_study_counts_the_repository_and_compares_no_claim(rust: Store, tmp_path: Path) -> None:
    with rust.writer("test") as writer:
        one = Commit(RUST, "a" * 40, committed_at="2023-01-01T00:00:00Z", subject="x", message="x", line="main")
        put(writer, commits=[one], commit_files=[CommitFile(RUST, "a" * 40, "src/a.rs")])
    with pytest.raises(InputError, match=f"this database holds {RUST}"):
        parts.run(rust, ["claims"], tmp_path / "out", None)
    study = parts.run(rust, ["tables"], tmp_path / "out", None).study
    assert rows(rust.path, "SELECT count(*) FROM items") == [(1,)]
    assert not study.table("figure_1").rows
