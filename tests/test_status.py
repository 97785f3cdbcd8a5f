"""Statuses of items: the tracker's word and the verdicts together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torch_embers.run.status import CONFIRMED, STATUSES, Tracked, came_back, expected_false, status_of
from torch_embers.run.verdict import VERDICTS

OPEN, CLOSED = Tracked("open"), Tracked("closed", "fixed")


@pytest.mark.parametrize(
    ("item", "verdicts", "status"),
    [
        (OPEN, [["occurs", "occurs"]], "open_and_occurs"),
        (OPEN, [["occurs", "absent"]], "open_but_absent"),
        (CLOSED, [["occurs", "absent"]], "fixed"),
        (CLOSED, [["occurs", "occurs"]], "closed_but_occurs"),
        (Tracked("closed", "unknown"), [["occurs"]], "undecided_occurs"),
        (Tracked("closed"), [["occurs"]], "undecided_occurs"),
        (Tracked("closed", "fixed", is_pull=True), [["occurs"]], "undecided_occurs"),
        (Tracked("closed", "declined"), [["occurs"]], "declined_occurs"),
        (Tracked("closed", "duplicate"), [["occurs"]], "declined_occurs"),
        (Tracked("closed", "superseded"), [["occurs"]], "declined_occurs"),
        (Tracked("closed", "stale"), [["occurs"]], "declined_occurs"),
        (CLOSED, [["occurs", "absent", "occurs"]], "regressed"),
        (OPEN, [["occurs", "absent", "untestable", "occurs"]], "regressed"),
        (OPEN, [["occurs", "not_seen", "occurs"]], "open_and_occurs"),
        (OPEN, [["occurs", "absent"], ["occurs", "occurs"]], "open_and_occurs"),
        (CLOSED, [["occurs", "absent"], ["occurs", "inconclusive"]], "undecided"),
        (CLOSED, [["occurs", "absent"], ["untestable"]], "fixed"),
        (CLOSED, [["occurs", "absent"], ["occurs", "untestable"]], "undecided"),
        (CLOSED, [["occurs", "absent"], ["occurs", "absent", "untestable"]], "fixed"),
        (CLOSED, [["not_seen", "not_seen"], ["occurs", "untestable"]], "undecided"),
        (OPEN, [["occurs", "occurs"], ["occurs", "untestable"]], "open_and_occurs"),
        (CLOSED, [["occurs", "changed"]], "undecided"),
        (CLOSED, [["not_seen", "not_seen"]], "never_reproduced"),
        (OPEN, [["untestable", "untestable"]], "untestable_here"),
        (OPEN, [], "untestable_here"),
        (Tracked(None), [["occurs"]], "undecided"),
        (Tracked(None), [["occurs", "absent"]], "undecided"),
    ],
)
def test_state_and_verdicts_give_the_status(item: Tracked, verdicts: Any, status: str) -> None:
    by_case = {str(place): seen for place, seen in enumerate(verdicts)}
    assert status_of(item, by_case, same=by_case) == status


def test_a_sibling_case_never_says_that_a_fixed_bug_is_still_there() -> None:
    verdicts: Any = {"reported": ["occurs", "absent"], "sibling": ["occurs", "occurs"]}
    assert status_of(CLOSED, verdicts, same={"reported"}) == "undecided_occurs"
    assert status_of(CLOSED, verdicts, same={"sibling"}) == "closed_but_occurs"


@given(
    st.sampled_from([OPEN, CLOSED, Tracked("closed", "declined"), Tracked(None)]),
    st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from(VERDICTS), max_size=6), max_size=4),
)
def test_an_absence_is_claimed_only_if_every_testable_case_is_absent(item: Tracked, verdicts: Any) -> None:
    status = status_of(item, verdicts, same=list(verdicts)[:1])
    assert status in STATUSES
    last = [seen[-1] for seen in verdicts.values() if seen]
    if status in CONFIRMED:
        assert {v for v in last if v != "untestable"} == {"absent"}
    if "occurs" in last and item.state:
        assert status in ("open_and_occurs", "closed_but_occurs", "declined_occurs", "undecided_occurs", "regressed")


def test_a_bug_came_back_only_over_a_controlled_gap() -> None:
    assert came_back(["occurs", "absent", "occurs"])
    assert not came_back(["absent", "occurs"])
    assert not came_back(["occurs", "not_seen", "occurs"])
    assert not came_back(["occurs", "absent"])


def test_false_absences_are_counted_for_two_series_each() -> None:
    assert expected_false(10, 0.01) == pytest.approx(0.001)
