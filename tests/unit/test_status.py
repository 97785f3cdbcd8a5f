"""Statuses of items: the tracker's word and the verdicts together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import case_of
from torch_embers.builds.registry import Build
from torch_embers.run.command import contradicted
from torch_embers.run.ledger import Cell
from torch_embers.run.status import (
    CLAIMS,
    CONFIRMED,
    DECLINED,
    STATUSES,
    Tracked,
    came_back,
    expected_false,
    status_of,
    withdrawn,
)
from torch_embers.run.verdict import VERDICTS, Control, Decision, Verdict

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
        (Tracked(None), [["occurs", "absent", "occurs"]], "undecided"),
        (Tracked("closed", "unknown"), [["occurs", "absent"]], "undecided_absent"),
        (Tracked("closed", "declined"), [["occurs", "absent"]], "undecided_absent"),
        (Tracked("closed", "duplicate"), [["occurs", "absent"]], "undecided_absent"),
        (Tracked("closed", "fixed", is_pull=True), [["occurs", "absent"]], "undecided_absent"),
        (Tracked("open", is_pull=True), [["occurs", "absent"]], "undecided_absent"),
        (Tracked("closed", "unknown"), [["occurs", "absent", "occurs"]], "undecided_occurs"),
        (Tracked("closed", "stale"), [["occurs", "absent", "occurs"]], "declined_occurs"),
        (Tracked("closed", "fixed", is_pull=True), [["occurs", "absent", "occurs"]], "undecided_occurs"),
    ],
)
def test_state_and_verdicts_give_the_status(item: Tracked, verdicts: Any, status: str) -> None:
    by_case = {str(place): seen for place, seen in enumerate(verdicts)}
    assert status_of(item, by_case, same=by_case) == status


def test_a_sibling_case_never_says_that_a_fixed_bug_is_still_there() -> None:
    verdicts: Any = {"reported": ["occurs", "absent"], "sibling": ["occurs", "occurs"]}
    assert status_of(CLOSED, verdicts, same={"reported"}) == "undecided_occurs"
    assert status_of(CLOSED, verdicts, same={"sibling"}) == "closed_but_occurs"


@pytest.mark.parametrize(
    ("item", "sibling", "status"),
    [
        (OPEN, ["occurs", "absent"], "undecided_absent"),
        (CLOSED, ["occurs", "absent"], "undecided_absent"),
        (OPEN, ["occurs", "absent", "occurs"], "open_and_occurs"),
        (CLOSED, ["occurs", "absent", "occurs"], "undecided_occurs"),
    ],
)
def test_a_sibling_case_claims_nothing_of_the_item(item: Tracked, sibling: Any, status: str) -> None:
    assert status_of(item, {"sibling": sibling}) == status
    never: Any = {"sibling": sibling, "reported": ["absent"] * len(sibling)}
    assert status_of(item, never, same={"reported"}) == status


def test_the_own_case_carries_the_claim_whatever_a_sibling_did_before() -> None:
    verdicts: Any = {"reported": ["occurs", "absent", "absent"], "sibling": ["occurs", "occurs", "absent"]}
    assert status_of(CLOSED, verdicts, same={"reported"}) == "fixed"
    verdicts = {"reported": ["occurs"] * 3, "sibling": ["occurs", "absent", "occurs"]}
    assert status_of(CLOSED, verdicts, same={"reported"}) == "closed_but_occurs", "the sibling came back, not the bug"


@given(
    st.sampled_from(
        [*(Tracked("closed", word) for word in ("unknown", *DECLINED)), Tracked("closed", "fixed", is_pull=True), OPEN]
    ),
    st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from(VERDICTS), max_size=6), max_size=4),
)
def test_only_an_issue_that_is_open_or_closed_as_fixed_and_its_own_case_carry_a_claim(
    item: Tracked, verdicts: Any
) -> None:
    own = () if item.state == "open" else verdicts
    assert status_of(item, verdicts, same=own) not in CLAIMS


@pytest.mark.parametrize(
    ("status", "item", "has_own", "now"),
    [
        ("fixed", CLOSED, True, "fixed"),
        ("fixed", CLOSED, False, "undecided_absent"),
        ("fixed", Tracked("closed", "unknown"), True, "undecided_absent"),
        ("open_but_absent", Tracked("closed", "declined"), True, "undecided_absent"),
        ("open_but_absent", CLOSED, True, "undecided_absent"),
        ("open_but_absent", OPEN, True, "open_but_absent"),
        ("fixed", OPEN, True, "undecided_absent"),
        ("closed_but_occurs", OPEN, True, "open_and_occurs"),
        ("closed_but_occurs", CLOSED, True, "closed_but_occurs"),
        ("regressed", OPEN, True, "regressed"),
        ("regressed", OPEN, False, "open_and_occurs"),
        ("regressed", Tracked("closed", "declined"), True, "declined_occurs"),
        ("closed_but_occurs", Tracked("closed", "unknown"), True, "undecided_occurs"),
        ("closed_but_occurs", Tracked(None), True, "undecided"),
        ("never_reproduced", Tracked(None), False, "never_reproduced"),
    ],
)
def test_a_claim_that_lost_its_ground_is_withdrawn(status: Any, item: Tracked, has_own: bool, now: str) -> None:
    assert withdrawn(status, item, has_own=has_own) == now


@given(
    st.sampled_from([OPEN, CLOSED, Tracked("closed", "declined"), Tracked(None)]),
    st.dictionaries(st.text(max_size=3), st.lists(st.sampled_from(VERDICTS), max_size=6), max_size=4),
)
def test_an_absence_is_claimed_only_if_every_testable_case_is_absent(item: Tracked, verdicts: Any) -> None:
    status = status_of(item, verdicts, same=list(verdicts)[:1])
    assert status in STATUSES
    last = [seen[-1] for seen in verdicts.values() if seen]
    if status in (*CONFIRMED, "undecided_absent"):
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


@pytest.mark.parametrize(
    ("item", "verdicts", "named"),
    [
        (OPEN, {"same": "absent"}, "gone"),
        (OPEN, {"same": "absent", "sibling": "absent"}, "gone"),
        (OPEN, {"same": "absent", "sibling": "occurs"}, ""),
        (OPEN, {"same": "absent", "sibling": "not_seen"}, ""),
        (OPEN, {"sibling": "absent"}, ""),
        (Tracked("open", is_pull=True), {"same": "absent"}, ""),
        (CLOSED, {"same": "occurs"}, "alive"),
        (CLOSED, {"same": "absent", "sibling": "occurs"}, "closed"),
        (CLOSED, {"sibling": "occurs"}, "closed"),
        (Tracked("closed", "unknown"), {"same": "occurs"}, "closed"),
        (CLOSED, {"same": "untestable", "sibling": "occurs"}, "closed"),
    ],
)
@pytest.mark.parametrize("origin", ["curated", "extracted"])
def test_a_run_names_only_items_whose_own_case_contradicts_the_tracker(
    item: Tracked, verdicts: dict[str, Verdict], named: str, origin: str
) -> None:
    build = Build("2.15.0", "2.15.0", "c" * 40, "release", "linux", Path("p"), "3.11")
    cells = [
        Cell(
            replace(case_of(f"print({relation!r})", issues=["a/b#1"], relation=relation), origin=origin),
            build,
            "here",
            "reviewed",
            0,
            Decision(
                verdict,
                flaky=False,
                hits=0,
                runs=4,
                detectable_rate=None,
                control=Control("none", None, 0, 0),
                detail="",
                signature=None,
            ),
            fresh=True,
        )
        for relation, verdict in verdicts.items()
    ]
    found = dict(zip(("gone", "alive", "closed"), contradicted(cells, {("a/b", 1): item}), strict=True))
    if origin == "extracted":
        named = "closed" if named == "alive" else named if named == "closed" else ""
    assert [name for name, keys in found.items() if keys] == ([named] if named else [])
