"""What is known of one item, and the verdict on it in one line. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any, Literal

from torch_embers.judgements import readings_of
from torch_embers.verdicts.item_verdict import item_verdict
from torch_embers.verdicts.matrix import OWN, MatrixEntry, builds_of, deciding, preferred, version_key
from torch_embers.views.script_text import answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.extract.script import NoScript, Script
    from torch_embers.timeline.model import Timeline
    from torch_embers.verdicts.item_verdict import SpeaksOf

LONGEST_CELL = 160
"""Characters of a closing comment that a page shows."""

SHOWN_LINKS = 40
"""Linked items that a report lists."""

Row = dict[str, Any]


Closable = Literal["yes", "no", "unknown"]
OCCURS = ("case_occurs", "script_occurs", "fix_test_fails")
"""Rules of data/closable.toml that say that the bug is there."""
_GONE = ("case_gone", "case_not_confirmed", "script_gone")


@dataclass(frozen=True, slots=True)
class Answer:
    """May an issue be closed, and why.

    Attributes:
        rule: that decided, a name of data/closable.toml.
        because: a clause without a full stop; it can hold text from outside.
        canonical: number of the issue of which this one is a duplicate.
    """

    closable: Closable
    rule: str
    because: str
    canonical: int | None = None

    @property
    def sentence(self) -> str:
        """The answer in one line."""
        return f"closable: {self.closable}, because {self.because}"

    @property
    def occurs(self) -> bool | None:
        """Whether the bug is there, by the report's own case, script or test of its fix; None where none decides.

        Wherever issues that still occur are counted, they are counted by this.
        """
        if self.rule in (*OCCURS, "duplicate_of_what_occurs"):
            return True
        return False if self.rule in _GONE else None


@dataclass(frozen=True, slots=True)
class ItemReport:
    """What is known of an item. Rows are mappings from column to value.

    Attributes:
        facts: title, kind, state, state_reason, created_at, closed_at, author, labels, summary of the catalog,
            disposition with its evidence, and the columns of the view ``closings``.
        gold: scheme, value, annotator, evidence.
        predictions: scheme, value, probability, confidence, provenance.
        links: a row per linked item: repo, number, kinds (relation, evidence, inward: stated by the other item).
        cases: name, origin, relation, summary, requires, script.
        script: of the report, or why there is none; None of a pull request, or where its text was not mined.
        timeline: what that script does on each build, its environment in words; None where it never ran.
        statuses: backend, status, reference build, decided_at, provenance, evidence.
        verdicts: by case, oldest build first, own before shipped ones.
        fix_tests: tests that merged fixes of the item brought and that ran somewhere: what the test did on which
            release (one run each), its class, what readers say of its failures, and the command for a clone.
        bisections: of its cases as they are now, that were run here: subject, text, fixes (pull requests of commits in
            the range that name an issue of the case as fixed).
        answer: whether it may be closed; None of a pull request, and where nobody asked.
    """

    repo: str
    number: int
    facts: Row
    gold: Sequence[Row]
    predictions: Sequence[Row]
    links: Sequence[Row]
    cases: Sequence[Row]
    script: Script | NoScript | None
    timeline: Timeline | None
    statuses: Sequence[Row]
    verdicts: Sequence[MatrixEntry]
    fix_tests: Sequence[Row] = ()
    bisections: Sequence[Row] = ()
    answer: Answer | None = None

    def row(self) -> dict[str, Any]:
        """The report as plain data."""
        made = {column.name: getattr(self, column.name) for column in fields(self)}
        return made | {
            "cases": [case | {"script": case["script"].row()} for case in self.cases],
            "address": f"https://github.com/{self.repo}/issues/{self.number}",
            "headline": headline(self),
            "answer": self.answer and asdict(self.answer),
            "behaviour": self.behaviour or None,
            "timeline": self.timeline and asdict(self.timeline),
            "script": self.script and asdict(self.script),
            "verdicts": [entry.row() for entry in self.verdicts],
        }

    @property
    def behaviour(self) -> str:
        """What the script of the report does, in one sentence, or why there is none."""
        return answer(self.number, self.script, self.timeline)

    @property
    def disagreements(self) -> list[tuple[Row, list[str]]]:
        """Predictions that no gold label of their scheme agrees with, with the values of those gold labels."""
        return [
            (row, values)
            for row in self.predictions
            if (values := sorted({g["value"] for g in self.gold if g["scheme"] == row["scheme"]}))
            and row["value"] not in values
        ]


# ---- the verdict in one line ---------------------------------------------------------------------------------------

_WORDS = {
    "occurs": "{} occurs",
    "changed": "{} shows in another way than reported",
    "inconclusive": "undecided",
    "control_failed": "undecided, the control did not show it either,",
    "not_seen": "{} was not seen",
    "absent": "{} is gone",
    "untestable": "cannot be tested",
}
"""A verdict in words, around what it speaks of."""
_PREFIXES: Mapping[SpeaksOf, str] = {
    "report": "",
    "another_input": "another input than the report's: ",
    "not_compared": "a script that nobody compared with the report: ",
}


def headline(report: ItemReport) -> str:
    """The verdict on the newest build in one line: k of n runs, since when, and what a reader of the report doubts.

    Where no case is the report's own, it says so before anything else. Without a case: what the report's script does.
    """
    if not report.verdicts:
        if report.cases:
            return f"Not run yet: `embers run {report.number}`"
        told = "" if report.timeline else _fix_test(report.fix_tests)
        return told or report.behaviour or "Not run: there is no case, and no text of a report to take a script from"
    verdicts = preferred(report.verdicts)
    newest = builds_of(verdicts)[-1]
    decided = item_verdict(report.cases, [e for e in verdicts if e.build == newest])
    entry = decided.entry
    reading = readings_of(report.repo, report.number).get(entry.case)
    doubt = reading.doubt if reading and decided.speaks_of == "report" else ""
    line = f"{_said(entry.verdict, decided.speaks_of, in_part=bool(doubt))} on torch {newest}"
    line += f" ({entry.k}/{entry.n} runs of {entry.case} on {entry.machine})"
    of_case = [e for e in report.verdicts if e.case == entry.case]
    ever = any(e.verdict == "occurs" for e in of_case)
    if entry.provenance != OWN:  # old builds use a lower capability, so one machine has two environments
        history = [e for e in of_case if (e.provenance, e.processor) == (entry.provenance, entry.processor)]
        line = f"{line}{_since(history, ever=ever)}; {entry.provenance} verdict"
    else:
        history = [e for e in preferred(of_case) if e.environment == entry.environment]
        line += _since(history, ever=ever)
    if decided.also_occurs:
        line += "; another input of the same kind occurs there"
    return f"{line}. A reader doubts a part of it: {doubt}" if doubt else line


def _fix_test(fix_tests: Sequence[Row]) -> str:
    """What a validated test of the fix says, where the item has no case and one was run elsewhere; else nothing."""
    for test in fix_tests:
        if test["class"] == "validated" and test["relation"] == "same" and test["shows_bug"] in ("right", None):
            failed = test["failed"][-1]
            passed = [version for version in test["passed"] if version_key(version) > version_key(failed)]
            if not passed:
                continue
            until = f" to {passed[-1]}" if len(passed) > 1 else ""
            name = f"the test of its fix, {test['test']}"
            return f"No case here; {name}, fails on torch {failed} and passes on {passed[0]}{until} (one run each)"
    return ""


def _said(verdict: str, of: SpeaksOf, *, in_part: bool) -> str:
    """A verdict in words, with what it speaks of before it."""
    what = "what the case shows of the report" if in_part else "the bug" if of == "report" else "the failure"
    said = _PREFIXES[of] + _WORDS.get(verdict, _WORDS["inconclusive"]).format(what)
    return said[0].upper() + said[1:]


def _since(history: Sequence[MatrixEntry], *, ever: bool) -> str:
    """From which build on the newest verdict of a case holds, without a gap: only an absence says that it is gone.

    Args:
        history: of one place, oldest build first.
        ever: whether the case occurs on any build, there or elsewhere.
    """
    decisive = [deciding(same) for _, same in groupby(history, key=lambda e: e.build)]
    tested = [e for e in decisive if e.verdict != "untestable"]
    if tested[-1:] != decisive[-1:]:
        return ""
    newest = tested[-1].verdict
    lasting = list(takewhile(lambda e: e.verdict == newest, reversed(tested)))
    before, first = tested[: -len(lasting)], lasting[-1].build
    seen = [e.build for e in tested if e.verdict == "occurs"]
    match newest:
        case "occurs" if len(tested) == 1:
            return ", the only build tested there"
        case "occurs" if not before:
            return f", on every tested build from {first}"
        case "occurs" if before[-1].verdict == "absent":
            return f", since {first}"
        case "occurs":
            return f", first seen on {seen[0]}"
        case "absent" if seen:
            return f", last seen on {seen[-1]}, gone since {first}"
        case "not_seen" if seen:
            return f", last seen on {seen[-1]}: nothing shows that it is gone"
        case "not_seen" if not before and not ever:
            every = "as on every tested build" if len(tested) > 1 else "the only build tested there"
            return f", {every}: nothing here shows that it ever occurred"
    return ""
