"""`embers show`: who works on an item, what reviewers said, and how the checks of its head commit ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support import run_embers
from torch_embers.store.records import Batch, Check, Item, Person, PullCommit, Review, ReviewComment, User
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
PULL, ISSUE = 7, 8


def reviewed(number: str, author: str | None, state: str, day: int) -> Review:
    return Review(REPO, PULL, number, author=author, state=state, submitted_at=f"2024-01-0{day}T00:00:00Z")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("review") / "e.duckdb"
    batch = Batch(
        items=[
            Item(REPO, PULL, "pull", "A fix", "text", head_sha="abcdef0123456789", check_state="failure"),
            Item(REPO, ISSUE, "issue", "A bug", "text"),
        ],
        item_people=[
            Person(REPO, PULL, "assignee", "ann"),
            Person(REPO, PULL, "reviewer", "pytorch/core"),
            Person(REPO, ISSUE, "assignee", "bob"),
        ],
        reviews=[
            reviewed("1", "cid", "changes_requested", 1),
            reviewed("2", "cid", "approved", 2),
            reviewed("3", "cid", "commented", 3),
            reviewed("4", None, "commented", 4),
        ],
        review_comments=[ReviewComment(REPO, PULL, "1", review_id="1"), ReviewComment(REPO, PULL, "2", review_id="1")],
        pull_commits=[PullCommit(REPO, PULL, "a" * 40)],
        checks=[
            Check(REPO, PULL, "check_run", "success", 1_200),
            Check(REPO, PULL, "check_run", "failure", 1),
            Check(REPO, PULL, "status_context", "failure", 2),
        ],
        users=[User(REPO, "ann", association="MEMBER"), User(REPO, "cid", association="NONE")],
    )
    with Store(path).writer("test", create=True) as writer:
        writer.commit(batch)
    return path


def section(database: Path, number: int) -> list[str]:
    done = run_embers("show", number, "--database", database)
    assert done.returncode == 0, done.stderr
    _, _, rest = done.stdout.partition("Assigned, review, checks\n")
    return [line.strip() for line in rest.partition("\n\n")[0].splitlines()]


def test_show_says_who_reviewed_with_what_result_and_how_the_checks_ended(database: Path) -> None:
    assert section(database, PULL) == [
        "assigned to: ann (member)",
        "asked to review: pytorch/core",
        "approved by cid on 2024-01-03, 3 reviews",
        "commented by a deleted account on 2024-01-04",
        "commits: 1, comments on lines: 2",
        "checks of abcdef0123: failure (1,200 success, 3 failure)",
    ]
    assert section(database, ISSUE) == ["assigned to: bob"]
    review = json.loads(run_embers("show", PULL, "--json", "--database", database).stdout)["review"]
    assert review["assignees"] == [{"login": "ann", "association": "MEMBER"}]
    assert review["asked"] == [{"login": "pytorch/core", "association": None}]
    reviews = [(row["login"], row["state"], row["reviews"]) for row in review["reviews"]]
    assert reviews == [("cid", "approved", 3), (None, "commented", 1)]
    assert (review["commits"], review["comments_on_lines"], review["check_state"]) == (1, 2, "failure")
    assert sorted((row["kind"], row["state"], row["checks"]) for row in review["checks"]) == [
        ("check_run", "failure", 1),
        ("check_run", "success", 1_200),
        ("status_context", "failure", 2),
    ]
