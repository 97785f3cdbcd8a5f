"""What an audit looks like: for people, as JSON, as SARIF, and as a CycloneDX document with VEX statements."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import uuid4

from torch_embers import sarif_output
from torch_embers.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.audit.audit_code import Audited, AuditFinding
    from torch_embers.audit.ignores import Ignored, Place
    from torch_embers.audit.known import Bug, Severity

LEVELS: dict[Severity, sarif_output.Level] = {"high": "error", "medium": "warning", "low": "note"}
SHOWN_PLACES = 5
"""Lines that are named of a high finding; of a possible one, the first is."""
CONSEQUENCES = {
    "silent_correctness": "wrong result",
    "nan_inf": "not a number",
    "crash": "crash",
    "hang": "hang",
    "runtime_error": "error",
    "performance": "slow",
}
"""What a user sees, in words."""
SHORT_COMMIT = 10
AUDITED = "audited-code"
"""How a CycloneDX document refers to the code that was read."""
TORCH = "https://github.com/pytorch/pytorch"
OTHERS = "Only the code given was read: a library that it calls is audited by naming it."
LIMITS = f"{OTHERS} A bug needs the input that its line names, too; a call alone is no proof of a wrong result."
"""What an audit does not say."""


def lines(done: Audited, *, possible: bool = False) -> list[str]:
    """The audit for people: a sentence, then the high findings, and with ``possible`` the others, too."""
    others = [finding for finding in done.findings if finding.confidence != "high"]
    made = [summary(done), *[line for same in _merged(done.high) for line in _finding(*same)]]
    if done.subject and others:
        made += [
            "",
            f"{_count(len(_merged(others)), 'possible finding')}{':' if possible else ': --possible shows them'}",
        ]
    if possible or not done.subject:
        made += [line for same in _merged(others) for line in _finding(*same)]
    return [*made, "", *_foot(done)]


def summary(done: Audited) -> str:
    """How many findings are high, in how many files, and the worst; without code, how many bugs the release has."""
    known = done.known
    if not done.subject:
        return f"{len(known.bugs)} of {known.decided} known bugs that could be decided occur on {_release(done)}."
    where = {place.file for finding in done.high for place in finding.places}
    if not done.high:
        return f"No high finding in {_count(done.files, 'file')} against {_release(done)}."
    worst = done.high[0]
    return (
        f"{_count(len(_merged(done.high)), 'high finding')} in {len(where)} of {_count(done.files, 'file')} against "
        f"{_release(done)}; the worst: {_seen(worst.bug)} from {worst.used[0]} at {_place(worst.places[0])}."
    )


def _release(done: Audited) -> str:
    instead = "" if done.known.exact else f" (nothing was measured on {done.asked} itself)"
    return f"torch {done.known.release}{instead}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _place(place: Place) -> str:
    return f"{place.file}:{place.line}"


def _seen(bug: Bug) -> str:
    """What a user sees of a bug, in words."""
    return CONSEQUENCES.get(bug.case.labels["consequence"], "another failure")


def _merged(findings: Sequence[AuditFinding]) -> list[list[AuditFinding]]:
    """Findings of one rule at the same places are one to a reader."""
    made: dict[object, list[AuditFinding]] = {}
    for finding in findings:
        made.setdefault((finding.bug.rule.when, finding.places or finding.bug.case.name), []).append(finding)
    return list(made.values())


def _finding(first: AuditFinding, *more: AuditFinding) -> list[str]:
    bug = first.bug
    most = SHOWN_PLACES if first.confidence == "high" else 1
    shown = [_place(place) for place in first.places[:most]]
    others = len(first.places) - len(shown)
    where = ", ".join(shown) + (f" and {others:,} more" if others > 0 else "")
    return [
        "",
        *[f"{_seen(one.bug)}  {_name(one.bug)}  {_tracker(one.bug)}; {_fixed(one.bug)}" for one in (first, *more)],
        *([f"  {', '.join(first.used)}: {where}"] if shown else []),
        f"  needs: {bug.rule.when}; the case: {bug.seen}",
        f"  instead: {bug.rule.workaround}",
    ]


def _foot(done: Audited) -> list[str]:
    known = done.known
    built = f" (commit {known.commit[:SHORT_COMMIT]})" if known.commit else ""
    told = [f"cannot be read: {path}: {why}" for path, why in done.unread.items()]
    told += [f"expired: {line}, so the finding counts" for line in done.expired]
    told += [f"cannot be told: {path}:{place.line} {place.why}" for path, place in done.dynamic[: 2 * SHOWN_PLACES]]
    if (more := len(done.dynamic) - 2 * SHOWN_PLACES) > 0:
        told.append(f"cannot be told: {more} more places whose names are made at run time")
    if done.intended:
        told.append(f"left out: {done.intended} that maintainers call intended or superseded (--intended shows them)")
    if done.ignored:
        told.append(f"ignored: {_count(len(done.ignored), 'place')}, by comments, --ignore or the baseline")
    if done.files and not done.files_with_torch:
        told.append("no file that was read imports torch")
    told.append(f"torch {known.release}{built} was measured on {'; '.join(known.environments)}")
    return [*told, *([LIMITS] if done.files else [])]


def _name(bug: Bug) -> str:
    return ", ".join(bug.issues) or f"{bug.case.name} (no issue)"


def _tracker(bug: Bug) -> str:
    if bug.standing == "unknown":
        return "not known what became of it" if bug.issues else "not reported"
    return "open" if bug.standing == "open" else f"closed as {bug.standing}"


def _fixed(bug: Bug) -> str:
    return f"gone in {bug.fixed_in}" if bug.fixed_in else "no release is known to be free of it"


def rows(done: Audited) -> dict[str, Any]:
    """The audit for programs; keys are explained in docs/json.md."""
    return {
        **_measured(done),
        "bugs": len(done.known.bugs),
        "decided": done.known.decided,
        "undecided": done.known.undecided,
        "files": done.files,
        "files_with_torch": done.files_with_torch,
        "findings": [_row(finding) for finding in done.findings],
        "ignored": [
            {"case": one.case, "file": str(one.place.file), "line": one.place.line, "reason": one.reason}
            for one in done.ignored
        ],
        "expired": list(done.expired),
        "not_met": [bug.case.name for bug in done.not_met],
        "intended_left_out": done.intended,
        "unread": {str(path): why for path, why in done.unread.items()},
        "dynamic": [{"file": str(path), "line": place.line, "why": place.why} for path, place in done.dynamic],
    }


def _row(finding: AuditFinding) -> dict[str, Any]:
    bug = finding.bug
    return {
        "case": bug.case.name,
        "issues": list(bug.issues),
        "severity": bug.severity,
        "consequence": bug.case.labels["consequence"],
        "tracker": bug.standing,
        "fixed_in": bug.fixed_in,
        "confidence": finding.confidence,
        "used": list(finding.used),
        "places": [{"file": str(place.file), "line": place.line} for place in finding.places],
        "when": bug.rule.when,
        "seen": bug.seen,
        "workaround": bug.rule.workaround,
        "evidence": bug.evidence,
    }


def sarif(done: Audited) -> dict[str, Any]:
    """A result per place; those that are ignored are suppressed with their reason."""
    results = [
        _result(finding.bug, _level(finding), place, {"confidence": finding.confidence})
        for finding in done.findings
        for place in finding.places or (None,)
    ]
    bugs = {bug.case.name: bug for bug in done.known.bugs}
    results += [_result(bugs[one.case], "note", one.place, {}) | _suppressed(one) for one in done.ignored]
    named = sorted({result["ruleId"] for result in results})
    about = {name: " ".join(bugs[name].case.summary.split()) for name in named}
    return sarif_output.document("embers audit", results, about, _measured(done))


def _result(bug: Bug, level: sarif_output.Level, place: Place | None, properties: dict[str, Any]) -> dict[str, Any]:
    text = f"{_name(bug)}: {bug.rule.when}: {bug.seen}. Instead: {bug.rule.workaround}"
    made = sarif_output.result(bug.case.name, level, text, (place.file, place.line) if place else None)
    return made | ({"properties": properties} if properties else {})


def _suppressed(one: Ignored) -> dict[str, Any]:
    return {"suppressions": [{"kind": "inSource" if one.in_source else "external", "justification": one.reason}]}


def _level(finding: AuditFinding) -> sarif_output.Level:
    """By severity where the text shows what the bug needs; all else is a note."""
    return LEVELS[finding.bug.severity] if finding.confidence == "high" else "note"


def _measured(done: Audited) -> dict[str, Any]:
    """What the findings rest on: releases, commit and environments."""
    return {
        "torch": done.asked,
        "measured_on": done.known.release,
        "commit": done.known.commit,
        "environments": list(done.known.environments),
    }


def vex(done: Audited) -> dict[str, Any]:
    """The known bugs of the release as CycloneDX 1.6, each with a statement on the audited code.

    Each document has a number and a time of its own, as the format asks for. It is about that code, and says of torch
    only that the code depends on it: that a bug is out of its reach makes no torch free of the bug. Without code it is
    about torch. ``exploitable`` is the format's word for a product that is affected. Where names are made at run time,
    nobody can say that a bug is out of reach, and the statement is ``in_triage``.

    Source: https://cyclonedx.org/docs/1.6/json/#vulnerabilities
    """
    torch = _torch(done)
    code = {"type": "application", "name": done.subject, "bom-ref": AUDITED} if done.subject else None
    out_of_reach: dict[str, Any] = (
        {"state": "in_triage", "detail": "the code makes names at run time, or a file could not be read"}
        if done.dynamic or done.unread
        else {"state": "not_affected", "justification": "code_not_reachable", "detail": LIMITS}
    )
    surest = {finding.bug.case.name: finding for finding in reversed(done.findings)}
    stated = [
        *[(finding.bug, _state(finding)) for finding in surest.values()],
        *[(bug, out_of_reach) for bug in done.not_met],
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid4().urn,
        "version": 1,
        "metadata": {
            "timestamp": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            "tools": {"components": [{"type": "application", "name": "embers audit", "version": __version__}]},
            "component": code or torch,
        },
        "components": [torch] if code else [],
        "dependencies": [{"ref": AUDITED, "dependsOn": [torch["bom-ref"]]}] if code else [],
        "vulnerabilities": [
            {
                "id": bug.case.name,
                "references": [
                    {"id": item, "source": {"name": "GitHub", "url": _address(item)}} for item in bug.issues
                ],
                "description": f"{bug.rule.when}: {bug.seen}",
                "ratings": [{"severity": bug.severity, "method": "other", "justification": "by its consequence"}],
                "recommendation": _fixed(bug),
                "workaround": bug.rule.workaround,
                "analysis": analysis,
                "affects": [{"ref": (code or torch)["bom-ref"]}],
            }
            for bug, analysis in stated
        ],
    }


def _torch(done: Audited) -> dict[str, Any]:
    """The release that was asked for; which one was measured in its place, and where, are properties."""
    package = f"pkg:pypi/torch@{quote(done.asked, safe='')}"
    measured = [("release", done.known.release), *(("environment", place) for place in done.known.environments)]
    return {
        "type": "library",
        "name": "torch",
        "version": done.asked,
        "purl": package,
        "bom-ref": package,
        "properties": [{"name": f"embers:measured_{kind}", "value": value} for kind, value in measured],
    } | (_pedigree(done.known.commit) if done.known.exact else {})


def _pedigree(commit: str | None) -> dict[str, Any]:
    """What the release was built of, where that was read."""
    return {"pedigree": {"commits": [{"uid": commit, "url": f"{TORCH}/commit/{commit}"}]}} if commit else {}


def _state(finding: AuditFinding) -> dict[str, Any]:
    if finding.confidence == "high":
        return {"state": "exploitable", "detail": f"calls {', '.join(finding.used)}"}
    return {
        "state": "in_triage",
        "detail": f"may use {', '.join(finding.used)}" if finding.used else "no code was given",
    }


def _address(item: str) -> str:
    repo, _, number = item.partition("#")
    return f"https://github.com/{repo}/issues/{number}"
