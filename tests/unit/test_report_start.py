"""The start page of the report: what stands in which list, what a strip shows, and how issues are counted."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from helpers.timeline_rows import GAP, SCRIPT, crashed, ended, raised
from torch_embers.report import report_rules
from torch_embers.report.joined_facts import ReportFacts
from torch_embers.timeline.model import Timeline
from torch_embers.verdicts.matrix import MatrixEntry
from torch_embers.views import answers
from torch_embers.views.closable import Answer
from torch_embers.views.item_report import ItemReport

VERSIONS = ("2.0.1", "2.1.2", "2.2.2")
LETTERS = {"Y": "occurs", "n": "absent", "o": "not_seen", "-": "untestable"}


def entries(case: str, letters: str) -> list[MatrixEntry]:
    at = datetime(2026, 11, 22, tzinfo=UTC)
    runs = (3, 3, None, "none", None, 0, 0)
    first = MatrixEntry(case, "a/b#1", "", "cpu, X, AVX2, Linux", "", *(False, *runs), detail="", decided_at=at)
    shown = [(build, LETTERS[letter]) for build, letter in zip(VERSIONS, letters, strict=True) if letter != " "]
    return [replace(first, build=build, verdict=verdict) for build, verdict in shown]


def facts(state: str, answer: Answer, histories: dict[str, str], reported: bool = True, **more: Any) -> ReportFacts:
    """An issue with these cases, whose names begin with ``sibling`` where they show another input."""
    item = {"repo": "a/b", "number": 1}
    cases = [
        {
            "name": name,
            "origin": "curated",
            "consequence": "crash",
            "items": [{**item, "relation": "sibling" if name.startswith("sibling") else "same"}] * reported,
        }
        for name in histories
    ]
    verdicts = [one for name, letters in histories.items() for one in entries(name, letters)]
    known = ItemReport("a/b", 1, {}, [], [], [], [], SCRIPT, None, [], verdicts, answer=answer)
    issue = {**item, "kind": "issue", "state": state}
    reports = {("a/b", 1): replace(known, **more)}
    source: Any = SimpleNamespace(cases=cases, verdicts=verdicts, items=[issue], reports=reports)
    return ReportFacts(source, report_rules.load(), frozenset())


def shown(found: ReportFacts) -> str:
    marks = {True: "Y", False: "n", None: "."}
    return "".join(marks[one.is_bad] * len(one.versions) for one in found.strip(("a/b", 1)))


OCCURS, GONE = Answer("no", "case_occurs", ""), Answer("yes", "case_gone", "")
TIMELINE = Timeline("a/b", 1, SCRIPT.hash, "", [replace(GAP, versions=("2.0.1",)), crashed("2.1.2"), ended("2.2.2")])
FIX_TEST = {
    "relation": "same",
    "class": "validated",
    "shows_bug": "right",
    "failed": ["2.0.1"],
    "passed": ["2.1.2", "2.2.2"],
}
SILENT = FIX_TEST | {"class": "never_seen", "shows_bug": None, "failed": [], "passed": ["2.2.2"]}


@pytest.mark.parametrize(
    ("histories", "answer", "more", "marks"),
    [
        ({"own": "Yno", "sibling": "YYY"}, OCCURS, {}, "Yn."),
        ({"own": "Y- ", "sibling": "nYY"}, OCCURS, {}, "YYY"),
        ({"sibling": "nnn"}, Answer("yes", "script_gone", ""), {"timeline": TIMELINE}, ".Yn"),
        ({}, Answer("unknown", "script_silent", ""), {"timeline": replace(TIMELINE, segments=[raised("2.2.2")])}, "."),
        ({}, Answer("yes", "fix_test_passes", ""), {"fix_tests": [SILENT, FIX_TEST]}, "Ynn"),
        ({}, Answer("unknown", "duplicate", ""), {}, ""),
    ],
)
def test_a_strip_shows_what_decides_the_answer(
    histories: dict[str, str], answer: Answer, more: dict[str, Any], marks: str
) -> None:
    assert shown(facts("open", answer, histories, **more)) == marks


@pytest.mark.parametrize(
    ("letters", "answer", "found"),
    [
        ("nYY", OCCURS, [("2.0.1", "2.1.2")]),
        ("YnY", OCCURS, [("2.1.2", "2.2.2")]),
        ("n-Y", OCCURS, [("2.0.1", "2.2.2")]),
        ("oYY", OCCURS, []),
        ("YYY", OCCURS, []),
        ("nYn", GONE, []),
    ],
)
def test_a_regression_occurs_and_was_shown_to_be_gone_before(letters: str, answer: Answer, found: list[Any]) -> None:
    assert [one[1:] for one in facts("closed", answer, {"own": letters}).regressions] == found


@pytest.mark.parametrize(
    ("letters", "reported", "found"),
    [("YYY", False, ["own"]), ("YYY", True, []), ("YYn", False, []), ("YY ", False, [])],
)
def test_a_case_that_occurs_on_the_newest_release_and_that_no_issue_describes_was_not_reported(
    letters: str, reported: bool, found: list[str]
) -> None:
    histories = {"own": letters, "another": "nnn"}
    assert [case["name"] for case in facts("open", OCCURS, histories, reported).unreported] == found


def test_open_issues_to_close_and_closed_ones_to_look_at_again_are_told_apart() -> None:
    for state, answer in (("open", GONE), ("closed", OCCURS)):
        found = facts(state, answer, {"own": "YYY"})
        assert found.issues(state, answer.closable) == [("a/b", 1)]
        assert found.issues("closed" if state == "open" else "open", answer.closable) == []


@pytest.mark.parametrize(
    ("rule", "closable", "occurs"),
    [
        ("case_occurs", "no", True),
        ("script_occurs", "no", True),
        ("duplicate_of_what_occurs", "yes", True),
        ("case_gone", "yes", False),
        ("case_not_confirmed", "unknown", False),
        ("script_gone", "yes", False),
        ("fix_test_passes", "yes", None),
        ("another_input", "unknown", None),
    ],
)
def test_an_issue_counts_as_decided_by_its_own_case_or_script_alone(rule: str, closable: Any, occurs: Any) -> None:
    answer = Answer(closable, rule, "")
    report = ItemReport("a/b", 1, {"state": "closed", "disposition": "stale"}, [], [], [], [], None, None, [], [])
    [row] = answers.counts([replace(report, answer=answer), replace(report, facts={"kind": "pull"})])
    assert answer.occurs is occurs
    assert row["issues"].startswith("closed as declined")
    assert (row["decided"], row["still_occurs"]) == (occurs is not None, occurs is True)
    assert sum(row[name] for name in ("closable", "not_closable", "unknown")) == 1
