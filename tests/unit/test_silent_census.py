"""The census of silent-correctness issues: what counts as still there, since when, and as a regression."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from helpers.timeline_rows import SCRIPT, crashed, ended
from torch_embers.research import silent_census
from torch_embers.timeline.model import Timeline
from unit.test_closable import report

FACTS = {
    "number": "7", "created": "2026-06-30", "state": "open", "text": "cut", "script": "whole", "area": "aten",
    "why_not": "", "umbrella": "",
}  # fmt: skip
RELEASES = ("2.0.1", "2.1.2", "2.2.2")
DAYS = {"2.0.1": date(2026, 1, 1), "2.2.2": date(2026, 6, 1)}


def counted(histories: dict[str, str], **more: Any) -> silent_census.Counted:
    return silent_census.counted(FACTS, report(histories, **more), RELEASES, DAYS)


@pytest.mark.parametrize(
    ("letters", "newest", "first", "clean_before", "regression", "days"),
    [
        ("YYY", "occurs", "2.0.1", "no", "no", 180),
        ("nnY", "occurs", "2.2.2", "yes", "yes", 29),
        ("noY", "occurs", "2.2.2", "yes", "no", 29),
        ("-YY", "occurs", "2.1.2", "no", "no", None),
        ("YYn", "absent", "2.0.1", "no", "no", 180),
        ("YY-", "", "2.0.1", "no", "", 180),
        ("ooo", "", "", "", "", None),
    ],
)
def test_an_issue_is_counted_by_what_its_own_case_shows(
    letters: str, newest: str, first: str, clean_before: str, regression: str, days: int | None
) -> None:
    made = counted({"own": letters})
    assert (made.newest, made.first_bad, made.clean_before) == (newest, first, clean_before)
    assert (made.regression, made.days_in_release) == (regression, days)
    assert made.by == ("case" if first else "undecided")


def test_a_like_input_counts_after_the_script_of_the_report() -> None:
    assert counted({"sibling": "YYY"}).by == "another_input"
    segments = [crashed("2.0.1", "2.1.2"), ended("2.2.2")]
    by_script = counted({"sibling": "YYY"}, segments=segments)
    assert (by_script.by, by_script.newest, by_script.first_bad) == ("script", "absent", "2.0.1")
    other = replace(report({}), timeline=Timeline("a/b", 7, SCRIPT.hash, "e", segments, "cuda"))
    assert silent_census.shown(other) == ("", {}), "a report about an accelerator"


def test_the_first_sentence_is_the_share_that_still_occurs_of_what_can_be_decided() -> None:
    rows = [counted({"own": letters}) for letters in ("YYY", "nnY", "YYn", "ooo")]
    rows.append(counted({"sibling": "YYY"}))
    first, second, *_ = silent_census.lines(rows)
    assert (
        first
        == "2 of 3 issues that their own case or script decides still occur on the newest release (67 %, 95 % interval 21 to 94 %)."
    )
    assert second == "New in the newest release against the one before: 1 (#7)."
    assert silent_census.as_csv(rows).splitlines()[0].startswith("number,created,state,text,script,area,by,newest")
