"""A second opinion says what runs show of an item, and no more than they show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from helpers.escaping import assert_harmless_markdown
from helpers.timeline_rows import CRASH, FOLDS, GAP, SCRIPT, VALUE, crashed
from support import assert_clean_error, assert_snapshot, run_embers
from torch_embers.extract.script import Change, NoScript, Script
from torch_embers.judgements import Reading, readings_of
from torch_embers.repro import shipped_verdicts
from torch_embers.run.item_report import ItemReport
from torch_embers.run.matrix import Entry
from torch_embers.run.script import script_of
from torch_embers.run.second_opinion import Bisected, opinion_on
from torch_embers.run.second_opinion_text import as_table, comment, history, limits, markdown, short
from torch_embers.store.store import Store
from torch_embers.timeline.model import Timeline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.timeline.model import Segment

VERSIONS = ("2.0.1", "2.1.2", "2.2.2")
LETTERS = {"Y": "occurs", "n": "absent", "o": "not_seen", "-": "untestable", "c": "changed"}


def entry(case: str, build: str, verdict: str) -> Entry:
    hits, runs = (3, 3) if verdict == "occurs" else (0, 4)
    control = ("build", "2.0.1", 10, 10) if verdict in ("occurs", "absent") else ("none", None, 0, 0)
    rate = 0.68 if verdict == "absent" else None
    flaky, place, at = hits not in (0, runs), "cpu, X, AVX2, Linux", datetime(2026, 11, 22, tzinfo=UTC)
    return Entry(case, "a/b#7", build, place, verdict, flaky, hits, runs, rate, *control, "off by 3", at)


def report(
    histories: dict[str, str],
    state: str = "closed",
    disposition: str = "fixed",
    segments: Sequence[Segment] = (),
    device: str = "",
    **more: Any,
) -> ItemReport:
    """An item with cases; a name that begins with ``sibling`` or ``x`` has that relation or origin."""
    facts = {
        "title": "A @title", "kind": "issue", "state": state, "disposition": disposition,
        "closing_evidence": "a comment", "closing_kind": "comment",
    }  # fmt: skip
    cases = [
        {
            "name": name,
            "origin": "own" if name.startswith("x") else "curated",
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
    timeline = Timeline("a/b", 7, SCRIPT.hash, "cpu, X, AVX2, Linux", segments, device) if segments else None
    script = SCRIPT if segments else None
    return ItemReport("a/b", 7, facts | more, [], [], links, cases, script, timeline, [], verdicts)


NOT_REPRODUCED = {"disposition": "unknown", "closing_kind": "not_reproduced"}


@pytest.mark.parametrize(
    ("histories", "more", "conclusion", "contradicts"),
    [
        # only reviewed cases of the report itself decide
        ({"own": "YYY"}, {}, "still occurs", True),
        ({"own": "Ynn"}, {}, "no longer seen", False),
        ({"sibling": "YYY"}, {}, "cannot be concluded", False),
        ({"x7": "YYY"}, {}, "cannot be concluded", False),
        ({"own": "ooo"}, {}, "cannot be concluded", False),
        ({"own": "Y--"}, {}, "cannot be concluded", False),
        ({"own": "Ync"}, {}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "YYY"}, {}, "still occurs", True),
        ({"own": "Ynn", "other": "ooo"}, {}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "---"}, {}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "   "}, {}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "Y  "}, {}, "cannot be concluded", False),
        ({"own": "Ynn", "other": "YYY", "sibling": "   "}, {}, "still occurs", True),
        ({"own": "Ynn", "sibling": "YYY"}, {}, "no longer seen", False),
        # only an issue that was closed as fixed, or as not reproduced, can be contradicted
        ({"own": "YYY"}, {"state": "open"}, "still occurs", False),
        ({"own": "YYY"}, {"disposition": "declined"}, "still occurs", False),
        ({"own": "YYY"}, {"disposition": None}, "still occurs", False),
        ({"own": "YYY"}, {"kind": "pull"}, "still occurs", False),
        ({"own": "YYY"}, NOT_REPRODUCED, "still occurs", True),
        ({"own": "Ynn"}, NOT_REPRODUCED, "no longer seen", False),
        ({"own": "YYY"}, NOT_REPRODUCED | {"closing_kind": None}, "still occurs", False),
        # where no case speaks, the report's script does: by what the report quotes, on the newest build, confirmed
        ({}, {"segments": CRASH[:1]}, "still occurs", True),
        ({"sibling": "nnn"}, {"segments": [crashed("2.2.2")]}, "still occurs", True),
        ({}, {"segments": CRASH}, "no longer seen", False),
        ({}, {"segments": [CRASH[0], replace(CRASH[1], confirmed=False)]}, "cannot be concluded", False),
        ({}, {"segments": [CRASH[0], crashed("2.2.2", match="other", confirmed=True)]}, "cannot be concluded", False),
        ({}, {"segments": [crashed("2.2.2", match="other")]}, "cannot be concluded", False),
        ({}, {"segments": CRASH[:1], "device": "cuda"}, "cannot be concluded", False),
        ({}, {"segments": [CRASH[0], GAP]}, "cannot be concluded", False),
        ({"sibling": "nnn"}, {"segments": [crashed("2.1.2")]}, "cannot be concluded", False),
        ({"own": "Ynn"}, {"segments": CRASH[:1]}, "cannot be concluded", False),
    ],
)
def test_an_opinion_follows_from_the_cases_and_the_closing(
    histories: dict[str, str], more: dict[str, Any], conclusion: str, contradicts: bool
) -> None:
    made = opinion_on(report(histories, **more))
    assert (made.conclusion, made.contradicts) == (conclusion, contradicts)


def test_a_run_older_than_the_newest_release_here_or_that_a_reader_set_aside_decides_nothing() -> None:
    aside = replace(READING, decides=False, doubt="the device of the report was not there")
    for made, said in (
        (opinion_on(report({"own": "Y  "}), release="2.2.2"), "own was not run on 2.2.2"),
        (opinion_on(report({"own": "YYY"}), readings={"own": aside}), "own says nothing of this report: the device of"),
    ):
        assert (made.conclusion, made.contradicts) == ("cannot be concluded", False)
        assert any(said in line for line in limits(made))
    assert opinion_on(report({"own": "YYY"}), release="2.1.2").contradicts


def test_an_opinion_that_only_the_script_supports_is_about_the_newest_release_that_it_ran_on() -> None:
    opinion = opinion_on(report({}, state="open", segments=VALUE[:1]), release="2.15.0")
    assert (opinion.conclusion, opinion.reference) == ("still occurs", "2.9.1")
    assert opinion_on(report({"own": "YYY"}, segments=VALUE[:1]), release="2.15.0").reference == "2.15.0"


READING = Reading(
    "faithful", "Report and case sum ones", "", decides=True, thread_read="partly", reader="automated:reader-1",
    day="2026-11-22"
)  # fmt: skip
COMMITS = tuple(
    {"sha": sha * 40, "pull": pull, "subject": subject, "files": ["x.cpp"], "names_the_issue": names}
    for sha, pull, subject, names in (("a", 9, "Mend @it", True), ("b", None, "Speed up", False))
)


def told() -> dict[str, str]:
    """Opinions as they are pasted, by what is special of each."""
    whole = report({"own": "YYn", "sibling": "YYY"})
    moved = [replace(e, environment="cpu, X, AVX512, Linux") if e.build == "2.2.2" else e for e in whole.verdicts]
    rare = report({"own": "Y o"})
    seldom = [replace(e, control="build", control_build="2.0.1", control_k=2, control_n=10) for e in rare.verdicts]
    found = Bisected("fixed", "Gone since 2.2.2.", ("2.1.2", "2.2.2"), "by tags", 700, COMMITS)
    doubted = replace(READING, doubt="no gradient is computed")
    unknown = report({"own": "YYn"}, disposition="unknown", closing_evidence=None)
    never = Bisected("always", "The bug is there on every tested build.")
    opinions = {
        "gone, with a script, a sibling, and a reading with a doubt": opinion_on(
            whole, bisected={"own": found}, readings={"own": doubted}
        ),
        "gone, and no commit of the bisection names the issue": opinion_on(
            report({"own": "YYn"}), bisected={"own": replace(found, commits=COMMITS[1:])}
        ),
        "gone on another processor, why it was closed was not read, a bisection that says otherwise is left out": opinion_on(
            replace(unknown, verdicts=[e for e in moved if e.case == "own"]), bisected={"own": never}
        ),
        "a sibling alone, and no script": opinion_on(
            replace(report({"sibling": "YYY"}), script=NoScript("no_code", "the report holds no Python code"))
        ),
        "a script alone, gone": opinion_on(report({}, segments=CRASH)),
        "a script that speaks of another device": opinion_on(report({}, segments=CRASH, device="cuda")),
    }
    in_short = {
        "clean beside a control that is rare": opinion_on(replace(rare, verdicts=seldom)),
        "clean without a control": opinion_on(report({"own": "ooo"})),
        "still there": opinion_on(report({"own": "YYY"})),
    }
    return {
        **{name: markdown(made) for name, made in opinions.items()},
        **{f"{name}, in short": short(made) for name, made in (opinions | in_short).items()},
        **{f"{name}, limits": "\n".join(limits(made)) for name, made in in_short.items()},
        "comment": comment(opinion_on(replace(whole, verdicts=moved), readings={"own": READING})),
        "comment, a script": comment(opinion_on(report({}, segments=VALUE))),
        "comment, set aside": comment(opinion_on(whole, readings={"own": replace(READING, decides=False)})),
    }


def test_what_is_said_of_runs_is_what_they_show() -> None:
    """In the snapshot: evidence, control and limits stand beside each claim, and what was not seen is not called fixed."""
    pages = told()
    text = "".join(f"======== {name}\n{page}\n" for name, page in pages.items())
    assert "@title" not in text
    assert "@it" not in text
    assert "every tested build" not in text
    assert_snapshot("second_opinion.txt", text)


@pytest.mark.parametrize(
    ("letters", "said", "last_with", "first_without"),
    [
        ("YYn", "Seen on 2.0.1 to 2.1.2; not seen on 2.2.2 (3 builds run).", "2.1.2", "2.2.2"),
        ("nY-", "Not seen on 2.0.1; seen on 2.1.2; undecided on 2.2.2 (3 builds run).", "2.1.2", None),
        ("Yon", "Seen on 2.0.1; undecided on 2.1.2; not seen on 2.2.2 (3 builds run).", "2.0.1", "2.2.2"),
        ("Y  ", "Seen on 2.0.1 (1 build run).", "2.0.1", None),
        ("   ", "Not run.", None, None),
    ],
)
def test_the_history_says_on_which_builds_it_was_seen(
    letters: str, said: str, last_with: str | None, first_without: str | None
) -> None:
    case = opinion_on(report({"own": letters})).cases[0]
    assert (history(case), case.last_with, case.first_without) == (said, last_with, first_without)


def test_an_item_without_a_verdict_is_one_clean_line(tmp_path: Any) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    assert_clean_error(run_embers("show", "--paste", "5", "--database", store.path), 3, "#5")


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
    undecided = opinion_on(replace(whole, verdicts=[*whole.verdicts, replace(other, verdict="not_seen")]))
    assert undecided.cases[0].differing == ()


def test_a_comment_has_a_script_once_above_the_own_and_the_shipped_verdicts() -> None:
    whole = report({"own": "YYn"})
    shipped = [replace(e, provenance="shipped") for e in whole.verdicts]
    made = comment(opinion_on(replace(whole, verdicts=[*whole.verdicts[:2], *shipped])))
    assert [made.count(text) for text in ("- own: ", "| PyTorch |", "cpu, X, AVX2", "SHA-256")] == [1, 2, 2, 1]


def test_the_reference_of_the_closing_is_named_as_the_fix_where_no_link_says_so() -> None:
    made = opinion_on(report({"own": "YYn"}, closing_reference="#9"))
    assert as_table(made)["said_to_fix"] == ["a/b#8", "a/b#9"]
    assert as_table(opinion_on(report({"own": "YYn"}, closing_reference="0123abc")))["said_to_fix"] == ["a/b#8"]


def test_the_newest_shipped_reading_counts() -> None:
    name = "pt115330_pin_memory_sparse_csr"
    assert readings_of("pytorch/pytorch", 115330)[name].answer == "sibling"  # faithful before
    assert readings_of("pytorch/pytorch", 83149)["pt83149_bfloat16_sum_transposed"].decides
    assert readings_of("a/b", 1) == {}


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


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_titles_evidence_details_and_scripts_stay_text_where_the_opinion_is_pasted(text: str) -> None:
    facts: dict[str, Any] = {"title": text, "closing_evidence": text, "closing_reference": text, "state": "closed"}
    item = report({"own": "YYn", "sibling": "YY-"}, **facts)
    loud = [replace(one, detail=text, environment=f"cpu, {text}", control_build=text) for one in item.verdicts]
    item = replace(item, verdicts=loud)
    commit = {"sha": text, "pull": 9, "subject": text, "files": [text], "names_the_issue": False}
    found = Bisected("fixed", text, (text, text), text, 9, (commit, commit | {"names_the_issue": True}))
    segments = [replace(segment, what=text, shown=text, evidence=text) for segment in CRASH]
    timeline = Timeline("a/b", 7, SCRIPT.hash, text, segments, text)
    code = f"print(1)  # {text}\n```\n{text}\n````"
    script = Script(code, (Change(1, text, code, text),), {text: text}, text, text)
    item = replace(item, script=script, timeline=timeline)
    made = opinion_on(item, bisected={"own": found})
    told = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown(made))
    assert [token.content.strip() for token in told if token.type == "html_block"] == list(FOLDS)
    headings = [told[place + 1].content for place, token in enumerate(told) if token.type == "heading_open"]
    assert headings == [
        "🐛 Describe the bug",
        "Does this still occur?",
        "The report's script",
        "Evidence",
        "What ran, beside the report",
        "Minimal example",
        "Cannot be concluded",
        "Versions",
    ]
    parts = [part for token in told if token.type == "inline" for part in token.children or ()]
    assert not {"html_inline", "image", "s_open"} & {part.type for part in parts}
    links = [str(part.attrs["href"]) for part in parts if part.type == "link_open"]
    assert all(WANTED.match(link) for link in links), links
    assert_harmless_markdown(markdown(made))
    assert "\x1b" not in json.dumps(as_table(made), default=str), "JSON writes controls as numbers"


@pytest.mark.parametrize(
    ("letters", "wide", "absences", "may_matter"),
    [
        ("Ynn", ("2.1.2", "2.2.2"), (), True),
        ("Ynn", (), (), False),
        ("Ynn", ("2.2.2",), (), False),  # absent on the control's machine, too
        ("YYn", ("2.1.2", "2.2.2"), (), False),  # occurs on the newest build's machine
        (
            "Ynn",
            ("2.1.2", "2.2.2"),
            (("own", "cpu, X, AVX512, Linux"),),
            True,
        ),  # absent again on the newest build's machine
        (
            "Ynn",
            ("2.1.2", "2.2.2"),
            (("own", "cpu, X, AVX2, Linux"),),
            False,
        ),  # absent where the control's capability was forced
    ],
)
def test_a_control_on_another_processor_is_named_among_the_limits_where_it_may_matter(
    monkeypatch: pytest.MonkeyPatch,
    letters: str,
    wide: tuple[str, ...],
    absences: tuple[tuple[str, str], ...],
    *,
    may_matter: bool,
) -> None:
    monkeypatch.setattr(shipped_verdicts, "absences", lambda: frozenset(absences))
    whole = report({"own": letters})
    verdicts = [replace(e, environment="cpu, X, AVX512, Linux") if e.build in wide else e for e in whole.verdicts]
    said = limits(opinion_on(replace(whole, verdicts=verdicts)))
    assert any("Another kernel, and no fix," in line for line in said) == may_matter
