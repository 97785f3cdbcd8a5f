"""The merged history as a source: commits in files, what they say of items, and that every tracker wins over them."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from helpers.gitlog import REPO, mine_lines
from support import rows, run_embers, snapshot
from torch_embers.mine.git.commits import fixed_numbers, subject_of, title_and_body

if TYPE_CHECKING:
    from pathlib import Path

SHA = "a" * 40


def line(**values: Any) -> bytes:
    record = {"sha": SHA, "committed": "2021-04-27T01:01:01-07:00", "message": "", "files": [], "files_total": 0}
    return json.dumps(record | values).encode() + b"\n"


# --- files of commits --------------------------------------------------------------------------------------


def test_a_line_of_a_commit_file_becomes_a_commit_its_pull_request_and_the_issues_it_fixes(tmp_path: Path) -> None:
    message = "Fix strides (#56000)\n\nSummary:\nFixes #55000.\n\nPull Request resolved: https://github.com/pytorch/pytorch/pull/56000"
    found = mine_lines(
        tmp_path, line(message=message, files=["M aten/a.cpp", "R097 b c d.py", "A e.py"], files_total=400)
    )
    (commit,) = found.commits
    assert (commit.sha, str(commit.committed_at), commit.pull_number) == (SHA, "2021-04-27 08:01:01", 56000)
    assert (commit.line, commit.files, commit.subject) == ("main", 400, "Fix strides (#56000)")
    issue, pull = sorted(found.items, key=lambda item: item.number)
    assert (pull.number, pull.title, pull.merged_at) == (56000, "Fix strides", commit.committed_at)
    assert (issue.number, issue.kind, issue.title) == (55000, "issue", None)
    assert {record.source for record in (commit, pull, issue, *found.pull_files)} == {"git"}
    assert sorted((file.path, file.change) for file in found.pull_files)[::2] == [
        *(("aten/a.cpp", "modified"), ("e.py", "added")),
    ]
    assert not found.rejects


@pytest.mark.parametrize("values", [{"sha": "no hash"}, {"sha": None}, {"message": 3}])
def test_a_commit_that_is_none_is_a_reject(tmp_path: Path, values: dict[str, Any]) -> None:
    found = mine_lines(tmp_path, line(**values), line(sha="b" * 40, message="x"))
    assert len(found.commits) == len(found.rejects) == 1


def test_a_file_of_commits_is_mined_and_replayed_to_the_same_tables(tmp_path: Path) -> None:
    path, database, other = tmp_path / "commits.jsonl.gz", tmp_path / "e.duckdb", "b" * 40
    with gzip.open(path, "wb") as stream:
        stream.write(line(message='Revert "Add x (#56000)"\n\nThis reverts commit ' + other, files=["M x.py"]))
        stream.write(line(sha=other, message="Add x (#56000)\n\nCloses #55555", files=["M x.py"]))
    done = run_embers("mine", "--source", "jsonl", path, "--repo", REPO, "--database", database)
    assert "2 items, 2 commits" in done.stdout
    first = snapshot(database)
    assert {(row[0], row[1]) for row in rows(database, "SELECT relation, target_number FROM links")} == {
        *(("reverts", 56000), ("fixes", 55555), ("lands", 56000)),
    }
    assert run_embers("mine", "--replay", "--database", database).returncode == 0
    assert snapshot(database) == first


def test_subject_title_and_body() -> None:
    message = "Fix\nstrides (#9)\n\nWhy.\n\nMore."
    assert subject_of(message) == "Fix strides (#9)"
    assert title_and_body("Fix strides (#9)", message) == ("Fix strides", "Why.\n\nMore.")
    merge = "Merge pull request #5 from a/b\n\nMake builds parallel\n\nWhy."
    assert title_and_body(subject_of(merge), merge) == ("Make builds parallel", "Why.")


def test_only_issues_of_the_repository_count_as_fixed() -> None:
    message = "x\n\nFixes #7, closes other/repo#8, resolves https://github.com/pytorch/pytorch/issues/9. See #10."
    assert fixed_numbers(REPO, "x", message) == [7, 9]
