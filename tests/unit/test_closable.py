"""Whether an issue may be closed, and what is pasted below it: what runs show, and no more."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from helpers.escaping import assert_harmless_markdown
from helpers.timeline_rows import CRASH, GAP, REPO, SCRIPT, add_timeline, crashed, ended, put, raised
from support import assert_clean_error, assert_snapshot, run_embers
from torch_embers.cases import shipped_verdicts
from torch_embers.cases.case import shipped
from torch_embers.extract.script import Script, ScriptChange
from torch_embers.judgements import Reading, readings_of
from torch_embers.store.store import Store
from torch_embers.timeline.model import Timeline
from torch_embers.verdicts.matrix import MatrixEntry
from torch_embers.verdicts.script_excerpt import script_of
from torch_embers.views import closable, paste
from torch_embers.views.item_evidence import answered, report_of
from torch_embers.views.item_report import ItemReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.timeline.model import Segment

VERSIONS = ("2.0.1", "2.1.2", "2.2.2")
LETTERS = {"Y": "occurs", "n": "absent", "o": "not_seen", "-": "untestable", "c": "changed"}


def entry(case: str, build: str, verdict: str) -> MatrixEntry:
    hits, runs = (3, 3) if verdict == "occurs" else (0, 4)
    control = ("build", "2.0.1", 10, 10) if verdict in ("occurs", "absent") else ("none", None, 0, 0)
    rate = 0.68 if verdict == "absent" else None
    flaky, place, at = hits not in (0, runs), "cpu, X, AVX2, Linux", datetime(2026, 11, 22, tzinfo=UTC)
    return MatrixEntry(case, "a/b#7", build, place, verdict, flaky, hits, runs, rate, *control, "off by 3", at)


def report(
    histories: dict[str, str],
    state: str = "closed",
    disposition: str = "fixed",
    segments: Sequence[Segment] = (),
    device: str = "",
    statuses: Sequence[dict[str, Any]] = (),
    fix_tests: Sequence[dict[str, Any]] = (),
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
    return ItemReport("a/b", 7, facts | more, [], [], links, cases, script, timeline, statuses, verdicts, fix_tests)


CONFIRMED = ({"status": "fixed", "reference": "2.2.2"},)
SHIPPED = (
    {
        "status": "undecided_absent",
        "reference": "2.2.2+cpu",
        "evidence": "own: absent 0/4; second batch absent 0/4, on cpu",
    },
)
FIX_TEST = {
    "test": "TestX.test_y", "relation": "same", "class": "validated", "shows_bug": "right", "shows_bug_again": None,
    "failed": ["2.0.1"], "passed": ["2.1.2", "2.2.2"],
}  # fmt: skip
TO_ERROR = [crashed("2.0.1"), raised("2.1.2", "2.2.2")]


@pytest.mark.parametrize(
    ("histories", "more", "answer", "rule"),
    [
        # of cases only the report's own decide, all of them, on the newest release; an absence needs a second batch
        ({"own": "YYY"}, {}, "no", "case_occurs"),
        ({"own": "YYY"}, {"state": "open"}, "no", "case_occurs"),
        ({"own": "Ynn"}, {"statuses": CONFIRMED}, "yes", "case_gone"),
        ({"own": "Ynn"}, {}, "unknown", "case_not_confirmed"),
        ({"own": "Ynn"}, {"statuses": SHIPPED}, "yes", "case_gone"),
        ({"own": "Ynn"}, {"statuses": [SHIPPED[0] | {"reference": "2.1.2"}]}, "unknown", "case_not_confirmed"),
        ({"own": "Ynn", "other": "Ynn"}, {"statuses": SHIPPED}, "unknown", "case_not_confirmed"),
        ({"own": "ooo"}, {"statuses": CONFIRMED}, "unknown", "case_undecided"),
        ({"own": "Y--"}, {"statuses": CONFIRMED}, "unknown", "untestable"),
        ({"own": "Ync"}, {"statuses": CONFIRMED}, "unknown", "case_undecided"),
        ({"own": "Yn "}, {"statuses": CONFIRMED}, "unknown", "case_undecided"),
        ({"own": "   "}, {}, "unknown", "case_undecided"),
        ({"own": "Ynn", "other": "YYY"}, {"statuses": CONFIRMED}, "no", "case_occurs"),
        ({"own": "Ynn", "other": "ooo"}, {"statuses": CONFIRMED}, "unknown", "case_undecided"),
        ({"own": "Ynn", "other": "---"}, {"statuses": CONFIRMED}, "unknown", "untestable"),
        ({"own": "Ynn", "other": "Y  "}, {"statuses": CONFIRMED}, "unknown", "case_undecided"),
        ({"own": "Ynn", "sibling": "YYY"}, {"statuses": CONFIRMED}, "yes", "case_gone"),
        ({"sibling": "YYY"}, {}, "unknown", "another_input"),
        ({"sibling": "Ynn"}, {"statuses": CONFIRMED}, "unknown", "another_input"),
        ({"x7": "YYY"}, {}, "unknown", "another_input"),
        # the report's script: by what the report quotes, on the newest release, in enough runs
        ({}, {"segments": [crashed("2.2.2")]}, "no", "script_occurs"),
        ({"sibling": "nnn"}, {"segments": [crashed("2.2.2")]}, "no", "script_occurs"),
        ({"own": "Y--"}, {"segments": [crashed("2.2.2")]}, "no", "script_occurs"),
        ({}, {"segments": [crashed("2.0.1"), ended("2.2.2")]}, "yes", "script_gone"),
        ({}, {"segments": [crashed("2.0.1"), ended("2.2.2", confirmed=False)]}, "unknown", "script_not_confirmed"),
        (
            {},
            {"segments": [crashed("2.0.1"), crashed("2.2.2", match="other", confirmed=True)]},
            "unknown",
            "script_silent",
        ),
        ({}, {"segments": [crashed("2.2.2", match="other")]}, "unknown", "script_silent"),
        ({}, {"segments": [crashed("2.2.2")], "device": "cuda"}, "unknown", "device"),
        ({}, {"segments": [crashed("2.0.1"), replace(GAP, versions=("2.2.2",))]}, "unknown", "lacks_api"),
        ({}, {"segments": [crashed("2.0.1", "2.1.2")]}, "unknown", "not_on_newest"),
        ({}, {"segments": [crashed("2.2.2"), ended("2.3.0.dev1")]}, "no", "script_occurs"),
        ({}, {"segments": [ended("2.2.2")]}, "unknown", "script_silent"),
        ({}, {"segments": [ended("2.2.2", match=None)]}, "unknown", "script_silent"),
        # a crash that became an error: the report expects it, or the fix is known to have brought it
        ({}, {"segments": TO_ERROR}, "unknown", "crash_became_error"),
        ({}, {"segments": [TO_ERROR[0], replace(TO_ERROR[1], match="as_expected")]}, "yes", "script_gone"),
        ({}, {"segments": [TO_ERROR[0], replace(TO_ERROR[1], at_fix=True)]}, "yes", "script_gone"),
        (
            {},
            {"segments": [TO_ERROR[0], raised("2.1.2", at_fix=True), replace(raised("2.2.2"), what="SystemError")]},
            "unknown",
            "crash_became_error",
        ),
        # the test of a fix: on the newest release, and only where a reader says that it shows this bug
        ({}, {"fix_tests": [FIX_TEST]}, "yes", "fix_test_passes"),
        ({}, {"fix_tests": [FIX_TEST | {"failed": ["2.2.2"], "passed": ["2.0.1", "2.1.2"]}]}, "unknown", "nothing"),
        ({}, {"fix_tests": [FIX_TEST | {"shows_bug": None}]}, "unknown", "nothing"),
        ({}, {"fix_tests": [FIX_TEST, FIX_TEST | {"failed": ["2.2.2"], "passed": ["2.1.2"]}]}, "unknown", "nothing"),
        ({}, {"fix_tests": [FIX_TEST | {"shows_bug": "wrong"}]}, "unknown", "nothing"),
        ({}, {"fix_tests": [FIX_TEST | {"relation": "sibling"}]}, "unknown", "nothing"),
        ({}, {"fix_tests": [FIX_TEST | {"passed": ["2.1.2"]}]}, "unknown", "nothing"),
        (
            {},
            {"fix_tests": [FIX_TEST | {"failed": ["2.0.1", "2.2.2"], "passed": ["2.1.2"], "shows_bug_again": "right"}]},
            "no",
            "fix_test_fails",
        ),
        ({"own": "YYY"}, {"fix_tests": [FIX_TEST]}, "no", "case_occurs"),
        ({}, {}, "unknown", "nothing"),
    ],
)
def test_whether_an_issue_may_be_closed_follows_from_what_ran(
    histories: dict[str, str], more: dict[str, Any], answer: str, rule: str
) -> None:
    made = asked(report(histories, **more))
    assert (made.closable, made.rule) == (answer, rule)
    assert "{" not in made.because


def test_every_rule_is_reached_and_none_is_called_twice() -> None:
    names = [rule.name for rule in closable.rules()]
    assert len(names) == len(set(names))
    assert names[-1] == "nothing", "it always holds"
    source = Path(closable.__file__).read_text(encoding="utf-8")
    assert [name for name in names if f'"{name}"' not in source] == []


@pytest.mark.parametrize(
    ("state", "letters", "answer", "said"),
    [
        ("open", "YYY", "yes", "it is a duplicate of #8 (The first), which is open and still occurs"),
        ("closed", "YYY", "unknown", "it is called a duplicate of #8 (The first), which is closed and still occurs"),
        ("open", "ooo", "unknown", "it is called a duplicate of #8 (The first), which is open and is not decided"),
        ("closed", "Ynn", "unknown", "it is called a duplicate of #8 (The first), which is closed and is gone"),
    ],
)
def test_a_duplicate_may_be_closed_where_the_other_is_open_and_still_occurs(
    state: str, letters: str, answer: str, said: str
) -> None:
    other = replace(report({"own": letters}, state=state, title="The first", statuses=CONFIRMED), number=8)
    made = closable.closable(report({}, duplicate_of=8), "2.2.2", lambda _, number: other if number == 8 else None)
    assert made is not None
    assert (made.closable, made.because, made.canonical) == (answer, said, 8)
    named = [{"repo": "a/b", "number": 8, "kinds": [{"relation": "duplicates", "inward": False}]}]
    linked = closable.closable(replace(report({}), links=named), "2.2.2", lambda _, number: other)
    assert linked is not None
    assert linked.because == said, "also where only a link says so"
    other = replace(other, facts=other.facts | {"duplicate_of": 7})
    circle = closable.closable(report({}, duplicate_of=8), "2.2.2", lambda *_: other)
    assert circle is not None
    assert circle.closable == "unknown", "two that name each other as the first"
    unknown = closable.closable(report({}, duplicate_of=9), "2.2.2", lambda *_: None)
    assert unknown is not None
    assert unknown.because == "it is called a duplicate of #9"


def test_an_issue_that_was_opened_again_is_no_duplicate_by_an_older_comment() -> None:
    other = replace(report({"own": "YYY"}, state="open"), number=8)
    named = [{"repo": "a/b", "number": 8, "kinds": [{"relation": "duplicates", "inward": False}]}]
    item = replace(report({}, state="open", reopened=True), links=named)
    made = closable.closable(item, "2.2.2", lambda *_: other)
    assert made is not None
    assert (made.rule, made.canonical) == ("nothing", None)


def test_an_item_is_asked_of_the_newest_release_that_it_ran_on_where_most_did_not() -> None:
    made = closable.closable(report({"own": "YYY"}), "2.1.2", lambda *_: None)
    assert made is not None
    assert made.because == "it still occurs on 2.2.2, although it was closed as fixed"
    older = closable.closable(report({"own": "YY "}), "2.1.2", lambda *_: None)
    assert older is not None
    assert older.because == "it still occurs on 2.1.2, although it was closed as fixed"


GONE = (crashed("2.2.2"), ended("2.15.0"))


@pytest.mark.parametrize(
    ("own", "shipped", "rule"),
    [
        # the one that reaches the newest release, own before shipped, what occurs before what does not
        ([("e", (crashed("2.2.2"),))], GONE, "script_gone"),
        ([("e", (crashed("2.15.0"),))], GONE, "script_occurs"),
        ([("e", GONE)], (crashed("2.15.0"),), "script_gone"),
        ([("e", GONE), ("f", (crashed("2.15.0"),))], (), "script_occurs"),
        ([("e", (crashed("2.2.2"), replace(GAP, versions=("2.15.0",))))], GONE, "script_gone"),
        ([("e", (crashed("2.10.0"),))], (crashed("2.9.1"),), "not_on_newest"),
    ],
)
def test_of_several_runs_of_a_script_the_newest_release_decides(
    tmp_path: Path, own: Any, shipped: Sequence[Segment], rule: str
) -> None:
    database = tmp_path / "e.duckdb"
    for number in (1, 2, 3, 4):
        put(database, number, [crashed("2.15.0")], code=f"print({number})\n")
    put(database, 7, shipped, provenance="shipped")
    with Store(database).writer("test") as writer, writer.transaction() as connection:
        for environment, segments in own:
            add_timeline(connection, REPO, 7, segments, environment=environment)
    made = report_of(Store(database), REPO, 7)
    assert made.answer is not None
    assert made.answer.rule == rule
    assert answered(Store(database))[REPO, 7].answer == made.answer


def test_one_run_on_a_newer_release_takes_no_answer_from_the_others(tmp_path: Path) -> None:
    database = tmp_path / "e.duckdb"
    for number in (1, 2, 3):
        put(database, number, [crashed("2.15.0")], code=f"print({number})\n")
    put(database, 4, [crashed("2.15.0"), ended("2.16.0")], code="print(4)\n")
    said = {number: one.answer and one.answer.rule for (_, number), one in answered(Store(database)).items()}
    assert said == {1: "script_occurs", 2: "script_occurs", 3: "script_occurs", 4: "script_gone"}


def test_an_answer_for_a_closed_issue_says_what_its_closing_promised() -> None:
    said = {
        disposition: asked(report({"own": "YYY"}, disposition=disposition)).because
        for disposition in ("fixed", "declined", "unknown")
    }
    assert said == {
        "fixed": "it still occurs on 2.2.2, although it was closed as fixed",
        "declined": "it still occurs on 2.2.2; it was closed as declined, which promises no fix",
        "unknown": "it still occurs on 2.2.2",
    }
    assert closable.closable(report({"own": "YYY"}, kind="pull"), "2.2.2", lambda *_: None) is None


def test_a_case_that_a_reader_set_aside_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    aside = replace(READING, decides=False, doubt="the device of the report was not there")
    for module in (closable, paste):
        monkeypatch.setattr(module, "readings_of", lambda *_: {"own": aside})
    made = report({"own": "YYY"})
    assert asked(made).rule == "another_input"
    assert "own: the device of the report was not there" in paste.text(made)


def asked(report: ItemReport) -> closable.Answer:
    """The answer for the newest of the releases."""
    made = closable.closable(report, "2.2.2", lambda *_: None)
    assert made is not None
    return made


READING = Reading(
    "faithful", "Report and case sum ones", "", decides=True, thread_read="partly", reader="automated:reader-1",
    day="2026-11-22"
)  # fmt: skip


def pasted(report: ItemReport) -> str:
    return paste.text(replace(report, answer=asked(report)))


def test_a_text_to_paste_holds_the_answer_one_table_and_the_whole_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the snapshot: evidence, control and limits stand beside each claim, and what was not seen is not called fixed."""
    monkeypatch.setattr(paste, "readings_of", lambda *_: {"own": replace(READING, doubt="no gradient is computed")})
    found = {"subject": "own", "text": "gone since 2.2.2", "fixes": [9]}
    pages = {
        "gone, with a sibling, a doubt, a bisection": pasted(
            replace(report({"own": "YYn", "sibling": "YYY"}, statuses=CONFIRMED), bisections=[found])
        ),
        "clean without a control": pasted(report({"own": "ooo"})),
        "a script alone": pasted(report({}, segments=TO_ERROR)),
        "a script that speaks of another device": pasted(report({}, segments=TO_ERROR, device="cuda")),
    }
    text = "".join(f"======== {name}\n{page}\n" for name, page in pages.items())
    assert "@title" not in text
    assert_snapshot("paste.txt", text)


