"""A second opinion says what runs show of an item, and no more than they show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from markdown_it import MarkdownIt

from support import assert_clean_error, run_embers
from torch_embers.run.item_report import ItemReport, comment
from torch_embers.run.matrix import Entry
from torch_embers.run.readings import Reading, readings_of
from torch_embers.run.script import script_of
from torch_embers.run.second_opinion import Bisected, opinion_on, reported
from torch_embers.run.second_opinion_text import as_table, history, lead, limits, markdown, short
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
        "title": "A @title", "kind": "issue", "state": state, "disposition": disposition,
        "closing_evidence": "a comment", "closing_kind": "comment",
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
        if letter != " "
    ]
    links = [{"repo": "a/b", "number": 8, "kinds": [{"relation": "fixes", "inward": True}]}]
    return ItemReport("a/b", 7, facts | more, [], [], links, cases, [], [], verdicts)


@pytest.mark.parametrize(
    ("histories", "conclusion", "contradicts"),
    [
        ({"own": "YYY"}, "still occurs", True),
        ({"own": "Ynn"}, "no longer seen", False),
        ({"sibling": "YYY"}, "cannot be concluded", False),
        ({"x7": "YYY"}, "cannot be concluded", False),
        ({"own": "ooo"}, "cannot be concluded", False),
        ({"own": "Y--"}, "cannot be concluded", False),
        ({"own": "Ync"}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "YYY"}, "still occurs", True),
        ({"own": "Ynn", "other": "ooo"}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "---"}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "   "}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "Y  "}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "YYY", "sibling": "   "}, "still occurs", True),
        ({"own": "Ynn", "sibling": "YYY"}, "no longer seen", False),
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


def test_an_issue_that_was_closed_as_not_reproduced_is_contradicted_by_its_own_case() -> None:
    said = {"disposition": "unknown", "closing_kind": "not_reproduced"}
    assert opinion_on(report({"own": "YYY"}, **said)).contradicts
    assert not opinion_on(report({"own": "YYY"}, **(said | {"closing_kind": None}))).contradicts
    assert not opinion_on(report({"own": "Ynn"}, **said)).contradicts


def test_the_last_build_with_the_bug_and_the_first_without_are_named() -> None:
    made = opinion_on(report({"own": "YYn"}))
    assert (made.cases[0].last_with, made.cases[0].first_without) == ("2.1.2", "2.2.2")
    assert "Last seen on 2.1.2, first not seen on 2.2.2." in lead(made)
    assert opinion_on(report({"own": "YYY"})).cases[0].first_without is None


def test_the_text_to_paste_has_evidence_limits_and_notifies_nobody() -> None:
    made = opinion_on(
        report({"own": "YYn", "sibling": "YYY"}),
        "print('reported')",
        bisected={"own": Bisected("fixed", "Fixed in 2.2.2.")},
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
    assert "No case may speak for this report" in markdown(
        opinion_on(report({"sibling": "YYY"}), not_extracted="no code")
    )


def test_an_item_without_a_verdict_is_one_clean_line(tmp_path: Any) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    assert_clean_error(run_embers("second-opinion", "5", "--database", store.path), 3, "#5")


def test_a_run_older_than_the_newest_release_here_contradicts_no_closing() -> None:
    made = opinion_on(report({"own": "Y  "}), release="2.2.2")
    assert (made.conclusion, made.contradicts) == ("cannot be concluded", False)
    assert any("own was not run on 2.2.2" in line for line in limits(made))
    assert opinion_on(report({"own": "YYY"}), release="2.1.2").contradicts


@pytest.mark.parametrize("order", ["Yn", "nY"])
def test_of_two_environments_the_one_that_shows_the_bug_decides_and_both_are_named(order: str) -> None:
    whole = report({"own": "Yn" + order[0]})
    other = replace(entry("own", "2.2.2", LETTERS[order[1]]), environment="cpu, X, AVX512, Linux")
    made = opinion_on(replace(whole, verdicts=[*whole.verdicts, other]))
    assert (made.conclusion, made.contradicts) == ("still occurs", True)
    assert (made.cases[0].last_with, made.cases[0].history.kind) == ("2.2.2", "several")
    [said] = [line for line in limits(made) if "depends on the environment" in line]
    assert "occurs 3/3 with cpu, X" in said
    assert "absent 0/4 with cpu, X" in said
    assert "clean in another environment" in made.cases[0].history.replies[2].detail


def test_the_commits_of_a_bisection_say_which_change_is_named_as_the_fix() -> None:
    commits = tuple(
        {"sha": sha * 40, "pull": pull, "subject": subject, "files": ["x.cpp"], "names_the_issue": names}
        for sha, pull, subject, names in (("a", 9, "Mend @it", True), ("b", None, "Speed up", False))
    )
    found = Bisected("fixed", "Gone since 2.2.2.", ("2.1.2", "2.2.2"), "by tags", 700, commits)
    made = opinion_on(report({"own": "YYn"}), bisected={"own": found})
    said = markdown(made)
    assert "one of 700 commits between 2.1.2 and 2.2.2" in said
    assert re.search(r"named there as the fix of this issue: \S*/9\) a{12}, Mend", said)
    assert "likeliest" not in said
    assert as_table(made)["cases"][0]["commits"]["likeliest"][0]["files"] == ["x.cpp"]
    assert "Fixed by" in short(made)
    unnamed = Bisected("fixed", "Gone since 2.2.2.", ("2.1.2", "2.2.2"), "by tags", 700, commits[1:])
    made = opinion_on(report({"own": "YYn"}), bisected={"own": unnamed})
    assert "issue: none. None of them" in markdown(made)
    assert "The likeliest by files and words shared with the case: bbbbbbbbbbbb, Speed up." in markdown(made)
    assert "Fixed by" not in short(made), "that #8 is named as the fix is not that it is"


@pytest.mark.parametrize(
    ("histories", "first", "others"),
    [
        ({"own": "YYY"}, "This issue still reproduces on PyTorch 2.2.2.", ["3 of 3 runs showed it (cpu, X"]),
        (
            {"own": "YYn"},
            "This issue no longer reproduces on PyTorch 2.2.2.",
            ["0 of 4 runs showed it; of the control on 2.0.1 10 of 10", "Named as the fix: ", "last seen on 2.1.2"],
        ),
        ({"own": "ooo"}, "Whether this issue still reproduces cannot be concluded. ", ["no build here shows"]),
        ({"sibling": "YYY"}, "Whether this issue still reproduces cannot be concluded. ", ["No case may speak"]),
    ],
)
def test_the_short_form_is_that_of_the_triage_skill_and_says_no_more(
    histories: dict[str, str], first: str, others: list[str]
) -> None:
    said = short(opinion_on(report(histories)))
    assert said.startswith(first)
    for part in others:
        assert part.lower() in said.lower(), part
    assert said.rstrip().endswith("Whoever posts it has read it.)")
    assert ("Minimized repro" in said) is first.startswith("This issue")


def test_a_clean_build_says_whether_its_control_is_rare_or_missing() -> None:
    whole = report({"own": "Y o"})
    rare = [replace(e, control="build", control_build="2.0.1", control_k=2, control_n=10) for e in whole.verdicts]
    [said] = [line for line in limits(opinion_on(replace(whole, verdicts=rare))) if "was clean" in line]
    assert "too rarely (2/10 on 2.0.1)" in said
    assert "no build here" not in said
    assert any("no build here shows the failure" in line for line in limits(opinion_on(report({"own": "ooo"}))))


def test_a_bisection_that_verdicts_contradict_is_left_out() -> None:
    made = opinion_on(
        report({"own": "YYn"}), bisected={"own": Bisected("always", "The bug is there on every tested build.")}
    )
    assert made.cases[0].bisected is None
    assert "every tested build" not in markdown(made)


def test_a_control_on_another_processor_is_named_among_the_limits() -> None:
    whole = report({"own": "Ynn"})
    verdicts = [replace(e, environment="cpu, X, AVX512, Linux") if e.build == "2.2.2" else e for e in whole.verdicts]
    assert any("Another kernel, and no fix," in line for line in limits(opinion_on(replace(whole, verdicts=verdicts))))
    assert not any("Another kernel, and no fix," in line for line in limits(opinion_on(whole)))


READING = Reading(
    "faithful", "Report and case sum ones", "", decides=True, thread_read="partly", annotator_kind="automated",
    annotator="reader-1", read_on="2026-11-22"
)  # fmt: skip


def test_what_was_not_seen_any_more_is_not_called_fixed_and_stands_with_its_control() -> None:
    made = opinion_on(report({"own": "YYn"}, disposition="unknown", closing_evidence=None))
    text = markdown(made)
    assert "not seen any more on PyTorch 2.2.2: 0 of 4 runs showed it; of the control on 2.0.1 10 of 10 did" in lead(
        made
    )
    claims = [line for line in text.splitlines() if "fixed" in line]
    assert claims == ["- " + line for line in limits(made) if "does not say that it was fixed" in line]
    assert "closed; why was not read" in text


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("YYn", "Seen on 2.0.1 to 2.1.2; not seen on 2.2.2 (3 builds run)."),
        ("nY-", "Not seen on 2.0.1; seen on 2.1.2; undecided on 2.2.2 (3 builds run)."),
        ("Y  ", "Seen on 2.0.1 (1 build run)."),
        ("   ", "Not run."),
    ],
)
def test_the_history_says_on_which_builds_it_was_seen(letters: str, said: str) -> None:
    assert history(opinion_on(report({"own": letters})).cases[0]) == said


def test_the_reading_beside_the_report_is_shown_with_its_doubt_and_the_kind_of_its_reader() -> None:
    doubted = replace(READING, doubt="no gradient is computed")
    made = opinion_on(report({"own": "YYn"}), readings={"own": doubted})
    text = markdown(made)
    assert "Report and case sum ones. Doubt: no gradient is computed. Read by an automated annotator (reader-1" in text
    assert "A reader doubts a part of it" in lead(made)
    assert "own, doubt of the reader: no gradient is computed" in limits(made)
    assert as_table(made)["cases"][0]["doubt"] == "no gradient is computed"
    assert "doubts" not in lead(opinion_on(report({"own": "YYn"}), readings={"own": READING}))
    assert "Nobody but its author compared own with the report." in limits(opinion_on(report({"own": "YYn"})))


def test_a_case_that_a_reader_set_aside_decides_nothing() -> None:
    aside = replace(READING, decides=False, doubt="the device of the report was not there")
    made = opinion_on(report({"own": "YYY"}), readings={"own": aside})
    assert (made.conclusion, made.contradicts) == ("cannot be concluded", False)
    assert "own says nothing of this report: the device of the report was not there" in limits(made)


def test_a_sibling_gets_one_sentence_and_no_limits_of_its_own() -> None:
    said = [line for line in limits(opinion_on(report({"own": "YYn", "sibling": "YYn"}))) if "sibling" in line]
    assert said == ["sibling says nothing of this report: it is a sibling, another input or claim."]


def test_the_reference_of_the_closing_is_named_as_the_fix_where_no_link_says_so() -> None:
    made = opinion_on(report({"own": "YYn"}, closing_reference="#9"))
    assert as_table(made)["said_to_fix"] == ["a/b#8", "a/b#9"]
    assert as_table(opinion_on(report({"own": "YYn"}, closing_reference="0123abc")))["said_to_fix"] == ["a/b#8"]


def test_the_text_says_that_a_program_made_it_and_where_a_missing_script_is_to_be_had() -> None:
    text = markdown(opinion_on(report({"own": "YYn"})))
    assert "Made by a program" in text
    assert "this database does not hold it" in text


def test_the_newest_shipped_reading_counts() -> None:
    name = "pt115330_pin_memory_sparse_csr"
    assert readings_of("pytorch/pytorch", 115330)[name].answer == "sibling"  # faithful before
    assert readings_of("pytorch/pytorch", 83149)["pt83149_bfloat16_sum_transposed"].decides
    assert readings_of("a/b", 1) == {}


def test_a_comment_names_relation_reader_and_which_build_ran_where() -> None:
    whole = report({"own": "YYn", "sibling": "YYY"})
    moved = [replace(e, environment="cpu, X, AVX512, Linux") if e.build == "2.2.2" else e for e in whole.verdicts]
    text = comment(replace(whole, verdicts=moved), {"own": READING})
    assert "**own**: made from the report, its input and claim. Report and case sum ones. Read by an automated" in text
    assert "**sibling**: a sibling of the report, another input or claim; it says nothing of the report itself." in text
    assert "Environment of 2.0.1, 2.1.2: cpu, X, AVX2, Linux" in text
    assert "Environment of 2.2.2: cpu, X, AVX512, Linux" in text
    assert "whether it was fixed, and by what, runs do not say" in text
    aside = comment(whole, {"own": replace(READING, decides=False)})
    assert "**own**: set aside by a reader, it says nothing of the report itself." in aside


def test_the_reporters_script_is_that_of_the_items_own_repository(tmp_path: Any) -> None:
    now = datetime(2026, 11, 22, tzinfo=UTC)
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction() as connection:
        connection.execute("INSERT INTO artifacts VALUES ('x7', 'verbatim', 'print(7)', ?)", [now])
        for repo in ("pytorch/pytorch", "pytorch/vision"):
            connection.execute(
                "INSERT INTO extractions (repo, number, status, reason, rules, decided_at) VALUES (?, 7, 's', 'r', '1', ?)",
                [repo, now],
            )
    with store.read() as connection:
        assert reported(connection, "pytorch/pytorch", 7) == ("s", "r", None, "print(7)")
        assert reported(connection, "pytorch/vision", 7) == ("s", "r", None, None)
        assert reported(connection, "pytorch/pytorch", 8) == ("", "", "", None)


HOSTILE = {
    "html": "<img src=x onerror=alert(1)><script>alert(2)</script><!-- <details>",
    "link": "[safe](javascript:alert(1)) ![x](http://x.example/p.png) <https://x.example> [a]: http://x.example",
    "address": "see www.x.example and https://x.example/1 http://x.example mailto:a@x.example ftp://x.example a@x.example",
    "mention": "@somebody (@team/all) cc@nobody #1 a/b#1 GH-1 gh-2 https://github.com/a/b/issues/1",
    "ansi": "\x1b[31mred\x1b]8;;http://x.example\x07link\x1b[2J\x9b1m \x08\x08\x00",
    "bidi": "abc\u202egnp.exe \u2066\u2069 \u200b\u200f\ufeff \U000e0041",
    "table": "a | b\n| --- | --- |\n| x | y |\r\n\r\n# Heading\n- item\n1. item\n> quote\n---\n```\ncode\n~~~",
    "emphasis": "**bold** __bold__ ~~gone~~ `code` $math$ :tada: [^1] &lt;b&gt; &#64;somebody \\",
}
WANTED = re.compile(r"https://redirect\.github\.com/")
MENTION = re.compile(
    r"(?<![\w`])@[A-Za-z]|(?<!\w)#\d|\bgh-\d|\bwww\.|https?://|ftp://|mailto:[^\s]*@[a-z]", re.IGNORECASE
)
"""What GitHub makes a link of, or notifies somebody for, in text that it shows."""


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_titles_evidence_details_and_scripts_stay_text_where_the_opinion_is_pasted(text: str) -> None:
    facts = {"title": text, "closing_evidence": text, "closing_reference": text, "state": "closed"}
    item = report({"own": "YYn", "sibling": "YY-"}, **facts)
    loud = [replace(one, detail=text, environment=f"cpu, {text}", control_build=text) for one in item.verdicts]
    item = replace(item, verdicts=loud)
    commit = {"sha": text, "pull": 9, "subject": text, "files": [text], "names_the_issue": False}
    found = Bisected("fixed", text, (text, text), text, 9, (commit, commit | {"names_the_issue": True}))
    made = opinion_on(item, f"print(1)  # {text}\n```\n{text}\n````", bisected={"own": found})
    told = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown(made))
    blocks = [token.type for token in told]
    assert "html_block" not in blocks
    assert [token.content for token in told if token.type == "inline" and token.level == 1][:1] == [
        "🐛 Describe the bug"
    ]
    headings = [told[place + 1].content for place, token in enumerate(told) if token.type == "heading_open"]
    assert headings == [
        "🐛 Describe the bug",
        "Does this still occur?",
        "Evidence",
        "What ran, beside the report",
        "Cannot be concluded",
        "Minimal example",
        "The reporter's script, as it stands in the report",
        "Versions",
    ]
    parts = [part for token in told if token.type == "inline" for part in token.children or ()]
    assert not {"html_inline", "image", "s_open"} & {part.type for part in parts}
    links = [str(part.attrs["href"]) for part in parts if part.type == "link_open"]
    assert all(WANTED.match(link) for link in links), links
    inside, shown = 0, []
    for part in parts:
        inside += part.nesting if part.type.startswith("link_") else 0
        if part.type == "text" and not inside:
            shown.append(part.content.replace("\u200b", "\0"))
    assert not MENTION.search("\n".join(shown)), MENTION.search("\n".join(shown))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069\ufeff]", markdown(made))
    assert "\x1b" not in json.dumps(as_table(made), default=str), "JSON writes controls as numbers"
