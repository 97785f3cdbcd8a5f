"""What the tests in test_show_review.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
