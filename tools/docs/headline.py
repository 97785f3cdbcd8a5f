"""docs/case-reviews.md: closed items that once were all called still there, and what is said of each now."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cache

from .cases import bank
from .catalog import entries
from .markdown import cell, code, issue_link, table
from .places import ROOT
from .reviews import dispositions, evidence, reviews
from .still_occurring import matrix, pairs, releases

BEFORE = ROOT / "bench" / "headline_before.csv"
"""Closed items that a case occurred for on 2.15.0 before relations and dispositions were asked for: number and case."""
CLOSINGS_BEFORE = ROOT / "bench" / "closings_before.csv"
"""The disposition of each issue before one written standard was applied to all: number and disposition."""
REPO = "pytorch/pytorch"
LEFT = {
    "pull": "a pull request, not an issue",
    "cut": "the case shows another bug: link cut",
    "sibling": "the case shows another input",
    "absent": "its own case is clean now",
    "unknown": "why it was closed was not seen",
    "declined": "declined",
    "duplicate": "duplicate",
    "superseded": "superseded",
    "stale": "stale",
    "open": "open",
    "stays": "closed as fixed and still there",
}


@cache
def _before() -> dict[int, tuple[str, ...]]:
    """The cases of each item that stood in the headline, by number."""
    found: dict[int, tuple[str, ...]] = {}
    with BEFORE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            number = int(row["number"])
            found[number] = (*found.get(number, ()), row["case"])
    return dict(sorted(found.items()))


def _reading(number: int) -> str:
    """What the newest readings say of an item, each once."""
    said = dict.fromkeys(cell(line["reason"]) for line in reviews() if line["number"] == number)
    return " ".join(said)


def _now(number: int) -> tuple[str, str]:
    """Why an item left the headline, a key of LEFT, and the reason in words."""
    entry = next((e for e in entries() if e["number"] == number), {})
    cases = [case for case in bank() if (REPO, number) in case.issues]
    if entry.get("kind") == "pull":
        return "pull", _reading(number)
    if entry.get("state") == "open":
        return "open", _reading(number)
    if not cases:
        return "cut", _reading(number)
    closing = dispositions().get(number)
    if closing is None or closing["disposition"] != "fixed":
        return (closing["disposition"] if closing else "unknown"), evidence(closing) if closing else ""
    own = {case.name for case in cases if case.relations.get((REPO, number)) == "same"}
    there = {p.row["case"] for p in pairs() if p.number == number and p.row["verdict"] == "occurs"}
    if own & there:
        return "stays", evidence(closing)
    if there:
        return "sibling", _reading(number)
    newest = {row["case"]: row for row in matrix() if row["build"] == releases()[-1]}
    runs = ", ".join(
        f"{code(name)} {newest[name]['verdict']} {newest[name]['k']}/{newest[name]['n']}" for name in sorted(own)
    )
    return "absent", f"{runs}. {_reading(number)}"


def left() -> str:
    """Each item of the former headline with the reason for which it left."""
    now = {number: _now(number) for number in _before()}
    counts = Counter(why for why, _ in now.values())
    said = "; ".join(f"{LEFT[why]} {count}" for why, count in counts.most_common())
    rows = [
        (issue_link(REPO, number), ", ".join(map(code, _before()[number])), LEFT[why], reason)
        for number, (why, reason) in now.items()
    ]
    headings = ("item", "case then", "why it left", "what was seen")
    return f"{len(rows)} closed items: {said}.\n\n" + table(headings, rows)


def _headline(number: int, disposition: str) -> str:
    """Which of the two counts an issue with this disposition is in, and whether it occurs."""
    own = [p for p in pairs() if p.number == number and p.relation == "same"]
    verdicts = {p.row["verdict"] for p in own} & {"occurs", "absent"}
    if not own:
        return "none: no case of its own input"
    if not verdicts:
        return "none: not decided on this machine"
    return f"{disposition}: {'occurs' if 'occurs' in verdicts else 'absent'}"


def moved() -> str:
    """Each issue whose disposition the written standard changed, and what that does to the headline."""
    with CLOSINGS_BEFORE.open(encoding="utf-8", newline="") as file:
        before = {int(row["number"]): row["disposition"] for row in csv.DictReader(file)}
    rows = [
        (issue_link(REPO, number), was, line["disposition"], _headline(number, line["disposition"]), evidence(line))
        for number, was in before.items()
        if (line := dispositions()[number])["disposition"] != was
    ]
    steps = Counter(f"{was} to {now}" for _, was, now, *_ in rows)
    said = ", ".join(f"{count} from {step}" for step, count in steps.most_common())
    headings = ("issue", "before", "now", "counted under", "what was seen")
    return f"{len(rows)} of {len(before)} lines: {said}.\n\n" + table(headings, rows)
