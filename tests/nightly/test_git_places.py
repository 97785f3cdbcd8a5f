"""A clone whose checked-out branch changes between two runs: the tables are those of a single reading."""

from __future__ import annotations

import json
import shutil
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from torch_embers.mine.files.jsonl import JsonlSource
from torch_embers.store.records import Batch, Item

from helpers.gitlog import Repository
from support import rows, snapshot
from torch_embers.errors import InputError
from torch_embers.mine import runner
from torch_embers.mine.git import gitlog
from torch_embers.mine.git.gitlog import GitSource
from torch_embers.mine.git.gitrepo import moment
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
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


def mine(clone: Repository, database: Path) -> None:
    runner.mine(Store(database), GitSource(REPO, clone.path))


def assert_as_fresh(database: Path, fresh: Path) -> None:
    """A database is as one that was mined at once, also after a replay."""
    assert snapshot(database) == snapshot(fresh)
    runner.replay(Store(database))
    assert snapshot(database) == snapshot(fresh)


def listed(clone: Repository, folder: Path) -> Path:
    """A file of the commits of a clone."""
    commits = clone("log", "--format=%H%x00%cI%x00%B%x1e").strip("\x1e\n").split("\x1e")
    fields = (dict(zip(("sha", "committed", "message"), one.strip().split("\0"), strict=True)) for one in commits)
    path = folder / "commits.jsonl"
    path.write_text("".join(json.dumps(one | {"files": ["M a.py"]}) + "\n" for one in fields))
    return path


def mine_file(path: Path, database: Path) -> None:
    runner.mine(Store(database), JsonlSource(REPO, [path]))


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


def test_an_item_of_the_tracker_gives_back_what_it_took_from_the_commit(clone: Repository, database: Path) -> None:
    tracked = Item(REPO, 6, kind="pull", title="Open", state="open", updated_at="2020-01-01T00:00:00Z", source="rest")
    with Store(database).writer("test", create=True) as writer:
        writer.commit(Batch(items=[tracked]))
    asked = "SELECT title, state, state_reason, merged_at, closed_at, merge_sha FROM items WHERE number = 6"
    mine(clone, database)
    assert rows(database, asked)[0][3] is not None
    merge(clone)
    mine(clone, database)
    assert rows(database, asked) == [("Open", "open", None, None, None, None)]


def test_a_clone_that_goes_on_replaces_its_page(clone: Repository, database: Path) -> None:
    merge(clone)
    mine(clone, database)
    clone.commit("Three (#8)")
    mine(clone, database)
    assert rows(database, "SELECT count(*) FROM raw_pages WHERE kind = 'git.history'") == [(1,)]
    assert {n for (n,) in rows(database, "SELECT number FROM items WHERE kind = 'pull'")} == {1, 2, 7, 8}


def test_a_clone_that_is_read_again_leaves_the_rows_of_another_repository_in_its_place(
    clone: Repository, database: Path
) -> None:
    runner.mine(Store(database), GitSource("alice/other", clone.path, releases=False))
    mine(clone, database)
    asked = [
        f"SELECT * FROM {table} WHERE repo = 'alice/other' ORDER BY ALL" for table in ("items", "commits", "links")
    ]
    known = [rows(database, query) for query in asked]
    assert all(known)
    merge(clone)
    mine(clone, database)
    assert [rows(database, query) for query in asked] == known


