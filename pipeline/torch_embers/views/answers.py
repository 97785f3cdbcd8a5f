"""The answers of all issues as rows, and how many issues have which: the numbers of every page and list."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch_embers.views.item_evidence import answered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.store.store import Store
    from torch_embers.views.item_report import ItemReport

KINDS = {
    "fixed": "closed, and its fix was seen",
    "declined": "closed as declined or superseded: no defect is claimed",
    "duplicate": "closed as a duplicate of another issue",
    "unknown": "closed, reason unknown",
    "open": "open",
    "": "not in this database: only its runs came with embers",
}
"""What the tracker says of an issue, in words."""
_DECLINED = ("declined", "superseded", "stale")


def rows(store: Store) -> list[dict[str, Any]]:
    """Of every issue with an answer: repo, number, the fields of ``Answer``, and whether the bug still occurs."""
    return [
        {"repo": repo, "number": number, **asdict(report.answer), "occurs": report.answer.occurs}
        for (repo, number), report in answered(store).items()
        if report.answer
    ]


def counts(reports: Iterable[ItemReport]) -> list[dict[str, Any]]:
    """By what the tracker says: issues that are closable or not, and of how many decided ones the bug still occurs."""
    made: dict[str, dict[str, Any]] = {
        kind: {"issues": words, "closable": 0, "not_closable": 0, "unknown": 0, "decided": 0, "still_occurs": 0}
        for kind, words in KINDS.items()
    }
    for report in reports:
        if report.answer:
            row = made[_kind(report)]
            row[{"yes": "closable", "no": "not_closable"}.get(report.answer.closable, "unknown")] += 1
            row["decided"] += report.answer.occurs is not None
            row["still_occurs"] += bool(report.answer.occurs)
    return [row for row in made.values() if any(value for value in row.values() if isinstance(value, int))]


def _kind(report: ItemReport) -> str:
    state = report.facts.get("state")
    if state != "closed":
        return "open" if state == "open" else ""
    reason = report.facts.get("disposition") or "unknown"
    return "declined" if reason in _DECLINED else reason
