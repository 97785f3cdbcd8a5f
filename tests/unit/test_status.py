"""Statuses of items: the tracker's word and the verdicts together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.timeline_rows import crashed, ended
from helpers.verdicts import build_of, cell_of, decision_of
from support import case_of
from torch_embers.run.cases import contradicted
from torch_embers.timeline.model import Segment, Timeline
from torch_embers.verdicts.status import CLAIMS, CONFIRMED, STATUSES, Tracked, status_of, status_of_timeline, withdrawn
from torch_embers.verdicts.verdict import VERDICTS, Verdict

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


@pytest.mark.parametrize(
    ("item", "own", "sibling", "status"),
    [
        (OPEN, None, ["occurs", "absent"], "undecided_absent"),
        (CLOSED, None, ["occurs", "absent"], "undecided_absent"),
        (OPEN, None, ["occurs", "absent", "occurs"], "open_and_occurs"),
        (CLOSED, None, ["occurs", "absent", "occurs"], "undecided_occurs"),
        (CLOSED, ["absent", "absent"], ["occurs", "absent"], "undecided_absent"),
        (CLOSED, ["occurs", "absent"], ["occurs", "occurs"], "undecided_occurs"),
        (CLOSED, ["occurs", "occurs"], ["occurs", "absent"], "closed_but_occurs"),
        (CLOSED, ["occurs", "absent", "absent"], ["occurs", "occurs", "absent"], "fixed"),
        # the sibling came back, not the bug
        (CLOSED, ["occurs", "occurs", "occurs"], ["occurs", "absent", "occurs"], "closed_but_occurs"),
    ],
)
def test_the_own_case_carries_a_claim_and_a_sibling_none(item: Tracked, own: Any, sibling: Any, status: str) -> None:
    verdicts = {"sibling": sibling} | ({"reported": own} if own else {})
    assert status_of(item, verdicts, same={"reported"}) == status


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
    assert status_of(item, verdicts, same=()) not in CLAIMS
    if item in (Tracked(None), Tracked("closed", "declined")):
        assert status not in CLAIMS
    last = [seen[-1] for seen in verdicts.values() if seen]
    if status in (*CONFIRMED, "undecided_absent"):
        assert {v for v in last if v != "untestable"} == {"absent"}
    if "occurs" in last and item.state:
        assert status in ("open_and_occurs", "closed_but_occurs", "declined_occurs", "undecided_occurs", "regressed")


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
@pytest.mark.parametrize("origin", ["curated", "own"])
def test_a_run_names_only_items_whose_own_case_contradicts_the_tracker(
    item: Tracked, verdicts: dict[str, Verdict], named: str, origin: str
) -> None:
    cells = []
    for relation, verdict in verdicts.items():
        case = replace(case_of(f"print({relation!r})", issues=["a/b#1"], relation=relation), origin=origin)
        cells.append(cell_of(case, build_of("2.15.0"), decision_of(verdict)))
    found = dict(zip(("gone", "alive", "closed"), contradicted(cells, {("a/b", 1): item}), strict=True))
    if origin == "own":
        named = "closed" if named == "alive" else named if named == "closed" else ""
    assert [name for name, keys in found.items() if keys] == ([named] if named else [])


UNKNOWN, PULL = Tracked("closed", "unknown"), Tracked("open", is_pull=True)
RAISES = Segment(("2.7.1",), "exception", "ValueError", runs=11, confirmed=True, match="other", flip="ending")
PRINTS = Segment(("2.6.0",), "ok", "", "3.0", 3, match="as_reported")
GAP = Segment(("2.8.0",), "lacks_api", "torch.foo", "", 1)


@pytest.mark.parametrize(
    ("item", "segments", "again", "status"),
    [
        (CLOSED, [crashed("2.6.0")], True, "closed_but_occurs"),
        (CLOSED, [crashed("2.6.0")], False, None),
        (CLOSED, [crashed("2.6.0", match="other")], True, None),
        (CLOSED, [crashed("2.6.0"), GAP], True, None),
        (UNKNOWN, [crashed("2.6.0")], True, None),
        (OPEN, [crashed("2.6.0")], True, None),
        (OPEN, [crashed("2.6.0"), ended("2.7.1")], False, "open_but_absent"),
        (CLOSED, [crashed("2.6.0"), ended("2.7.1")], False, "fixed"),
        (UNKNOWN, [crashed("2.6.0"), ended("2.7.1")], False, None),
        (PULL, [crashed("2.6.0"), ended("2.7.1")], False, None),
        (CLOSED, [crashed("2.6.0"), ended("2.7.1", confirmed=False)], False, None),
        (CLOSED, [crashed("2.6.0", match="other"), ended("2.7.1")], False, None),
        (CLOSED, [crashed("2.6.0"), RAISES], False, "fixed"),
        (CLOSED, [crashed("2.6.0"), RAISES, ended("2.8.0")], False, "fixed"),
        (CLOSED, [crashed("2.6.0"), ended("2.7.1", confirmed=False), ended("2.8.0")], False, None),
        (CLOSED, [PRINTS, RAISES], False, None),
        (CLOSED, [PRINTS, ended("2.7.1", match="other")], False, None),
        (CLOSED, [PRINTS, ended("2.7.1")], False, "fixed"),
        (CLOSED, [ended("2.6.0"), crashed("2.7.1")], True, "closed_but_occurs"),
        (CLOSED, [GAP], True, None),
        (CLOSED, [], True, None),
    ],
)
def test_a_script_claims_only_what_its_report_quotes_and_a_second_batch_confirms(
    item: Tracked, segments: list[Segment], again: bool, status: str | None
) -> None:
    timeline = Timeline("o/n", 1, "s", "e", segments)
    assert status_of_timeline(item, timeline, shown_again=again) == status
    elsewhere = replace(timeline, device="cuda")
    assert status_of_timeline(item, elsewhere, shown_again=again) is None
