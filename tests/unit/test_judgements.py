"""The file of judgements: each line is an answer to a known question, in its place; and what is counted of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers import judgements, resources
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GOOD: dict[str, Any] = {
    "subject": "item:1",
    "question": "disposition",
    "item": 1,
    "answer": "fixed",
    "reader": "automated:reader",
    "blind": False,
    "day": "2026-11-21",
    "reason": "a pull request names it",
    "facts": {
        "evidence_kind": "closing_pr",
        "evidence_ref": "#2",
        "evidence_date": "2024-01-02",
        "thread_read": "whole",
        "confidence": 0.9,
    },
}
FIX_TEST = GOOD | {"subject": "fix_test:fix1", "question": "shows_bug", "answer": "right", "day": None, "facts": None}
LABEL = {"question": "label:bug_type", "answer": "memory", "facts": {}}
CASE = GOOD | {"subject": "case:pt1_x", "question": "faithful", "answer": "sibling", "facts": {"thread_read": "no"}}


def text(*rows: dict[str, Any] | str) -> str:
    kept = [
        row if isinstance(row, str) else {key: value for key, value in row.items() if key == "day" or value is not None}
        for row in rows
    ]
    return "".join(row + "\n" if isinstance(row, str) else json.dumps(row) + "\n" for row in kept)


def changed(row: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """A row with other facts; those that are None are left out."""
    return row | {"facts": {key: value for key, value in (row["facts"] | facts).items() if value is not None}}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: Invalid JSON"),
        ("[" * 100_000, "line 2: Invalid JSON: recursion limit exceeded"),
        ("[1]", "line 2: Input should be an object"),
        ("", "line 2 is empty"),
        ('{"subject": "\udcff"}', "line 2: Invalid JSON: invalid unicode code point at column"),
        (text(GOOD | {"item": 6, "subject": "item:6"}).strip() + " ", "line 2: write each key once and in the order"),
        (text(FIX_TEST).strip()[:-1] + ', "item": 1}', "line 2: write each key once and in the order"),
        ({"more": 1}, "line 2: more: Extra inputs"),
        ({"question": "why"}, "line 2: question 'why' is not in data/judgements.toml"),
        ({"question": "label"}, "line 2: question 'label' is not in"),
        ({"question": "relation:x"}, "line 2: question 'relation:x' is not in"),
        ({"answer": "solved"}, "line 2: answer 'solved' to disposition: say fixed, declined"),
        (LABEL | {"answer": "no_such_class"}, "line 2: answer 'no_such_class' to label:bug_type: say not_a_bug, "),
        (LABEL | {"question": "label:nonsense"}, "line 2: question 'label:nonsense': the schemes are bug_type, "),
        (
            CASE | {"facts": {"thread_read": "all of it"}},
            "line 2: thread_read: Input should be 'whole', 'partly' or 'no'",
        ),
        (CASE | {"facts": {"decides": "maybe"}}, "line 2: decides: Input should be a valid boolean"),
        (CASE | {"facts": {"thread": "whole"}}, "line 2: thread: Extra inputs"),
        (CASE | {"day": None}, "line 2: day: only readings of fix tests may be without one"),
        ({"subject": "case:pt1"}, "line 2: subject 'case:pt1': disposition wants 'item:' and what was read"),
        ({"subject": "item:4"}, "line 2: subject 'item:4': disposition wants 'item:' and the item's number, 6"),
        ({"item": True}, "line 2: item: "),
        ({"item": 0}, "line 2: item: "),
        ({"item": 1 << 40}, "line 2: item: "),
        ({"reader": "reader"}, "line 2: reader: write automated:NAME or human:NAME"),
        ({"reader": "human: "}, "line 2: reader: blank"),
        ({"blind": 1}, "line 2: blind: "),
        ({"reason": "   "}, "line 2: reason: blank"),
        ({"reason": "a\n| b"}, "line 2: reason: a line feed"),
        ({"reason": "a | b"}, "line 2: reason: a line feed, another control character or a bar"),
        ({"reason": "a\u2028b"}, "line 2: reason: a line feed"),
        ({"day": "about 2024-01-01"}, "line 2: day: .* is no day of the form"),
        ({"day": "2024-13-45"}, "line 2: day: month must be in 1..12"),
        ({"day": "2015-12-31"}, "line 2: day: 2015-12-31 is before 2016-01-01"),
    ],
)
def test_a_line_that_is_no_answer_is_named(line: dict[str, Any] | str, message: str) -> None:
    first = GOOD | {"item": 5, "subject": "item:5"}
    second = line if isinstance(line, str) else GOOD | {"item": 6, "subject": "item:6"} | line
    with pytest.raises(InputError, match=f"data/judgements.jsonl, {message}"):
        judgements.read(text(first, second).encode(errors="surrogateescape"))


@pytest.mark.parametrize("later", [{"item": 4, "subject": "item:4"}, {"reader": "automated:another"}, {}])
def test_two_lines_that_are_not_in_order_are_named(later: dict[str, Any]) -> None:
    first = GOOD | {"item": 5, "subject": "item:5"}
    with pytest.raises(InputError, match=r"data/judgements.jsonl: lines 1 and 2 are not in the order of subject"):
        judgements.read(text(first, first | later).encode())


def test_no_clock_decides_whether_a_day_is_accepted() -> None:
    assert judgements.read(text(GOOD | {"day": "2199-01-01"}).encode())


@pytest.mark.parametrize(
    ("answer", "facts", "message"),
    [
        ("duplicate", {}, "duplicate_of goes with"),
        ("duplicate", {"duplicate_of": 1}, "duplicate_of names the issue itself"),
        ("fixed", {"evidence_kind": None}, "disposition fixed without evidence_kind"),
        ("fixed", {"more": 1}, "more: Extra inputs"),
        ("fixed", {"confidence": 2}, "confidence: "),
        ("fixed", {"confidence": 0}, "disposition fixed with confidence 0"),
        ("fixed", {"evidence_ref": "nonsense"}, "evidence_ref: write #123, owner/name#123, a commit or"),
        ("fixed", {"evidence_ref": "#1"}, "evidence_ref names the issue itself"),
        ("fixed", {"evidence_ref": "https://example.org/\x1b[31m"}, "evidence_ref"),
        ("fixed", {"evidence_ref": "https://example.org/<script>"}, "evidence_ref"),
        ("fixed", {"evidence_date": "2024-13-45"}, "evidence_date: month must be in 1..12"),
        ("fixed", {"evidence_date": "2026-11-22"}, "evidence_date 2026-11-22 is later than the reading, 2026-11-21"),
        ("fixed", {"evidence_date": None, "evidence_ref": None}, "disposition fixed with neither evidence_ref nor"),
        ("unknown", {}, "disposition unknown with evidence_kind closing_pr"),
        ("fixed", {"evidence_kind": "not_reproduced"}, "disposition fixed with evidence_kind not_reproduced"),
        ("unknown", {"evidence_kind": "not_reproduced", "evidence_ref": None}, "not_reproduced without a sentence"),
        ("fixed", {"thread_read": "no", "evidence_kind": "comment"}, "disposition fixed by comment with thread_read"),
        ("fixed", {"thread_read": "no", "evidence_date": None}, "disposition fixed by closing_pr with thread_read no"),
        ("fixed", {"thread_read": "no", "evidence_ref": None}, "disposition fixed by closing_pr with thread_read no"),
    ],
)
def test_a_disposition_that_contradicts_its_evidence_is_named(answer: str, facts: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"line 1: .*{message}"):
        judgements.read(text(changed(GOOD | {"answer": answer}, facts)).encode())


@pytest.mark.parametrize(
    ("answer", "facts"),
    [
        ("fixed", {"evidence_date": None}),
        ("fixed", {"evidence_ref": None}),
        ("fixed", {"thread_read": "no"}),
        ("unknown", {"evidence_kind": None, "confidence": 0}),
        ("unknown", {"evidence_kind": "not_reproduced"}),
        ("unknown", {"evidence_kind": None, "thread_read": "no"}),
        ("declined", {"thread_read": "no", "evidence_kind": "state_reason", "evidence_date": None}),
    ],
)
def test_what_can_be_seen_is_accepted(answer: str, facts: dict[str, Any]) -> None:
    assert len(judgements.read(text(changed(GOOD | {"answer": answer}, facts)).encode())) == 1


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make these rows the file."""
    cached = (judgements.fix_test_answers, judgements._case_readings)
    kept = resources.data_file

    def give(*rows: dict[str, Any]) -> None:
        (tmp_path / judgements.FILE).write_text(text(*rows), encoding="utf-8")
        monkeypatch.setattr(
            resources, "data_file", lambda name: (tmp_path if name == judgements.FILE else kept("")) / name
        )
        for function in cached:
            monkeypatch.setattr(judgements, function.__name__, function.__wrapped__)

    return give


