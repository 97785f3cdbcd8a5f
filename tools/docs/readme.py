"""README.md: what the committed verdicts say in a few lines, and how much there is."""

from __future__ import annotations

from .catalog import entries
from .markdown import table
from .still_occurring import issue_counts, matrix, releases

GROUPS = {
    "fixed": "closed, and its fix was seen",
    "declined": "closed as declined or superseded: no defect is claimed",
    "duplicate": "closed as a duplicate of another issue",
    "unknown": "closed; our reader did not find why",
    "open": "open",
}


def counted() -> str:
    """How many items, cases, releases and verdicts come with embers."""
    names = {row["case"] for row in matrix()}
    return (
        f"With embers come {len(entries()):,} items of PyTorch's tracker with labels and links, {len(names)} cases, "
        f"and their {len(matrix()):,} verdicts on {len(releases())} releases ({releases()[0]} to {releases()[-1]})."
    )


def still_occurring() -> str:
    """How many issues could be decided on the newest release, and how many occur there, by what the tracker says."""
    newest = releases()[-1]
    rows = [(text, *(str(number) for number in issue_counts(group))) for group, text in GROUPS.items()]
    return table(("issue", f"decided on {newest}:", "its script still fails:"), rows)
