"""`embers show`: who works on an item, what reviewers said, and how the checks of its head commit ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.show_review import (
    ISSUE,
    PULL,
    database,  # noqa: F401 - fixtures
)
from support import run_embers

if TYPE_CHECKING:
    from pathlib import Path


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
