"""A clone whose checked-out branch changes between two runs: the tables are those of a single reading."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from support import rows, snapshot
from test_gitlog import Repository
from torch_embers.mine import runner
from torch_embers.mine.git.gitlog import GitSource
from torch_embers.store.records import Batch, Item
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "alice/bugs"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


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
    found = snapshot(database)
    assert found == snapshot(tmp_path / "fresh.duckdb")
    runner.replay(Store(database))
    assert snapshot(database) == found


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


def test_every_window_of_a_clone_is_read_again(clone: Repository, database: Path) -> None:
    mine(clone, database)
    early = GitSource(REPO, clone.path, until="2030-01-01")
    runner.mine(Store(database), early)
    merge(clone)
    report = runner.mine(Store(database), GitSource(REPO, clone.path, until="2030-01-01"))
    assert any("read from its beginning; mine its other windows" in note for note in report.notes)
    mine(clone, database)
    assert {n for (n,) in rows(database, "SELECT number FROM items WHERE kind = 'pull'")} == {1, 2, 7}


def test_a_main_line_that_goes_on_is_not_read_again(clone: Repository, database: Path) -> None:
    merge(clone)
    mine(clone, database)
    clone.commit("Three (#8)")
    mine(clone, database)
    assert rows(database, "SELECT count(*) FROM raw_pages WHERE kind = 'git.restart'") == [(0,)]
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