def test_readers_of_a_fix_test_that_differ_are_unclear_and_an_answer_that_rests_on_a_run_settles(
    given: Callable[..., None],
) -> None:
    by = [FIX_TEST | {"reader": f"automated:{name}"} for name in "abc"]
    given(by[0] | {"answer": "wrong"}, by[1], by[0] | {"day": "2026-11-21"}, FIX_TEST | {"subject": "fix_test:fix2"})
    assert judgements.fix_test_answers() == {"shows_bug": {"fix1": "right", "fix2": "right"}, "shows_bug_again": {}}
    differ = (by[0], by[1] | {"answer": "wrong"})
    given(*differ)
    assert judgements.fix_test_answers()["shows_bug"] == {"fix1": "unclear"}
    given(*differ, by[2] | {"answer": "wrong", "facts": {"by_run": "the call of the issue on 2.15.0"}})
    assert judgements.fix_test_answers()["shows_bug"] == {"fix1": "wrong"}


def test_the_newest_reading_of_a_case_counts_and_one_that_was_blind_does_not(given: Callable[..., None]) -> None:
    later = CASE | {"day": "2026-11-22", "facts": {"thread_read": "whole", "other_cause": "a", "decides": False}}
    blind = CASE | {"day": "2026-11-23", "blind": True, "answer": "wrong"}
    given(CASE, later, blind, CASE | {"question": "relation", "answer": "none"})
    reading = judgements.readings_of("pytorch/pytorch", 1)["pt1_x"]
    assert reading == judgements.Reading(
        "sibling", CASE["reason"], "a", decides=False, thread_read="whole", reader="automated:reader", day="2026-11-22"
    )
    assert judgements.readings_of("a/b", 1) == {}
    kept = judgements.ask("SELECT day, relation, decides FROM case_readings WHERE NOT is_newest")
    assert kept == [{"day": "2026-11-21", "relation": "none", "decides": True}]