def test_a_clone_that_cannot_be_read_to_its_end_changes_nothing(
    clone: Repository, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine(clone, database)
    known = snapshot(database)
    merge(clone)
    monkeypatch.setattr(gitlog, "COMMITS_PER_PAGE", 2)
    with monkeypatch.context() as patch:
        patch.setattr(GitSource, "_page", once(GitSource._page))
        with pytest.raises(InputError, match="ends here"):
            mine(clone, database)
    assert snapshot(database) == known
    mine(clone, database)
    assert {n for (n,) in rows(database, "SELECT number FROM items WHERE kind = 'pull'")} == {1, 2, 7}
    assert_as_fresh(database, database)


def once(work: Callable[..., Batch]) -> Callable[..., Batch]:
    """What works the first time only."""
    calls = count()

    def called(*arguments: Any) -> Batch:
        if next(calls):
            raise InputError("it ends here")
        return work(*arguments)

    return called


@pytest.mark.parametrize("second", ["clone", "file"])
def test_links_of_commits_that_a_second_source_brought_too_outlast_a_restart(
    clone: Repository, database: Path, tmp_path: Path, second: str
) -> None:
    mine(clone, database)
    if second == "clone":
        copy = Repository(tmp_path / "copy")
        copy("fetch", "-q", str(clone.path), "main:other", "topic:topic")
        copy("checkout", "-q", "other")
        mine(copy, database)
    else:
        mine_file(listed(clone, tmp_path), database)
    merge(clone)
    mine(clone, database)
    found = rows(database, "SELECT sha, relation, target_number FROM links ORDER BY ALL")
    assert {"lands", "fixes"} <= {relation for _, relation, _ in found}
    runner.replay(Store(database))
    assert rows(database, "SELECT sha, relation, target_number FROM links ORDER BY ALL") == found


def test_what_a_file_of_commits_said_first_outlasts_a_restart(
    clone: Repository, database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the clone has taken over its rows, and where the restart is a transaction of its own."""
    monkeypatch.setattr(runner, "COMMIT_RECORDS", 0)
    file = listed(clone, tmp_path)
    for path in (database, tmp_path / "fresh.duckdb"):
        mine_file(file, path)
    mine(clone, database)
    clone("checkout", "-q", "main")
    mine(clone, database)
    mine(clone, tmp_path / "fresh.duckdb")
    assert (6, "merged") in rows(database, "SELECT number, state_reason FROM items")
    assert_as_fresh(database, tmp_path / "fresh.duckdb")


def test_what_a_restart_took_away_does_not_come_back_by_another(
    clone: Repository, database: Path, tmp_path: Path
) -> None:
    clone("clone", "-q", str(clone.path), str(tmp_path / "copy"))
    copy = Repository(tmp_path / "copy")
    for one in (clone, copy):
        mine(one, database)
    for one in (clone, copy):
        one("checkout", "-q", "main")
        mine(one, database)
    assert rows(database, "SELECT number, state_reason FROM items ORDER BY 1") == [(1, "merged")]
    found = snapshot(database)
    runner.replay(Store(database))
    assert snapshot(database) == found


def test_a_clone_that_another_was_read_after_is_compared_with_its_own_past(
    clone: Repository, database: Path, tmp_path: Path
) -> None:
    mine(clone, database)
    clone("clone", "-q", "-b", "main", str(clone.path), str(tmp_path / "copy"))
    mine(Repository(tmp_path / "copy"), database)
    clone("checkout", "-q", "main")
    mine(clone, database)
    assert rows(database, "SELECT number, state_reason FROM items ORDER BY 1") == [(1, "merged")]


@pytest.mark.parametrize("told", [True, False])
def test_what_the_tracker_says_of_a_merge_outlasts_a_restart(clone: Repository, database: Path, told: bool) -> None:
    merged_at = moment(clone("log", "-1", "--format=%ct").encode())  # the same second
    merged = {"merged_at": merged_at, "closed_at": merged_at, "merge_sha": clone("rev-parse", "HEAD")}
    whole = {"title": "Half", "state": "closed", "state_reason": "merged", **merged}
    said: dict[str, Any] = whole if told else {"labels": ("x",)}
    tracked = Item(REPO, 6, kind="pull", updated_at="2020-01-01T00:00:00Z", source="rest", **said)
    with Store(database).writer("test", create=True) as writer:
        writer.commit(Batch(items=[tracked]))
    asked = "SELECT title, state, state_reason, merged_at, closed_at, merge_sha, stamps FROM items WHERE number = 6"
    known = rows(database, asked)
    mine(clone, database)
    clone("checkout", "-q", "main")
    clone("tag", "v1.0.0", "topic")
    mine(clone, database)
    assert rows(database, asked) == known
