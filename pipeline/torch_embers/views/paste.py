"""What a triager can paste below an issue: the answer, one folded table of runs, the whole script. Pure.

Nothing is posted. What was not seen any more is not called fixed.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from torch_embers.cases import shipped_verdicts
from torch_embers.errors import InputError
from torch_embers.extract.script import Script
from torch_embers.judgements import readings_of
from torch_embers.templates import render
from torch_embers.verdicts.matrix import builds_of, either, preferred, span
from torch_embers.views.item_report import headline
from torch_embers.views.script_text import MATCHES, command, ending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.verdicts.matrix import MatrixEntry
    from torch_embers.views.item_report import ItemReport

LONGEST_COMMENT = 65_536
"""Characters that GitHub takes."""
_WORDS = {
    "occurs": "the runs showed the reported failure",
    "absent": "they did not, and the same number of runs on the control's build does",
    "not_seen": "clean runs, but nothing shows that they would have seen it",
}
_NO_FIX = "Clean runs do not say that it was fixed, nor by which change."
_ELSEWHERE = (
    "the control ran on another kind of machine than the newest release. Another kernel, and no fix, may be why it is "
    "not seen."
)


def text(report: ItemReport) -> str:
    """Markdown under 60 KB for nearly every item: what stands between fences runs as it stands.

    Raises:
        InputError: no case of it, nor its script or a test of its fix, was ever run.
    """
    if not report.verdicts and not report.timeline and not any(test["passed"] for test in report.fix_tests):
        raise InputError(f"nothing of {report.repo}#{report.number} ran: {headline(report)}")
    seen = {entry.verdict for entry in preferred(report.verdicts)}
    return render(
        "views",
        "paste.md",
        report=report,
        headline=headline(report),
        rows=_rows(report),
        verdicts=[verdict for verdict in _WORDS if verdict in seen],
        words=_WORDS,
        limits=[*_limits(report), *_places(report)],
        scripts=_scripts(report),
    )


def _rows(report: ItemReport) -> Iterator[tuple[str, ...]]:
    """A row for each run of neighbouring releases that show the same: of the report's script, then of each case."""
    for segment in report.timeline.segments if report.timeline else ():
        seen = segment.shown if segment.match == "other" else segment.evidence or segment.shown
        told = ", ".join(filter(None, (ending(segment), MATCHES[segment.match])))
        yield "the report's script", span(segment.versions), told, str(segment.runs), "", seen
    for case in report.cases:
        verdicts = [entry for entry in preferred(report.verdicts) if entry.case == case["name"]]
        for verdict, same in groupby(verdicts, key=lambda entry: entry.verdict):
            rows = list(same)
            runs = either(f"{entry.k}/{entry.n}{' (flaky)' if entry.flaky else ''}" for entry in rows)
            control = either(entry.shown_control for entry in rows)
            yield case["name"], span(builds_of(rows)), verdict, runs, control, rows[-1].detail
    for test in report.fix_tests:
        for word, versions in (("fails", test["failed"]), ("passes", test["passed"])):
            if versions and test["relation"] == "same":
                yield f"test of the fix, {test['test']}", ", ".join(versions), word, "one a release", "", ""


def _limits(report: ItemReport) -> Iterator[str]:
    """What the runs do not say, one line each."""
    readings = readings_of(report.repo, report.number)
    for case in report.cases:
        reading = readings.get(case["name"])
        if reading is None:
            yield f"{case['name']}: nobody but its author compared it with the report."
        elif reading.doubt or not reading.decides:
            yield f"{case['name']}: {reading.doubt or reading.reason}"
        elif case["relation"] == "sibling":
            yield f"{case['name']}: another input than the report's."
        newest = [entry for entry in preferred(report.verdicts) if entry.case == case["name"]][-1:]
        if any(_control_elsewhere(report, entry) for entry in newest if entry.verdict == "absent"):
            yield f"{case['name']}: {_ELSEWHERE}"
    for found in report.bisections:
        named = " and ".join(f"#{number}" for number in found["fixes"] or ())
        yield f"Bisection of {found['subject']}: {found['text']}{f'; named there as the fix: {named}' if named else ''}"
    if report.answer and report.answer.rule in ("case_gone", "script_gone", "fix_test_passes"):
        yield _NO_FIX


def _control_elsewhere(report: ItemReport, newest: MatrixEntry) -> bool:
    """Whether the control ran with another processor or CPU capability than the newest build, where that may matter.

    It does not where the case occurs on the newest build's kind of machine, or is absent on the control's, too.
    """
    entries = [entry for entry in preferred(report.verdicts) if entry.case == newest.case]
    control = next((entry for entry in entries if entry.build == newest.control_build), newest)
    seen = {(entry.machine, entry.verdict) for entry in entries}
    if control.machine == newest.machine or seen & {(newest.machine, "occurs"), (control.machine, "absent")}:
        return False
    return (newest.case, control.environment) not in shipped_verdicts.absences()


def _places(report: ItemReport) -> Iterator[str]:
    """Where it ran: on another processor, device or system it may be otherwise."""
    verdicts = preferred(report.verdicts)
    for place in sorted({entry.place for entry in verdicts}):
        yield f"PyTorch {span(builds_of([entry for entry in verdicts if entry.place == place]))}: {place}"
    if report.timeline:
        yield f"The report's script: {report.timeline.environment}"


def _scripts(report: ItemReport) -> Iterator[tuple[str, str]]:
    """Name and code of everything that ran; above the report's script the variables that it sets."""
    if report.timeline and isinstance(script := report.script, Script):
        code = f"# {command(script)}\n{script.code}" if script.environment else script.code
        yield "The script of the report", code
    for case in report.cases:
        if any(entry.case == case["name"] for entry in report.verdicts):
            yield f"Case {case['name']}, which exits with 1 if the failure shows", case["script"].code
