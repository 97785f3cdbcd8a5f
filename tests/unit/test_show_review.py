"""`embers show`: who works on an item, what reviewers said, and how the checks of its head commit ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from helpers.show_review import (
    PULL,
    database,  # noqa: F401 - fixtures
)
from support import run_embers

if TYPE_CHECKING:
    from pathlib import Path


def test_json_has_the_same_as_rows(database: Path) -> None:
    review = json.loads(run_embers("show", PULL, "--json", "--database", database).stdout)["review"]
    assert review["assignees"] == [{"login": "ann", "association": "MEMBER"}]
    assert review["asked"] == [{"login": "pytorch/core", "association": None}]
    assert [(row["login"], row["state"], row["reviews"]) for row in review["reviews"]] == [
        ("cid", "approved", 3),
        (None, "commented", 1),
    ]
    assert (review["commits"], review["comments_on_lines"], review["check_state"]) == (1, 2, "failure")
    assert {(row["kind"], row["state"], row["checks"]) for row in review["checks"]} == {
        ("check_run", "success", 1_200),
        ("check_run", "failure", 1),
        ("status_context", "failure", 2),
    }