def test_a_relation_alone_is_a_reading_of_a_case(given: Callable[..., None]) -> None:
    given({key: value for key, value in CASE.items() if key != "facts"} | {"question": "relation", "answer": "same"})
    reading = judgements.readings_of("pytorch/pytorch", 1)["pt1_x"]
    assert (reading.answer, reading.thread_read, reading.decides) == ("unsure", "no", True)
    read = "Read by an automated annotator (reader, without the thread, 2026-11-21)."
    assert reading.text == f"{CASE['reason']}. {read}"


# ---- the shipped file -----------------------------------------------------------------------------------------------


def test_every_question_of_the_shipped_file_is_about_what_its_name_says() -> None:
    assert judgements.read(resources.data_file(judgements.FILE).read_bytes())
    for row in judgements.ask("FROM judgements WHERE subject LIKE 'fix_test:%'"):
        assert re.fullmatch(r"fix_test:fix\d+_[0-9a-f]{8}_[0-9a-f]{4}_.+", row["subject"]), row


def test_what_nobody_read_counts_as_no_reading_of_a_reader() -> None:
    drawn = judgements.ask(
        "SELECT DISTINCT reader, answer, blind FROM judgements WHERE 'automated:draw' = reader OR answer = 'not_read'"
    )
    assert drawn == [{"reader": "automated:draw", "answer": "not_read", "blind": False}]


SAMPLE = """
SELECT item, answer, facts ->> 'draw' AS draw, facts ->> 'review' AS review, facts ->> '$.reproduced[0]' AS reproduced,
  coalesce(reproduced, facts ->> '$.reproduced_before[0]', facts ->> '$.reproduced_first[0]') IS NOT NULL AS called,
  (SELECT list(m.reader) FROM judgements m WHERE m.subject = j.subject AND m.question = 'match' AND m.reader = j.reader) AS matched,
  (SELECT list(s.answer) FROM judgements s WHERE s.subject = j.subject AND s.question = j.question AND s.reader <> j.reader) AS second
FROM judgements j WHERE question = 'right_expectation' AND draw IS NOT NULL
"""


def test_the_drawn_scripts_are_whole_and_every_claim_of_the_first_draws_has_a_second_reader() -> None:
    sample = judgements.ask(SAMPLE)
    assert [sum(row["draw"] == draw for row in sample) for draw in "123"] == [60, 60, 60]
    assert len({row["item"] for row in sample}) == 180
    for row in sample:
        assert (row["answer"] == "abstained") is bool(row["review"]), row
        assert bool(row["matched"]) is row["called"], row
        assert not (row["reproduced"] and row["review"]), "a script that needs review is evidence for nothing"
        if row["draw"] != "3":  # one reader alone, as the page says
            assert bool(row["second"]) is (row["answer"] != "abstained" or bool(row["matched"])), row


def test_reduced_scripts_are_smaller() -> None:
    sizes = (
        "SELECT (facts -> 'after')::INT AS after, (facts -> 'before')::INT AS before, (facts -> 'tests')::INT AS tests"
    )
    for row in judgements.ask(f"{sizes} FROM judgements WHERE question = 'still_the_bug'"):
        assert 0 < row["after"] < row["before"]
        assert row["tests"] > 0


def test_no_evidence_is_older_than_its_issue_and_no_disposition_is_of_a_pull_request() -> None:
    lines = map(json.loads, resources.data_file("catalog.jsonl").read_text(encoding="utf-8").splitlines())
    entries = {entry["number"]: entry for entry in lines}
    for row in judgements.ask(
        "SELECT item, facts ->> 'evidence_date' AS seen FROM judgements WHERE question = 'disposition'"
    ):
        entry = entries.get(row["item"], {})
        assert entry.get("kind") != "pull", row
        assert not row["seen"] or row["seen"] >= (entry.get("created_at") or ""), row
