"""Cases that look as if they were about something else than their issue: tools/case_flags.py."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

import support
from support import case_of

if TYPE_CHECKING:
    from torch_embers.repro import case as cases

REPO = "pytorch/pytorch"
DAYS = {"1.13.1": date(2022, 12, 15), "2.1.2": date(2023, 12, 14), "2.6.0": date(2025, 1, 29)}
CLOSING = {
    "disposition": "fixed",
    "evidence_kind": "commit",
    "evidence": "x",
    "evidence_ref": "#2",
    "evidence_date": "2024-01-01",
}


TOOL: Any = support.tool("case_flags")


def made(**entries: Any) -> cases.Case:
    return case_of(**({"issues": [f"{REPO}#{NUMBER}"], "relation": "same"} | entries))


NUMBER = 200
NAME = made().name


def facts(verdicts: dict[str, str], opened: date = date(2024, 1, 1), **other: Any) -> Any:
    known = {
        "verdicts": {NAME: verdicts},
        "days": DAYS,
        "numbers": TOOL.Numbers({100: date(2020, 1, 1), NUMBER: opened, 300: date(2026, 1, 1)}),
        "kinds": {NUMBER: "issue"},
        "states": {NUMBER: "closed"},
        "dispositions": {NUMBER: {"disposition": "unknown"}},
        "readings": {(NAME, NUMBER): {"answer": "unsure", "thread_read": "partly"}},
    }
    return TOOL.Facts(**(known | other))


def names(one: cases.Case, known: Any) -> list[str]:
    return [flag.name for flag in TOOL.flags([one], known)]


RED_THEN_GREEN = {"1.13.1": "occurs", "2.1.2": "occurs", "2.6.0": "absent"}


THERE = dict.fromkeys(DAYS, "occurs")
UNTESTABLE = dict.fromkeys(DAYS, "untestable")
NO_DISPOSITION: dict[str, Any] = {"dispositions": {}}


def read(answer: str = "faithful", thread: str = "whole", **more: Any) -> dict[str, Any]:
    """What a reader said of the case."""
    return {"readings": {(NAME, NUMBER): {"answer": answer, "thread_read": thread} | more}}


def closed(**more: Any) -> dict[str, Any]:
    """The disposition of the item."""
    return {"dispositions": {NUMBER: CLOSING | more}}


@pytest.mark.parametrize(
    ("entries", "verdicts", "more", "flags"),
    [
        ({"fixed_in": "2.6.0"}, RED_THEN_GREEN, {}, []),
        ({"fixed_in": "2.1.2"}, RED_THEN_GREEN, {}, ["fixed_before_report"]),
        ({}, {"1.13.1": "absent", "2.1.2": "absent", "2.6.0": "occurs"}, {}, ["never_red"]),
        # a report older than all releases is held against the oldest one
        ({}, RED_THEN_GREEN, {"opened": date(2021, 1, 1)}, []),
        ({}, RED_THEN_GREEN | {"1.13.1": "not_seen"}, {"opened": date(2021, 1, 1)}, ["never_red"]),
        ({}, UNTESTABLE, {}, ["never_tested"]),
        ({}, RED_THEN_GREEN, {"kinds": {NUMBER: "pull"}}, ["only_pull_requests"]),
        ({}, RED_THEN_GREEN, NO_DISPOSITION, ["no_disposition"]),
        ({}, UNTESTABLE, NO_DISPOSITION, ["never_tested", "no_disposition"]),
        ({}, RED_THEN_GREEN, {"dispositions": {}, "states": {NUMBER: "open"}}, []),
        ({}, RED_THEN_GREEN, {"dispositions": {}, "kinds": {}}, []),
        # a headline needs its evidence and a faithful reading
        ({}, THERE, closed() | read(), []),
        ({}, THERE, closed(evidence_ref=None) | read(), ["headline_evidence"]),
        ({}, THERE, closed() | read("unsure"), ["headline_evidence"]),
        # a case that a reader set aside, or whose reader saw no thread, is not the report's own
        ({}, RED_THEN_GREEN, read(decides=False), ["set_aside"]),
        ({"relation": "sibling"}, RED_THEN_GREEN, read(decides=False), []),
        ({}, RED_THEN_GREEN, read(thread="no"), ["not_read"]),
        ({"relation": "sibling"}, RED_THEN_GREEN, read(thread="no"), []),
        ({}, RED_THEN_GREEN, {"readings": {}}, ["not_read"]),
        ({"relation": "sibling"}, RED_THEN_GREEN, {"readings": {}}, []),
    ],
)
def test_a_case_is_doubted_by_its_verdicts_and_what_is_known_of_its_item(
    entries: dict[str, Any], verdicts: dict[str, str], more: dict[str, Any], flags: list[str]
) -> None:
    assert names(made(**entries), facts(verdicts, **more)) == flags


def test_an_item_about_performance_has_a_case_or_a_reason_and_not_both() -> None:
    numbers = {"slow": {NUMBER, 250, 260}, "unmeasured": {NUMBER, 260, 270}}
    found = TOOL.flags([made()], facts(RED_THEN_GREEN, **numbers))
    assert [flag.item for flag in found if flag.name == "no_times"] == [NUMBER, 250, 270]
    about_time = TOOL.flags([], facts({}, dispositions={}), timed=[made()])
    assert [flag.name for flag in about_time] == ["no_disposition"]


def test_a_disposition_needs_a_case_or_a_reason_why_there_is_none() -> None:
    more = {NUMBER: CLOSING | {"disposition": "declined"}, 7: CLOSING}
    assert names(made(), facts(RED_THEN_GREEN, dispositions=more)) == ["no_case"]
    assert names(made(), facts(RED_THEN_GREEN, dispositions=more, uncovered={7})) == []


def test_the_day_of_an_unknown_number_lies_between_its_neighbours() -> None:
    numbers = TOOL.Numbers({100: date(2020, 1, 1), 300: date(2026, 1, 1)})
    assert (numbers.earliest(200), numbers.latest(200)) == (date(2020, 1, 1), date(2026, 1, 1))
    assert (numbers.earliest(100), numbers.latest(100)) == (date(2020, 1, 1), date(2020, 1, 1))
    assert (numbers.earliest(1), numbers.latest(999)) == (date.min, date.max)


@pytest.mark.parametrize(
    "entry",
    [
        'flag = "never_red"\nreason = "x"',
        'flag = "never_red"\ncase = "a"\nreason = " "',
        'flag = "never_red"\nwhy = "x"',
        'flag = "not_read"\ncase = "a"\nreason = "x"',
        'flag = "no_disposition"\nitem = 7\nreason = "x"',
    ],
)
def test_an_exception_without_reason_or_place_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="exception 1"):
        TOOL.read_excuses(f"[[exception]]\n{entry}")


def test_an_exception_for_a_device_covers_its_cases_and_no_others() -> None:
    excuses = TOOL.read_excuses('[[exception]]\nflag = "never_tested"\nneeds = "mps"\nreason = "none here"')
    flags = [TOOL.Flag("never_tested", "a", 0, "", ("mps",)), TOOL.Flag("never_tested", "b", 0, "", ("cuda",))]
    assert TOOL.unexplained(flags, excuses) == ([flags[1]], [])
    assert TOOL.unexplained([], excuses) == ([], excuses)
