"""Cases that look as if they were about something else than their issue: tools/case_flags.py and its SQL."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

import support
from torch_embers import judgements

if TYPE_CHECKING:
    import duckdb

TOOL: Any = support.tool("case_flags")
NUMBER = 200
DAYS = {"1.13.1": date(2022, 12, 15), "2.1.2": date(2023, 12, 14), "2.6.0": date(2025, 1, 29)}
ENTRY = {"number": NUMBER, "kind": "issue", "state": "closed", "opened": date(2024, 1, 1), "is_slow": False}
CLOSED = {"answer": "fixed", "evidence_kind": "commit", "evidence_ref": "#2", "evidence_date": "2024-01-01"}
UNKNOWN: dict[str, Any] = {"answer": "unknown"}
READ = {"answer": "faithful", "thread_read": "whole", "decides": True}
RED_THEN_GREEN = {"1.13.1": "occurs", "2.1.2": "occurs", "2.6.0": "absent"}
GREEN_THEN_RED = {"1.13.1": "absent", "2.1.2": "absent", "2.6.0": "occurs"}
THERE = dict.fromkeys(DAYS, "occurs")
UNTESTABLE = dict.fromkeys(DAYS, "untestable")


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Flags of one case ``a`` of item 200, with what is known of them."""

    def flags(
        verdicts: dict[str, str],
        entry: dict[str, Any] | None = None,
        closing: dict[str, Any] | None = UNKNOWN,
        reading: dict[str, Any] | None = READ,
        others: tuple[dict[str, Any], ...] = (),
        closed: tuple[int, ...] = (NUMBER,),
        tables: dict[str, Any] | None = None,
        relation: str | None = "same",
        **case: Any,
    ) -> list[tuple[str, int]]:
        def define(connection: duckdb.DuckDBPyConnection) -> None:
            connection.execute(
                "CREATE TABLE judgements (item INT, question VARCHAR, answer VARCHAR, reader VARCHAR, day VARCHAR, facts JSON)"
            )
            connection.execute(
                'CREATE TABLE case_readings ("case" VARCHAR, number INT, answer VARCHAR, relation VARCHAR, thread_read VARCHAR, decides BOOL, line INT, is_newest BOOL)'
            )
            for number in closed if closing else ():
                facts = {name: value for name, value in (closing or {}).items() if name != "answer"}
                row = [number, "disposition", closing and closing["answer"], "automated:x", "2026-01-01", facts]
                connection.execute("INSERT INTO judgements VALUES (?, ?, ?, ?, ?, ?)", row)
            if reading:
                said = {"case": "a", "number": NUMBER, "relation": relation} | reading
                values = "$case, $number, $answer, $relation, $thread_read, $decides, 7, true"
                connection.execute(f"INSERT INTO case_readings VALUES ({values})", said)

        monkeypatch.setattr(judgements, "define", define)
        rows = {
            "cases": [{"name": "a", "kind": "bug", "fixed_in": None, "needs": []} | case],
            "pairs": [{"name": "a", "number": NUMBER, "relation": relation}],
            "verdicts": [{"name": "a", "release": at, "verdict": verdict} for at, verdict in verdicts.items()],
            "releases": [{"release": at, "released": day} for at, day in DAYS.items()],
            "catalog": [ENTRY | (entry or {}), *others],
            "uncovered": [],
            "unmeasured": [],
        }
        return [(flag["flag"], flag["item"]) for flag in TOOL.flags(rows | (tables or {}))]

    return flags


