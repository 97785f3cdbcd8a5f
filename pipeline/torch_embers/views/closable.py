"""May an issue be closed? One answer with its reason, from all that is known of the issue. Pure.

The rules are data/closable.toml; here stands when each holds. Commands, report, texts to paste, dataset, Python and
assistants all say what ``closable`` says.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers import toml_models
from torch_embers.extract.script import NoScript, Script
from torch_embers.judgements import readings_of
from torch_embers.timeline.model import GAPS
from torch_embers.timeline.sentence import does
from torch_embers.verdicts.item_verdict import speaks_of
from torch_embers.verdicts.matrix import deciding, preferred, version_key
from torch_embers.verdicts.status import CONFIRMED, is_gone
from torch_embers.views.item_report import OCCURS, Answer, Closable, ItemReport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch_embers.verdicts.matrix import MatrixEntry

Fact = tuple[str, dict[str, Any]]
_NEITHER = "it is neither what was reported nor what was expected"
_NO_TEXT = "no case, and no text of the report was mined"
_CLOSED = {
    "fixed": ", although it was closed as fixed",
    "declined": "; it was closed as declined, which promises no fix",
    "superseded": "; it was closed as superseded, which promises no fix",
    "stale": "; it was closed as stale, which promises no fix",
}


class ClosableRule(toml_models.Entry):
    """A rule of data/closable.toml."""

    name: str
    closable: Closable
    because: str
    reason: str


class _File(toml_models.Entry):
    rule: tuple[ClosableRule, ...]


@cache
def rules() -> tuple[ClosableRule, ...]:
    """The rules in the order in which they are asked.

    Raises:
        InputError: data/closable.toml is wrong.
    """
    return toml_models.load(_File, "closable.toml").rule


def closable(report: ItemReport, release: str, lookup: Callable[[str, int], ItemReport | None]) -> Answer | None:
    """The answer for an item; None for a pull request, which is merged or not.

    Args:
        report: all that is known of it.
        release: that most ran on; an item that ran on a newer one is asked of that, and older ones decide nothing.
        lookup: what is known of another item, for the one that this is a duplicate of; None where nothing is.
    """
    if report.facts.get("kind") == "pull":
        return None
    number = _canonical(report)
    release = _release(report, release)
    facts = dict(_facts(report, release, lookup, number))
    rule = next(rule for rule in rules() if rule.name in facts)
    words = {"number": report.number, "release": release} | facts[rule.name]
    return Answer(rule.closable, rule.name, rule.because.format(**words), number)


def _facts(
    report: ItemReport, release: str, lookup: Callable[[str, int], ItemReport | None], canonical: int | None
) -> Iterator[Fact]:
    """The rules that hold, with the words for their braces."""
    if canonical is not None:
        yield from _duplicate(report, release, lookup, canonical)
    yield from _of_cases(report, release)
    yield from _of_script(report, release)
    yield from _of_fix_tests(report, release)
    ran = [case for case in report.cases if any(entry.case == case["name"] for entry in report.verdicts)]
    if report.cases and not ran:
        yield "not_run", {"what": "case"}
    if isinstance(report.script, Script) and report.timeline is None:
        yield "not_run", {"what": "script"}
    yield "nothing", {"why": report.script.detail if isinstance(report.script, NoScript) else _NO_TEXT}


def _closing(report: ItemReport) -> dict[str, str]:
    is_closed = report.facts.get("state") == "closed"
    return {"closing": _CLOSED.get(report.facts.get("disposition") or "", "") if is_closed else ""}


def _release(report: ItemReport, release: str) -> str:
    """The newest release that the item is asked of: ``release``, or a newer one on which it ran."""
    segments = report.timeline.segments if report.timeline else ()
    ran = {entry.build for entry in report.verdicts if entry.verdict != "untestable"}
    ran.update(version for segment in segments if segment.ending not in GAPS for version in segment.versions)
    return max((release, *(build for build in ran if not version_key(build).is_prerelease)), key=version_key)


def _canonical(report: ItemReport) -> int | None:
    """The item of this repository that this one is said to be a duplicate of.

    An issue that was opened again is one that its readers keep: only what closed it counts.
    """
    if (number := report.facts.get("duplicate_of")) is not None:
        return int(number)
    if report.facts.get("reopened"):
        return None
    named = [
        link["number"]
        for link in report.links
        if link["repo"] == report.repo
        and any(kind["relation"] == "duplicates" and not kind["inward"] for kind in link["kinds"])
    ]
    return named[0] if len(named) == 1 and named[0] != report.number else None


def _duplicate(
    report: ItemReport, release: str, lookup: Callable[[str, int], ItemReport | None], number: int
) -> Iterator[Fact]:
    other = lookup(report.repo, number)
    if other is not None and _canonical(other) == report.number:
        yield "duplicate", {"canonical": f"#{number}, which is called a duplicate of this one"}
        return
    title = " ".join((other.facts.get("title") or "").split()) if other else ""
    named = f"#{number}{f' ({title})' if title else ''}"
    if other is None or other.facts.get("kind") == "pull":
        yield "duplicate", {"canonical": named}
        return
    newest = _release(other, release)
    own = dict((*_of_cases(other, newest), *_of_script(other, newest), *_of_fix_tests(other, newest)))
    state = other.facts.get("state")
    if state == "open" and not own.keys().isdisjoint(OCCURS):
        yield "duplicate_of_what_occurs", {"canonical": named}
    known = "still occurs" if not own.keys().isdisjoint(OCCURS) else "is gone" if _gone(own) else "is not decided"
    yield "duplicate", {"canonical": f"{named}, which is {state or 'not mined'} and {known}"}


def _gone(facts: dict[str, dict[str, Any]]) -> bool:
    return not facts.keys().isdisjoint(("case_gone", "script_gone"))


def _of_cases(report: ItemReport, release: str) -> Iterator[Fact]:
    readings = readings_of(report.repo, report.number)
    own: list[str] = []
    others: list[str] = []
    for case in report.cases:
        reading = readings.get(case["name"])
        speaks = speaks_of(case["relation"], case["origin"]) == "report" and (reading is None or reading.decides)
        (own if speaks else others).append(case["name"])
    now = [entry for entry in preferred(report.verdicts) if entry.build == release]
    yield from _of_own(report, [[entry for entry in now if entry.case == name] for name in own])
    if seen := [entry for entry in now if entry.case in others and entry.verdict != "untestable"]:
        yield "another_input", {"said": _SAID.get(deciding(seen).verdict, "is not decided")}


_SAID = {"occurs": "occurs", "absent": "is gone"}


def _of_own(report: ItemReport, now: Sequence[Sequence[MatrixEntry]]) -> Iterator[Fact]:
    """What the report's own cases say on the newest release: one that occurs decides, gone needs all of them.

    Args:
        report: of the item.
        now: of each such case its verdicts on that release, of several environments or none.
    """
    decided = [deciding(entries) for entries in now if entries]
    if any(entry.verdict == "occurs" for entry in decided):
        yield "case_occurs", _closing(report)
    elif decided and len(decided) == len(now) and all(entry.verdict == "absent" for entry in decided):
        if all(_in_two_batches(report, entry.case, entry.build) for entry in decided):
            yield "case_gone", {"control": decided[0].control_build or "a fault that was put in"}
        yield "case_not_confirmed", {}
    elif len(decided) < len(now):
        yield "case_undecided", {"why": "it was not run there"}
    for entry in decided:
        if entry.verdict == "untestable":
            yield "untestable", {"why": entry.detail}
        elif entry.verdict not in ("occurs", "absent"):
            yield "case_undecided", {"why": f"{entry.verdict}{f', {entry.detail}' if entry.detail else ''}"}


def _in_two_batches(report: ItemReport, case: str, release: str) -> bool:
    """Whether a second batch was clean, too: a status that needs one, or the words of a shipped one."""
    here = [row for row in report.statuses if str(row.get("reference")).partition("+")[0] == release]
    lines = [line for row in here for line in (row.get("evidence") or "").splitlines()]
    told = any(line.startswith(f"{case}: absent ") and "; second batch absent 0/" in line for line in lines)
    return told or any(row["status"] in CONFIRMED for row in here)


def _of_script(report: ItemReport, release: str) -> Iterator[Fact]:
    """What the report's script says: only what the report itself quotes decides, on the newest release."""
    timeline = report.timeline
    if timeline is None:
        return
    if timeline.device:
        yield "device", {"device": timeline.device}
        return
    tested = [one for one in timeline.segments if version_key(one.versions[0]) <= version_key(release)]
    if not tested or release not in tested[-1].versions:
        yield "not_on_newest", {}
        return
    now = tested[-1]
    if now.ending in GAPS:
        yield "lacks_api", {"why": f"it lacks {now.what}" if now.ending == "lacks_api" else now.what}
        return
    segments = [one for one in tested if one.ending not in GAPS]
    reported = [place for place, segment in enumerate(segments) if segment.match == "as_reported"]
    if now.match is None:
        yield "script_silent", {"why": "a reader says that the script is about something else"}
        return
    if not reported:
        is_right = now.match == "as_expected"
        yield "script_silent", {"why": "what was reported shows on no release" if is_right else _NEITHER}
        return
    before, after = segments[reported[-1]], segments[reported[-1] + 1 :]
    if not after:
        yield "script_occurs", _closing(report)
    elif not is_gone(before, now):
        yield "script_silent", {"why": _NEITHER}
    elif not all(segment.confirmed for segment in after):
        yield "script_not_confirmed", {}
    else:
        since = after[0].versions[0]
        is_of_fix = after[0].at_fix and now.what == after[0].what
        if before.crashes and now.ending == "exception" and now.match != "as_expected" and not is_of_fix:
            yield "crash_became_error", {"since": since, "error": now.what}
        yield "script_gone", {"since": since, "now": does(now)}


def _of_fix_tests(report: ItemReport, release: str) -> Iterator[Fact]:
    """What tests of the fix say of this release that a reader found to show the bug of this issue; all have to pass."""
    read = [
        test
        for test in report.fix_tests
        if test["relation"] == "same" and test["shows_bug"] == "right" and test["passed"] and test["failed"]
    ]
    for test in read:
        passed, failed = test["passed"], test["failed"]
        later = [version for version in passed if version_key(version) > version_key(failed[-1])]
        if failed[-1] == release and test["shows_bug_again"] == "right":
            yield "fix_test_fails", {"test": test["test"], "passed": passed[-1]}
        elif all(other["failed"][-1] != release for other in read) and later[-1:] == [release]:
            yield "fix_test_passes", {"test": test["test"], "failed": failed[-1], "since": later[0]}
