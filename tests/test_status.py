"""Statuses of items: the tracker's word and the verdicts together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.run.status import CONFIRMED, STATUSES, Tracked, came_back, expected_false, status_of
from torch_embers.run.verdict import VERDICTS

OPEN, CLOSED = Tracked("open", None), Tracked("closed", "completed")


@pytest.mark.parametrize(
    ("item", "verdicts", "status"),
    [
        (OPEN, [["occurs", "occurs"]], "open_and_occurs"),
        (OPEN, [["occurs", "absent"]], "open_but_absent"),
        (CLOSED, [["occurs", "absent"]], "fixed"),
        (CLOSED, [["occurs", "occurs"]], "closed_but_occurs"),
        (Tracked("closed", None), [["occurs"]], "closed_but_occurs"),
        (Tracked("closed", "not_planned"), [["occurs"]], "declined_occurs"),
        (Tracked("closed", "duplicate"), [["occurs"]], "declined_occurs"),
        (CLOSED, [["occurs", "absent", "occurs"]], "regressed"),
        (OPEN, [["occurs", "absent", "untestable", "occurs"]], "regressed"),
        (OPEN, [["occurs", "not_seen", "occurs"]], "open_and_occurs"),
        (OPEN, [["occurs", "absent"], ["occurs", "occurs"]], "open_and_occurs"),
        (CLOSED, [["occurs", "absent"], ["occurs", "inconclusive"]], "undecided"),
        (CLOSED, [["occurs", "absent"], ["untestable"]], "fixed"),
        (CLOSED, [["occurs", "changed"]], "undecided"),
        (CLOSED, [["not_seen", "not_seen"]], "never_reproduced"),
        (OPEN, [["untestable", "untestable"]], "untestable_here"),
        (OPEN, [], "untestable_here"),
        (Tracked(None, None), [["occurs"]], "undecided"),
        (Tracked(None, None), [["occurs", "absent"]], "undecided"),
    ],
)
def test_state_and_verdicts_give_the_status(item: Tracked, verdicts: Any, status: str) -> None:
    assert status_of(item, {str(place): seen for place, seen in enumerate(verdicts)}) == status


@given(
    st.sampled_from([OPEN, CLOSED, Tracked("closed", "not_planned"), Tracked(None, None)]),
    st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from(VERDICTS), max_size=6), max_size=4),
)
def test_an_absence_is_claimed_only_if_every_testable_case_is_absent(item: Tracked, verdicts: Any) -> None:
    status = status_of(item, verdicts)
    assert status in STATUSES
    last = [seen[-1] for seen in verdicts.values() if seen]
    if status in CONFIRMED:
        assert {v for v in last if v != "untestable"} == {"absent"}
    if "occurs" in last and item.state:
        assert status in ("open_and_occurs", "closed_but_occurs", "declined_occurs", "regressed")


def test_a_bug_came_back_only_over_a_controlled_gap() -> None:
    assert came_back(["occurs", "absent", "occurs"])
    assert not came_back(["absent", "occurs"])
    assert not came_back(["occurs", "not_seen", "occurs"])
    assert not came_back(["occurs", "absent"])


def test_false_absences_are_counted_for_two_series_each() -> None:
    assert expected_false(10, 0.01) == pytest.approx(0.001)