def test_every_block_of_code_in_a_text_to_paste_is_whole_and_parses() -> None:
    for name in sorted(case.name for case in shipped())[::12]:
        own = next(case for case in shipped() if case.name == name)
        made = report({"own": "YYn"})
        cases = [made.cases[0] | {"script": script_of(name, "curated", own.code)}]
        text = pasted(replace(made, cases=cases, script=SCRIPT, timeline=Timeline("a/b", 7, "h", "e", CRASH)))
        blocks = [token for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]
        assert len(blocks) == 2
        for block in blocks:
            ast.parse(block.content)
        assert blocks[1].content.count("sys.exit(code)") == 1, "up to its last line"


def test_no_row_of_the_table_stands_twice_where_own_and_shipped_runs_agree() -> None:
    whole = report({"own": "YYn"})
    shipped = [replace(e, provenance="shipped") for e in whole.verdicts]
    made = pasted(replace(whole, verdicts=[*whole.verdicts[:2], *shipped]))
    rows = [line for line in made.splitlines() if line.startswith("| own |")]
    assert len(rows) == len(set(rows)) == 2


def test_an_item_without_a_verdict_is_one_clean_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "e.duckdb")
    with store.writer("test", create=True) as writer, writer.transaction():
        pass
    assert_clean_error(run_embers("show", "5", "--paste", "--database", store.path), 3, "#5")


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
def test_hostile_titles_evidence_details_and_scripts_stay_text_where_they_are_pasted(text: str) -> None:
    item = report({"own": "YYn", "sibling": "YY-"}, title=text, state="closed")
    loud = [replace(one, detail=text, environment=f"cpu, {text}", control_build=text) for one in item.verdicts]
    segments = [replace(segment, what=text, shown=text, evidence=text) for segment in CRASH]
    code = f"print(1)  # {text}\n```\n{text}\n````"
    item = replace(
        item,
        verdicts=loud,
        script=Script(code, (ScriptChange(1, text, code, text),), {text: text}, text, text),
        timeline=Timeline("a/b", 7, SCRIPT.hash, text, segments, text),
        bisections=[{"subject": text, "text": text, "fixes": [9]}],
    )
    made = pasted(item)
    told = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(made)
    html = [token.content.strip() for token in told if token.type == "html_block"]
    assert html[0::2] == [
        "<details><summary>Runs on each release</summary>",
        "<details><summary>The script of the report</summary>",
        *(
            f"<details><summary>Case {name}, which exits with 1 if the failure shows</summary>"
            for name in ("own", "sibling")
        ),
    ]
    assert set(html[1::2]) == {"</details>"}
    parts = [part for token in told if token.type == "inline" for part in token.children or ()]
    assert not {"html_inline", "image", "s_open"} & {part.type for part in parts}
    links = [str(part.attrs["href"]) for part in parts if part.type == "link_open"]
    assert all(WANTED.match(link) for link in links), links
    assert_harmless_markdown(made)
    assert "\x1b" not in json.dumps(item.row(), default=str), "JSON writes controls as numbers"


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
    assert ("Another kernel, and no fix," in pasted(replace(whole, verdicts=verdicts))) == may_matter