@pytest.mark.parametrize(
    ("verdicts", "more", "flags"),
    [
        (RED_THEN_GREEN, {"fixed_in": "2.6.0"}, []),
        (RED_THEN_GREEN, {"fixed_in": "2.1.2"}, ["fixed_before_report"]),
        (GREEN_THEN_RED, {}, ["never_red"]),
        # a report older than all releases is held against the oldest one
        (RED_THEN_GREEN, {"entry": {"opened": date(2021, 1, 1)}}, []),
        (RED_THEN_GREEN | {"1.13.1": "not_seen"}, {"entry": {"opened": date(2021, 1, 1)}}, ["never_red"]),
        (UNTESTABLE, {}, ["never_tested"]),
        ({}, {}, ["never_tested"]),
        (RED_THEN_GREEN, {"entry": {"kind": "pull"}}, ["only_pull_requests"]),
        (RED_THEN_GREEN, {"closing": None}, ["no_disposition"]),
        (UNTESTABLE, {"closing": None}, ["never_tested", "no_disposition"]),
        (RED_THEN_GREEN, {"closing": None, "entry": {"state": "open"}}, []),
        # a headline needs its evidence and a faithful reading
        (THERE, {"closing": CLOSED}, []),
        (THERE, {"closing": CLOSED | {"evidence_ref": None}}, ["headline_evidence"]),
        (THERE, {"closing": CLOSED, "reading": READ | {"answer": "unsure"}}, ["headline_evidence"]),
        # a case that a reader set aside, or whose reader saw no thread, is not the report's own
        (RED_THEN_GREEN, {"reading": READ | {"decides": False}}, ["set_aside"]),
        (RED_THEN_GREEN, {"reading": READ | {"decides": False}, "relation": "sibling"}, []),
        (RED_THEN_GREEN, {"reading": READ | {"thread_read": "no"}}, ["not_read"]),
        # the case and its newest reader say the same of the item
        (RED_THEN_GREEN, {"reading": None}, ["not_read", "other_relation"]),
        (RED_THEN_GREEN, {"reading": None, "relation": "sibling"}, ["other_relation"]),
        (RED_THEN_GREEN, {"reading": READ | {"relation": "sibling"}}, ["other_relation"]),
        (RED_THEN_GREEN, {"reading": READ | {"relation": None}}, ["other_relation"]),
        (
            RED_THEN_GREEN,
            {"reading": READ | {"case": "none_of_the_bank"}},
            ["not_read", "other_relation", "other_relation"],
        ),
        (RED_THEN_GREEN, {"reading": READ | {"relation": "none"}, "relation": None}, []),
        # a case about time has no verdicts: only its closing is looked at
        ({}, {"kind": "timing", "closing": None, "reading": None}, ["no_disposition"]),
    ],
)
def test_a_case_is_doubted_by_its_verdicts_and_what_is_known_of_its_item(
    found: Any, verdicts: dict[str, str], more: dict[str, Any], flags: list[str]
) -> None:
    assert [name for name, _ in found(verdicts, **more)] == flags


def test_the_day_of_an_unknown_number_lies_between_its_neighbours(found: Any) -> None:
    unknown = {"number": 100, "opened": date(2023, 12, 1)}
    later = (ENTRY | {"number": 300, "opened": date(2026, 1, 1)},)
    assert found(RED_THEN_GREEN, entry=unknown, others=later, fixed_in="2.6.0") == []
    assert found(GREEN_THEN_RED, entry=unknown, others=later) == [], "it may have been reported when 2.6.0 was out"
    early = {"number": 100, "opened": date(2025, 6, 1)}
    assert found(RED_THEN_GREEN, entry=early, fixed_in="2.6.0") == [("fixed_before_report", NUMBER)]


def test_an_item_about_performance_has_a_case_or_a_reason_and_not_both(found: Any) -> None:
    slow = tuple(ENTRY | {"number": number, "is_slow": True, "state": "open"} for number in (250, 260))
    tables = {"unmeasured": [{"number": number} for number in (NUMBER, 260, 270)]}
    assert found(RED_THEN_GREEN, others=slow, tables=tables) == [("no_times", number) for number in (NUMBER, 250, 270)]


def test_a_disposition_needs_a_case_or_a_reason_why_there_is_none(found: Any) -> None:
    assert found(RED_THEN_GREEN, closed=(NUMBER, 7)) == [("no_case", 7)]
    assert found(RED_THEN_GREEN, closed=(NUMBER, 7), tables={"uncovered": [{"number": 7}]}) == []


@pytest.mark.parametrize(
    "entry",
    [
        {"flag": "never_red", "reason": "x"},
        {"flag": "never_red", "case": "a", "reason": " "},
        {"flag": "never_red", "case": "a"},
        {"flag": "not_read", "case": "a", "reason": "x"},
    ],
)
def test_an_exception_without_reason_or_place_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Excuse"):
        TOOL.Excuse(**entry)


def test_an_exception_for_a_device_covers_its_cases_and_no_others() -> None:
    excuse = TOOL.Excuse(flag="never_tested", needs="mps", reason="none here")
    flag = {"flag": "never_tested", "case": "a", "item": 0, "needs": ["mps"]}
    assert excuse.covers(flag)
    assert not excuse.covers(flag | {"needs": ["cuda"]})
    assert not excuse.covers(flag | {"flag": "never_red"})
