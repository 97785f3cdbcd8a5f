"""What an audit looks like: for people, as JSON, as SARIF, and as a CycloneDX document with VEX statements."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torch_embers import console, sarif_output
from torch_embers.version import __version__

if TYPE_CHECKING:
    from torch_embers.audit.command import Audited, Finding
    from torch_embers.audit.known import Bug, Severity

LEVELS: dict[Severity, sarif_output.Level] = {"high": "error", "medium": "warning", "low": "note"}
SHOWN_PLACES = 5
"""Lines that are named of a bug that the code calls; of one that it may call, the first is."""
SHORT_COMMIT = 10
AUDITED = "audited-code"
"""How a CycloneDX document refers to the code that was read."""
TORCH = "https://github.com/pytorch/pytorch"
OTHERS = "Only the code given was read: a library that it calls is audited by naming it."
LIMITS = f"{OTHERS} A bug needs the input that its line names, too; a call alone is no proof of a wrong result."


def lines(done: Audited) -> list[str]:
    """The audit for people, worst findings first."""
    made = _head(done)
    for kind, findings in groupby(done.findings, key=lambda finding: finding.bug.spelling.input):
        made += ["", f"with {kind} inputs", *[line for finding in findings for line in _finding(finding)]]
    return [*made, *_foot(done)]


def _head(done: Audited) -> list[str]:
    known = done.known
    built = f" (commit {known.commit[:SHORT_COMMIT]})" if known.commit else ""
    instead = "" if known.exact else f" (nothing was measured on {done.asked} itself)"
    return [
        f"torch {known.release}{built}{instead}: "
        f"{len(known.bugs)} of {known.decided} known bugs that could be decided occur",
        f"measured on {'; '.join(known.environments)}",
    ]


def _finding(finding: Finding) -> list[str]:
    bug = finding.bug
    most = SHOWN_PLACES if finding.nearness == "calls" else 1
    shown = [f"{place.file}:{place.line}" for place in finding.places[:most]]
    more = len(finding.places) - len(shown)
    where = ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")
    used = f"{finding.nearness} {', '.join(finding.used)}: {where}" if shown else ""
    return [
        "",
        f"{bug.severity}  {_name(bug)}  {_tracker(bug)}; {_fixed(bug)}",
        f"  {bug.spelling.when}: {bug.seen}",
        *([f"  {used}"] if used else []),
        f"  instead: {bug.spelling.workaround}",
    ]


def _foot(done: Audited) -> list[str]:
    told = [f"cannot be read: {path}: {why}" for path, why in done.unread.items()]
    told += [f"cannot be told: {path}:{place.line} {place.why}" for path, place in done.dynamic[: 2 * SHOWN_PLACES]]
    if (more := len(done.dynamic) - 2 * SHOWN_PLACES) > 0:
        told.append(f"cannot be told: {more} more places whose names are made at run time")
    if done.intended:
        told.append(f"left out: {done.intended} that maintainers call intended or superseded (--intended shows them)")
    total = len(done.findings) + len(done.not_met)
    if done.files and not done.files_with_torch and not done.findings:
        return [
            "",
            *told,
            f"no file that was read imports torch: none of {total} bugs can be met by {done.files} files",
            OTHERS,
        ]
    count = f"{len(done.findings)} of {total} bugs can be met by {done.files} files"
    return ["", *told, *([count, LIMITS] if done.files else [])]


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
        "not_met": [bug.case.name for bug in done.not_met],
        "intended_left_out": done.intended,
        "unread": {str(path): why for path, why in done.unread.items()},
        "dynamic": [{"file": str(path), "line": place.line, "why": place.why} for path, place in done.dynamic],
    }


def _row(finding: Finding) -> dict[str, Any]:
    bug = finding.bug
    return {
        "case": bug.case.name,
        "issues": list(bug.issues),
        "severity": bug.severity,
        "consequence": bug.case.labels["consequence"],
        "tracker": bug.standing,
        "fixed_in": bug.fixed_in,
        "nearness": finding.nearness,
        "shown": finding.is_shown,
        "used": list(finding.used),
        "places": [{"file": str(place.file), "line": place.line} for place in finding.places],
        "input": bug.spelling.input,
        "when": bug.spelling.when,
        "seen": bug.seen,
        "workaround": bug.spelling.workaround,
        "evidence": bug.evidence,
    }


def sarif(done: Audited) -> dict[str, Any]:
    """A result per place."""
    results = [
        sarif_output.result(
            finding.bug.case.name,
            _level(finding),
            f"{_name(finding.bug)}: {finding.bug.spelling.when}: {finding.bug.seen}. "
            f"Instead: {finding.bug.spelling.workaround}",
            (place.file, place.line) if place else None,
        )
        for finding in done.findings
        for place in finding.places or (None,)
    ]
    about = {finding.bug.case.name: " ".join(finding.bug.case.summary.split()) for finding in done.findings}
    return sarif_output.document("embers audit", results, about, _measured(done))


def _level(finding: Finding) -> sarif_output.Level:
    """By severity where the text shows what the bug needs; a call alone is a warning at most, all else a note."""
    level = LEVELS[finding.bug.severity] if finding.nearness == "calls" else "note"
    return "warning" if level == "error" and not finding.is_shown else level


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

    The document is about that code, and says of torch only that the code depends on it: that a bug is out of its reach
    makes no torch free of the bug. Without code it is about torch. ``exploitable`` is the format's word for a product
    that is affected. Where names are made at run time, nobody can say that a bug is out of reach, and the statement is
    ``in_triage``.

    Source: https://cyclonedx.org/docs/1.6/json/#vulnerabilities
    """
    torch = _torch(done)
    code = {"type": "application", "name": done.subject, "bom-ref": AUDITED} if done.subject else None
    out_of_reach: dict[str, Any] = (
        {"state": "in_triage", "detail": "the code makes names at run time, or a file could not be read"}
        if done.dynamic or done.unread
        else {"state": "not_affected", "justification": "code_not_reachable", "detail": LIMITS}
    )
    stated = [
        *[(finding.bug, _state(finding)) for finding in done.findings],
        *[(bug, out_of_reach) for bug in done.not_met],
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
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
                "description": f"{bug.spelling.when}: {bug.seen}",
                "ratings": [{"severity": bug.severity, "method": "other", "justification": "by its consequence"}],
                "recommendation": _fixed(bug),
                "workaround": bug.spelling.workaround,
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


def _state(finding: Finding) -> dict[str, Any]:
    if finding.is_shown:
        return {"state": "exploitable", "detail": f"calls {', '.join(finding.used)}"}
    return {
        "state": "in_triage",
        "detail": f"{finding.nearness} {', '.join(finding.used)}" if finding.used else "no code was given",
    }


def _address(item: str) -> str:
    repo, _, number = item.partition("#")
    return f"https://github.com/{repo}/issues/{number}"


def print_lines(done: Audited) -> None:
    """Print the audit for people."""
    out = console.stdout()
    for line in lines(done):
        out.print(console.plain(line))
