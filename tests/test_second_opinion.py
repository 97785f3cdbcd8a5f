"""A second opinion says what runs show of an item, and no more than they show."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from support import assert_clean_error, run_embers
from torch_embers.run.item_report import ItemReport
from torch_embers.run.matrix import Entry
from torch_embers.run.script import script_of
from torch_embers.run.second_opinion import as_table, lead, limits, markdown, opinion_on
from torch_embers.store.store import Store

VERSIONS = ("2.0.1", "2.1.2", "2.2.2")
LETTERS = {"Y": "occurs", "n": "absent", "o": "not_seen", "-": "untestable", "c": "changed"}


def entry(case: str, build: str, verdict: str) -> Entry:
    hits, runs = (3, 3) if verdict == "occurs" else (0, 4)
    control = ("build", "2.0.1", 10, 10) if verdict in ("occurs", "absent") else ("none", None, 0, 0)
    rate = 0.68 if verdict == "absent" else None
    at = datetime(2026, 11, 22, tzinfo=UTC)
    return Entry(
        case,
        "a/b#7",
        build,
        "cpu, X, AVX2, Linux",
        verdict,
        hits not in (0, runs),
        hits,
        runs,
        rate,
        *control,
        "off by 3",
        at,
    )


def report(histories: dict[str, str], state: str = "closed", disposition: str = "fixed", **more: Any) -> ItemReport:
    """An item with cases; a name that begins with ``sibling`` or ``x`` has that relation or origin."""
    facts = {
        "title": "A @title", "kind": "issue", "state": state, "disposition": disposition, "closing_evidence": "a comment"
    }  # fmt: skip
    cases = [
        {
            "name": name,
            "origin": "extracted" if name.startswith("x") else "curated",
            "relation": "sibling" if name.startswith("sibling") else "same",
            "script": script_of(name, "curated", "import torch\nprint(1)\n"),
        }
        for name in histories
    ]
    verdicts = [
        entry(name, build, LETTERS[letter])
        for name, letters in histories.items()
        for build, letter in zip(VERSIONS, letters, strict=True)
    ]
    links = [{"repo": "a/b", "number": 8, "kinds": [{"relation": "fixes", "inward": True}]}]
    return ItemReport("a/b", 7, facts | more, [], [], links, cases, [], [], verdicts)


@pytest.mark.parametrize(
    ("histories", "conclusion", "contradicts"),
    [
        ({"own": "YYY"}, "still occurs", True),
        ({"own": "Ynn"}, "no longer occurs", False),
        ({"sibling": "YYY"}, "cannot be concluded", False),
        ({"x7": "YYY"}, "cannot be concluded", False),
        ({"own": "ooo"}, "cannot be concluded", False),
        ({"own": "Y--"}, "cannot be concluded", False),
        ({"own": "Ync"}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "YYY"}, "still occurs", True),
        ({"own": "Ynn", "other": "ooo"}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "---"}, "no longer occurs", False),
        ({"own": "Ynn", "sibling": "YYY"}, "no longer occurs", False),
    ],
)
def test_only_reviewed_cases_of_the_report_itself_decide(
    histories: dict[str, str], conclusion: str, contradicts: bool
) -> None:
    made = opinion_on(report(histories))
    assert (made.conclusion, made.contradicts) == (conclusion, contradicts)


@pytest.mark.parametrize(
    "more", [{"state": "open"}, {"disposition": "declined"}, {"disposition": None}, {"kind": "pull"}]
)
def test_only_an_issue_that_was_closed_as_fixed_can_be_contradicted(more: dict[str, Any]) -> None:
    made = opinion_on(report({"own": "YYY"}, **more))
    assert made.conclusion == "still occurs"
    assert not made.contradicts


def test_the_last_build_with_the_bug_and_the_first_without_are_named() -> None:
    made = opinion_on(report({"own": "YYn"}))
    assert (made.cases[0].last_with, made.cases[0].first_without) == ("2.1.2", "2.2.2")
    assert lead(made).endswith("Last seen on 2.1.2, not on 2.2.2.")
    assert opinion_on(report({"own": "YYY"})).cases[0].first_without is None


def test_the_text_to_paste_has_evidence_limits_and_notifies_nobody() -> None:
    made = opinion_on(
        report({"own": "YYn", "sibling": "YYY"}), "print('reported')", bisected={"own": "Fixed in 2.2.2."}
    )
    text = markdown(made)
    for part in (
        "Does this still occur?",
        "10/10 on 2.0.1",
        "0/4",
        "Fixed in 2.2.2.",
        "print('reported')",
        "SHA-256",
        "cpu, X",
    ):
        assert part in text, part
    assert "@title" not in text
    assert "redirect.github.com/a/b/issues/8" in text
    assert any("68%" in line for line in limits(made))
    assert as_table(made)["said_to_fix"] == ["a/b#8"]
    assert "No reviewed case" in markdown(opinion_on(report({"sibling": "YYY"}), not_extracted="no code"))


def test_an_item_without_a_verdict_is_one_clean_line(tmp_path: Any) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    assert_clean_error(run_embers("second-opinion", "5", "--database", store.path), 3, "#5")


def test_a_control_on_another_processor_is_named_among_the_limits() -> None:
    whole = report({"own": "Ynn"})
    verdicts = [replace(e, environment="cpu, X, AVX512, Linux") if e.build == "2.2.2" else e for e in whole.verdicts]
    assert any("the kernel path may be" in line for line in limits(opinion_on(replace(whole, verdicts=verdicts))))
    assert not any("the kernel path may be" in line for line in limits(opinion_on(whole)))
