"""What the tests in test_dispositions.py share."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torch_embers.mine.files import dispositions
from torch_embers.mine.pages import make_page

if TYPE_CHECKING:
    from torch_embers.store.store import Store

REPO = "pytorch/pytorch"
GOOD: dict[str, Any] = {
    "repo": REPO,
    "number": 1,
    "disposition": "fixed",
    "duplicate_of": None,
    "evidence_kind": "closing_pr",
    "evidence": "a pull request names it",
    "evidence_ref": "#2",
    "evidence_date": "2024-01-02",
    "thread_read": "whole",
    "annotator_kind": "automated",
    "annotator": "reader",
    "confidence": 0.9,
    "read_on": "2026-11-21",
}


def read(*lines: dict[str, Any] | str) -> Any:
    body = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return dispositions.read_dispositions(make_page(REPO, "catalog", dispositions.KIND, "x", body.encode()))


def put(store: Store, *statements: str) -> dict[int, tuple[Any, ...]]:
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        for statement in statements:
            connection.execute(statement)
    with store.read() as connection:
        rows = connection.execute(
            "SELECT number, disposition, evidence_kind, evidence_ref, annotator_kind FROM item_dispositions"
        ).fetchall()
    return {row[0]: row[1:] for row in rows}


def item(number: int, state: str = "closed", reason: str = "", kind: str = "issue", merged: str = "NULL") -> str:
    return (
        "INSERT INTO items (repo, number, kind, title, state, state_reason, merged_at) "
        f"VALUES ('{REPO}', {number}, '{kind}', 't', '{state}', nullif('{reason}', ''), {merged})"
    )


def closing(number: int, kind: str, day: int) -> str:
    return (
        "INSERT INTO events (repo, number, event_id, type, created_at) "
        f"VALUES ('{REPO}', {number}, '{number}-{day}', '{kind}', TIMESTAMP '2024-01-0{day}')"
    )


def link(pull: int, issue: int) -> str:
    return (
        "INSERT INTO links (repo, number, relation, target_repo, target_number, evidence, found_in) "
        f"VALUES ('{REPO}', {pull}, 'fixes', '{REPO}', {issue}, 'text', 'body')"
    )


def read_as(number: int, disposition: str, day: str | None, **more: Any) -> str:
    """A line of an annotator, with the day of its evidence."""
    row = {
        "repo": REPO,
        "number": number,
        "disposition": disposition,
        "evidence_kind": "comment",
        "evidence": "read",
        "evidence_date": day,
        "annotator_kind": "automated",
        "annotator": "a",
        "source": "catalog",
    }
    row |= more
    values = ", ".join("NULL" if value is None else f"'{value}'" for value in row.values())
    return f"INSERT INTO dispositions ({', '.join(row)}) VALUES ({values})"


def dispositions_of(store: Store) -> dict[int, tuple[str, str]]:
    with store.read() as connection:
        found = connection.execute("SELECT number, disposition, evidence FROM item_dispositions").fetchall()
    return {number: (disposition, evidence) for number, disposition, evidence in found}


def comment(number: int, name: str, author: str, at: str) -> str:
    return (
        "INSERT INTO comments (repo, number, comment_id, author, created_at, body) "
        f"VALUES ('{REPO}', {number}, '{name}', '{author}', TIMESTAMP '{at}', '{name}')"
    )
