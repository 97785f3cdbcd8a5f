"""A clone whose checked-out branch changes between two runs is as one that was read once; and one that is hostile."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from helpers.gitlog import Repository, remove_blob, repository  # noqa: F401 - a fixture
from helpers.gitlog import mine as read_clone
from support import assert_clean_error, rows, run_embers, snapshot

if TYPE_CHECKING:
    from pathlib import Path

REPO = "alice/bugs"
pytestmark = [pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")]


@pytest.fixture
def clone(tmp_path: Path) -> Repository:
    """A clone whose main line and a branch stand apart; the branch is checked out."""
    made = Repository(tmp_path / "clone")
    made.commit("One (#1)")
    made("checkout", "-q", "-b", "topic")
    made.commit("Half of it (#6)\n\nFixes #3")
    return made


def merge(clone: Repository) -> None:
    """Check out the main line, which goes on and merges the branch."""
    clone("checkout", "-q", "main")
    clone.commit("Two (#2)")
    clone("merge", "-q", "--no-ff", "topic", "-m", "Merge pull request #7 from a/topic\n\nWhole")


def mine(clone: Repository, database: Path, repo: str = REPO) -> None:
    done = run_embers("mine", "--source", "git", clone.path, "--repo", repo, "--database", database)
    assert done.returncode == 0, done.stderr


def assert_as_fresh(database: Path, fresh: Path) -> None:
    """A database is as one that was mined at once, also after a replay."""
    assert snapshot(database) == snapshot(fresh)
    assert run_embers("mine", "--replay", "--database", database).returncode == 0
    assert snapshot(database) == snapshot(fresh)


@pytest.mark.parametrize("merged", [True, False])
def test_a_branch_that_was_read_as_the_main_line_leaves_nothing_behind(
    clone: Repository, database: Path, tmp_path: Path, merged: bool
) -> None:
    mine(clone, database)
    assert (6, "pull") in rows(database, "SELECT number, kind FROM items")
    if merged:
        merge(clone)
    else:
        clone("checkout", "-q", "main")
        clone("tag", "v1.0.0", "topic")  # read, and not on the main line
    mine(clone, database)
    mine(clone, tmp_path / "fresh.duckdb")
    assert (6, "pull") not in rows(database, "SELECT number, kind FROM items")
    assert_as_fresh(database, tmp_path / "fresh.duckdb")


@pytest.mark.parametrize("how", ["anew", "pruned", "moved"])
def test_a_branch_that_is_no_longer_in_the_clone_leaves_nothing_behind(
    clone: Repository, database: Path, tmp_path: Path, how: str
) -> None:
    mine(clone, database)
    if how == "moved":
        clone.path = clone.path.rename(tmp_path / "elsewhere")
    clone("checkout", "-q", "main")
    if how == "anew":
        clone("clone", "-q", "--no-local", "--single-branch", "-b", "main", str(clone.path), str(tmp_path / "anew"))
        shutil.rmtree(clone.path)
        (tmp_path / "anew").rename(clone.path)
    elif how == "pruned":
        clone("branch", "-q", "-D", "topic")
        clone("reflog", "expire", "--expire=now", "--all")
        clone("gc", "-q", "--prune=now")
    clone.commit("Two (#2)")
    mine(clone, database)
    mine(clone, tmp_path / "fresh.duckdb")
    assert_as_fresh(database, tmp_path / "fresh.duckdb")


@pytest.mark.parametrize("told", [True, False])
def test_an_item_of_the_tracker_gives_back_what_it_took_from_the_commit(
    clone: Repository, database: Path, tmp_path: Path, told: bool
) -> None:
    """And keeps what the tracker says, too."""
    at = clone("log", "-1", "--format=%cI")
    merged = {"merged_at": at, "closed_at": at, "merge_commit_sha": clone("rev-parse", "HEAD"), "state": "closed"}
    tracked = {"number": 6, "title": "Half", "pull_request": {}, "updated_at": "2020-01-01T00:00:00Z", "labels": ["x"]}
    file = tmp_path / "tracked.jsonl"
    file.write_text(json.dumps(tracked | (merged if told else {})))
    run_embers("mine", "--source", "jsonl", file, "--repo", REPO, "--database", database)
    asked = "SELECT title, state, state_reason, merged_at, closed_at, merge_sha FROM items WHERE number = 6"
    known = rows(database, asked)
    assert (known[0][3] is not None) is told
    mine(clone, database)
    assert rows(database, asked)[0][3] is not None
    clone("checkout", "-q", "main")
    clone("tag", "v1.0.0", "topic")
    mine(clone, database)
    assert rows(database, asked) == known


def test_a_clone_that_is_read_again_leaves_the_rows_of_another_repository_in_its_place(
    clone: Repository, database: Path
) -> None:
    mine(clone, database, "alice/other")
    mine(clone, database)
    asked = [
        f"SELECT * FROM {table} WHERE repo = 'alice/other' ORDER BY ALL" for table in ("items", "commits", "links")
    ]
    known = [rows(database, query) for query in asked]
    assert all(known)
    merge(clone)
    mine(clone, database)
    assert [rows(database, query) for query in asked] == known


def test_a_clone_that_cannot_be_read_to_its_end_changes_nothing(clone: Repository, database: Path) -> None:
    mine(clone, database)
    known = snapshot(database)
    merge(clone)
    lost = clone.path / ".git/objects" / clone("rev-parse", "HEAD~1")[:2] / clone("rev-parse", "HEAD~1")[2:]
    kept = lost.rename(lost.with_suffix(".away"))
    done = run_embers("mine", "--source", "git", clone.path, "--repo", REPO, "--database", database)
    assert_clean_error(done, 3, "git fsck")
    assert snapshot(database) == known
    kept.rename(lost)
    mine(clone, database)
    assert {n for (n,) in rows(database, "SELECT number FROM items WHERE kind = 'pull'")} == {1, 2, 7}


def test_another_clone_of_the_repository_takes_the_place_of_the_first(
    clone: Repository, database: Path, tmp_path: Path
) -> None:
    clone("clone", "-q", "-b", "main", str(clone.path), str(tmp_path / "copy"))
    mine(clone, database)
    mine(Repository(tmp_path / "copy"), database)
    assert rows(database, "SELECT number, state_reason FROM items ORDER BY 1") == [(1, "merged")]
    mine(clone, database)
    mine(clone, tmp_path / "fresh.duckdb")
    assert_as_fresh(database, tmp_path / "fresh.duckdb")


def test_nothing_that_a_hostile_clone_brings_along_is_run(repository: Repository, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\necho ran >> {marker}\nexit 0\n")
    script.chmod(0o755)
    repository.commit("One", c10__a_py="1\n")
    repository.commit("Two (#2)", _gitattributes="x", c10__a_py="2\n")
    (repository.path / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    repository.commit("Three", c10__a_py="3\n")
    repository("tag", "v1.0.0")
    (repository.path / ".git/info/attributes").write_text("* diff=evil filter=evil\n")
    hooks = repository.path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc"):
        shutil.copy(script, hooks / hook)
    command = str(script)
    evil = {
        "core.fsmonitor": command,
        "core.hooksPath": str(hooks),
        "core.pager": command,
        "pager.log": command,
        "core.sshCommand": command,
        "core.editor": command,
        "core.alternateRefsCommand": command,
        "diff.external": command,
        "diff.evil.textconv": command,
        "diff.evil.command": command,
        "filter.evil.clean": command,
        "filter.evil.smudge": command,
        "filter.evil.process": command,
        "log.showSignature": "true",
        "gpg.program": command,
        "credential.helper": f"!{command}",
        "alias.log": f"!{command}",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{command}",
        "remote.origin.uploadpack": command,
        "remote.origin.vcs": "ext",
        "extensions.partialClone": "origin",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
    }
    for name, value in evil.items():
        repository("config", name, value)
    batch = read_clone(repository.path)
    assert len(batch.commits) == 3
    assert batch.code_sizes
    assert not marker.exists()
    remove_blob(repository, "c10/a.py")
    read_clone(repository.path, tmp_path / "again.duckdb")
    assert not marker.exists()
    subprocess.run(["git", "-C", repository.path, "log", "-p"], capture_output=True)
    assert marker.exists(), "the traps of this test do not work"
