"""What runs say of an item, in words: data, and Markdown to paste. What was not seen any more is not called fixed.

``markdown`` answers "does this still occur?", ``short`` in few lines; ``comment`` has the runs on every release.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import item_link, markdown_code
from torch_embers.escaping import markdown as escaped
from torch_embers.repro import shipped_verdicts
from torch_embers.run.item_report import LONGEST_CELL
from torch_embers.run.matrix import OWN, builds_of, preferred, span
from torch_embers.run.report_script_text import folded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.run.matrix import Entry
    from torch_embers.run.second_opinion import Bisected, CaseOpinion, SecondOpinion

LONGEST = 500
"""Characters of a sentence that holds text from outside."""
OPEN = "It cannot be concluded whether this still occurs."
_LEADS = {
    "still occurs": "This still occurs on PyTorch {}.",
    "no longer seen": "This was not seen any more on PyTorch {}.",
    "cannot be concluded": OPEN,
}
MADE_BY = (
    "Made by a program (embers show --paste) from stored runs. Whoever posts it has read it, and adds a conclusion "
    "in words of their own."
)
KEY = (
    "`occurs`: the runs showed the reported failure. `control`: the same script on a build that shows it. `absent`: a "
    "failure with the hit rate of the control would survive this many clean runs with a probability of at most 1 %; "
    "whether it was fixed, and by what, runs do not say. `not_seen`: the runs were clean, but no build here shows the "
    "failure, or the control shows it too rarely, so it may still be there."
)
SHOWN_COMMITS, SHOWN_SUBJECT, SHOWN_LIMITS = 3, 120, 3
SHORT_BY = "(Made by a program, embers show --paste, from stored runs. Whoever posts it has read it.)"
_NUMBER = re.compile(r"#([1-9][0-9]*)")


def as_table(opinion: SecondOpinion) -> dict[str, Any]:
    """The opinion as plain data."""
    facts = opinion.report.facts
    return {
        "item": f"{opinion.report.repo}#{opinion.report.number}",
        "title": facts["title"],
        "state": facts["state"],
        "disposition": facts["disposition"],
        "closing_evidence": facts["closing_evidence"],
        "conclusion": opinion.conclusion,
        "contradicts_closing": opinion.contradicts,
        "cases": [
            {
                "case": case.name,
                "origin": case.origin,
                "relation": case.relation,
                "speaks": case.speaks,
                "conclusion": case.conclusion,
                "last_with": case.last_with,
                "first_without": case.first_without,
                "history": history(case),
                "bisected": case.bisected.text if case.bisected else None,
                "commits": _commits(case.bisected),
                "compared": case.reading.reason if case.reading else None,
                "doubt": case.reading.doubt or None if case.reading else None,
                "newest": case.newest.row() if case.newest else None,
                "script": case.script.row(),
            }
            for case in opinion.cases
        ],
        "behaviour": opinion.report.behaviour or None,
        "said_to_fix": [f"{repo}#{number}" for repo, number in _fixes(opinion)],
        "cannot_conclude": limits(opinion),
    }


def _commits(found: Bisected | None) -> dict[str, Any] | None:
    if found is None or found.between is None:
        return None
    ends = {"before": found.between[0], "after": found.between[1]}
    return ends | {"basis": found.basis, "total": found.total, "likeliest": [dict(one) for one in found.commits]}


def lead(opinion: SecondOpinion) -> str:
    """The first sentences: what was seen, with control and place, and what ran."""
    if opinion.report.timeline and not any(case.speaks for case in opinion.cases):
        return _LEADS[opinion.conclusion].format(opinion.reference)
    if not (speaking := opinion.speaking) or opinion.conclusion == "cannot be concluded":
        return OPEN
    case = next((one for one in speaking if one.conclusion == opinion.conclusion), speaking[0])
    if (entry := case.newest) is None:
        return OPEN
    doubt = " A reader doubts a part of it: see the comparison." if case.reading and case.reading.doubt else ""
    said = "This still occurs" if opinion.conclusion == "still occurs" else "This was not seen any more"
    what = f"What ran is {case.name}, a reviewed case made from the report.{doubt}"
    return f"{said} on PyTorch {entry.build}: {_runs(case, entry)} {what}"


def _runs(case: CaseOpinion, entry: Entry) -> str:
    """How many runs showed it, and where; of an absence also the control, and since when."""
    control = since = ""
    if entry.verdict == "absent" and entry.control == "build":
        control = f"; of the control on {entry.control_build} {entry.control_k} of {entry.control_n} did"
    if entry.verdict == "absent" and case.first_without:
        since = f" Last seen on {case.last_with}, first not seen on {case.first_without}."
    return f"{entry.k} of {entry.n} runs showed it{control} ({entry.environment}).{since}"


def history(case: CaseOpinion) -> str:
    """On which builds a case was seen, on which not, and on which nothing was decided; the order is that of release."""
    words = {"yes": "seen on", "no": "not seen on", "unknown": "undecided on"}
    answers = [
        (case.history.replies[place].answer if place in case.history.replies else "unknown", version)
        for place, version in enumerate(case.versions)
    ]
    parts = []
    for answer, group in groupby(answers, key=lambda pair: pair[0]):
        parts.append(f"{words[answer]} {span([version for _, version in group])}")
    said = f"{'; '.join(parts)} ({len(answers)} build{'' if len(answers) == 1 else 's'} run)." if parts else "not run."
    return said[0].upper() + said[1:]


def limits(opinion: SecondOpinion) -> list[str]:
    """What cannot be concluded, in sentences."""
    said = []
    timeline = opinion.report.timeline
    if not timeline and not any(case.speaks for case in opinion.cases):
        said.append("No case may speak for this report, so that nothing follows for it; why stands beside each.")
    for case in opinion.cases:
        said += _set_aside(case) if not case.speaks else _of_case(opinion, case)
    if not timeline:
        said.append("The reporter's own script was not run.")
    elif timeline.device:
        said.append(f"The report is about {timeline.device}; what its script does on the CPU says nothing of it.")
    elif (newest := timeline.segments[-1].versions[-1]) != opinion.reference:
        said.append(f"The script ran up to {newest}, and not on {opinion.reference}, the newest release known here.")
    if opinion.conclusion == "no longer seen":
        said.append(
            "That it is not seen any more does not say that it was fixed, nor by which change. Another way to the same "
            "failure may remain."
        )
    if opinion.conclusion == "still occurs":
        said.append(
            "That it is the failure that was reported or fixed, and not a new one alike, is for a person to decide."
        )
    said.append(
        f"Only this was run: {_machines(opinion)}. Another processor, device, system or variant of the build may "
        "behave otherwise."
    )
    return said


def _machines(opinion: SecondOpinion) -> str:
    report = opinion.report
    of_script = {report.timeline.environment} if report.timeline else set()
    return "; ".join(sorted({entry.environment for entry in preferred(report.verdicts)} | of_script)) or "nothing"


def _set_aside(case: CaseOpinion) -> list[str]:
    """Why a case says nothing of the report."""
    if case.reading and not case.reading.decides:
        return [f"{case.name} says nothing of this report: {case.reading.doubt or case.reading.reason}"]
    kinds = {"sibling": "a sibling, another input or claim", "same": "a script that nobody compared with the report"}
    kind = kinds.get(case.relation or "", "a case that nobody compared with the report")
    return [f"{case.name} says nothing of this report: it is {kind}."]


def _of_case(opinion: SecondOpinion, case: CaseOpinion) -> list[str]:
    said = []
    if case.reading and case.reading.doubt:
        said.append(f"{case.name}, doubt of the reader: {case.reading.doubt}")
    if case.reading is None:
        said.append(f"Nobody but its author compared {case.name} with the report.")
    if case.differing:
        said.append(f"{case.name} depends on the environment, on {', '.join(case.differing)}.")
    entry = case.newest
    if entry is None:
        return [*said, f"{case.name} was not run on any build."]
    if entry.build != case.reference:
        return [
            *said,
            f"{case.name} was not run on {case.reference}, the newest build here: {entry.verdict} on {entry.build} "
            "says nothing of it.",
        ]
    return said + _of_verdict(opinion, case, entry)


def _of_verdict(opinion: SecondOpinion, case: CaseOpinion, entry: Entry) -> list[str]:
    if entry.verdict == "untestable":
        return [f"{case.name} cannot be tested here: {entry.detail}."]
    if entry.verdict == "not_seen":
        too_rare = f"the control shows the failure too rarely ({entry.shown_control}) to show an absence"
        why = too_rare if entry.control == "build" else "no build here shows the failure"
        return [f"{case.name} was clean on {entry.build}, but {why}: it may be there."]
    if entry.verdict in ("changed", "inconclusive", "control_failed"):
        return [f"{case.name} is {entry.verdict} on {entry.build}: {entry.detail}."]
    if entry.verdict == "absent" and entry.detectable_rate is not None:
        clean = f"{entry.n} clean runs" if entry.n != 1 else "one clean run"
        return [
            f"{case.name}: {clean} do not exclude a failure that shows in fewer than {entry.detectable_rate:.0%} of "
            "runs (at 99 % confidence).",
            *_elsewhere(opinion, case, entry),
        ]
    return []


def _elsewhere(opinion: SecondOpinion, case: CaseOpinion, newest: Entry) -> list[str]:
    """That the control ran with another processor or CPU capability than the newest build, where that may matter.

    It does not where the case occurs on the newest build's kind of machine, or is absent on the control's, too.
    """
    entries = [entry for entry in preferred(opinion.report.verdicts) if entry.case == case.name]
    control = next((entry for entry in entries if entry.build == newest.control_build), newest)
    seen = {(entry.machine, entry.verdict) for entry in entries}
    if control.machine == newest.machine or seen & {(newest.machine, "occurs"), (control.machine, "absent")}:
        return []
    if (case.name, control.environment) in shipped_verdicts.absences():
        return []
    return [
        f"{case.name}: the control ran on another kind of machine ({control.build}: {control.machine}; {newest.build}: "
        f"{newest.machine}). Another kernel, and no fix, may be why it is not seen."
    ]


def markdown(opinion: SecondOpinion) -> str:
    """The opinion under the headings of PyTorch's bug report, for a person to paste; embers posts nothing."""
    report, facts = opinion.report, opinion.report.facts
    out = ["### \N{BUG} Describe the bug", "", "#### Does this still occur?", ""]
    out += [f"**{escaped(lead(opinion), LONGEST)}**", ""]
    out.append(f"{item_link(report.repo, report.number)}: {escaped(facts['title'] or '')}. State: {_state(opinion)}.")
    if fixes := _fixes(opinion):
        named = ", ".join(item_link(*item) for item in fixes)
        out.append(f"Named as the fix: {named}. It was not built and run for this text.")
    out += ["", MADE_BY, ""]
    if report.behaviour:
        out += ["#### The report's script", "", escaped(report.behaviour, LONGEST), ""]
        out += folded(report.script, report.timeline)
    out += _of_cases(opinion) if opinion.cases else []
    out += ["#### Cannot be concluded", "", *(f"- {escaped(text, LONGEST)}" for text in limits(opinion))]
    out += ["", "### Versions", "", *(f"- {escaped(text, LONGEST)}" for text in _versions(opinion))]
    return "\n".join(out).rstrip() + "\n"


def _of_cases(opinion: SecondOpinion) -> list[str]:
    """What cases show, what a reader says of each beside the report, and their code."""
    out = ["#### Evidence", "", *_evidence(opinion), "", KEY, ""]
    for case in opinion.cases:
        out.append(f"- {escaped(case.name)}: {escaped(history(case), LONGEST)}")
        if case.bisected:
            out.append(f"  Answer of a bisection: {escaped(case.bisected.text, LONGEST)}")
            out += _landed(opinion.report.repo, case.bisected)
    out += ["", "#### What ran, beside the report", "", *(_compared(case) for case in opinion.cases)]
    out += ["", "#### Minimal example", ""]
    return out + [line for case in opinion.cases for line in _code(case)]


def comment(opinion: SecondOpinion) -> str:
    """The runs on every release: of the script of the report and of each case, with command and code."""
    report = opinion.report
    out = [
        "Runs of standalone scripts on released builds, written down by a program (embers show --paste --table):",
        "",
    ]
    if report.behaviour:
        out += [f"**{escaped(report.behaviour, LONGEST)}**", "", *folded(report.script, report.timeline)]
    for case in opinion.cases:
        verdicts = [entry for entry in preferred(report.verdicts) if entry.case == case.name]
        aside = [] if case.speaks else [escaped(text) for text in _set_aside(case)]
        out += [" ".join((_compared(case), *aside)), ""]
        for _, same in groupby(sorted(verdicts, key=lambda e: e.provenance), key=lambda e: e.provenance):
            out += ["| PyTorch | result | runs that showed it | control | what was seen |", f"|{' --- |' * 5}"]
            out += [*map(_row, same), ""]
        command = markdown_code(f"python {case.name}.py")
        out += [f"Command: {command} (exit code 1: the failure was seen, 0: it was not seen)", "", *_code(case)]
    out += [KEY, ""] * bool(opinion.cases)
    return "\n".join((*out, *(f"- {escaped(text, LONGEST)}" for text in _versions(opinion))))


def _row(entry: Entry) -> str:
    flaky = " (flaky)" if entry.flaky else ""
    cells = (entry.build, entry.verdict + flaky, f"{entry.k}/{entry.n}", entry.shown_control, entry.detail)
    return f"| {' | '.join(escaped(text, LONGEST_CELL) for text in cells)} |"


def _code(case: CaseOpinion) -> list[str]:
    return [escaped(case.script.place), "", case.script.markdown(), ""]


def _landed(repo: str, found: Bisected) -> list[str]:
    """The change that made the difference, as far as commits say: lines of a list of changes."""
    if found.between is None:
        return []
    before, after = found.between
    named = "; ".join(_commit(repo, commit) for commit in found.naming) or "none"
    lines = [
        f"  The change is one of {found.total} commits between {escaped(before)} and {escaped(after)} "
        f"({escaped(found.basis)}); named there as the fix of this issue: {named}. None of them was built and run."
    ]
    if not found.naming and found.commits:
        likeliest = "; ".join(_commit(repo, commit) for commit in found.commits[:SHOWN_COMMITS])
        lines.append(f"  The likeliest by files and words shared with the case: {likeliest}.")
    return lines


def _commit(repo: str, commit: Mapping[str, Any]) -> str:
    pull = f"{item_link(repo, commit['pull'])} " if commit["pull"] else ""
    return f"{pull}{escaped(commit['sha'][:12])}, {escaped(commit['subject'], SHOWN_SUBJECT)}"


def short(opinion: SecondOpinion) -> str:
    """The opinion in the form of the comment that PyTorch's triage skill (``scrub-issue``) writes.

    The sentences that it asks for, the runs behind them, and the case. What it does not hold is in ``markdown``.
    """
    case = next((one for one in opinion.speaking if one.conclusion == opinion.conclusion), None)
    report = opinion.report
    if case is None and opinion.conclusion != "cannot be concluded":
        word = "still" if opinion.conclusion == "still occurs" else "no longer"
        head = f"This issue {word} reproduces on PyTorch {escaped(opinion.reference)}."
        said = [escaped(report.behaviour, LONGEST), "", *folded(report.script, report.timeline), SHORT_BY]
        return "\n".join([head, "", *said]) + "\n"
    if case is None or (entry := case.newest) is None:
        behaviour = [f"{report.behaviour}."] if report.behaviour else []
        why = " ".join([*behaviour, *limits(opinion)[:SHOWN_LIMITS]])
        return f"Whether this issue still reproduces cannot be concluded. {escaped(why, LONGEST)}\n\n{SHORT_BY}\n"
    gone = opinion.conclusion == "no longer seen"
    out = [f"This issue {'no longer' if gone else 'still'} reproduces on PyTorch {escaped(entry.build)}.", ""]
    if gone and (fix := _fix(opinion, case)):
        out += [fix, ""]
    out += [escaped(_runs(case, entry), LONGEST), ""]
    out += [f"Minimized repro ({escaped(case.script.place)}):", "", case.script.markdown(), "", SHORT_BY]
    return "\n".join(out) + "\n"


def _fix(opinion: SecondOpinion, case: CaseOpinion) -> str:
    """The line that names the fix: as such only where a commit that names the issue is in the range of a bisection."""
    landed = sorted({one["pull"] for one in case.bisected.naming if one["pull"]}) if case.bisected else []
    if landed:
        return f"Fixed by {', '.join(item_link(opinion.report.repo, number) for number in landed)}."
    named = ", ".join(item_link(*item) for item in _fixes(opinion))
    return f"Named as the fix: {named}." if named else ""


def _evidence(opinion: SecondOpinion) -> list[str]:
    lines = [
        "| case | relation | newest build | result | runs that showed it | control | last seen | first not seen |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for case in opinion.cases:
        entry = case.newest
        cells = (
            case.name,
            case.relation or "not compared",
            entry.build if entry else "",
            entry.verdict if entry else "not run",
            f"{entry.k}/{entry.n}" if entry else "",
            entry.shown_control if entry else "",
            case.last_with or "none",
            case.first_without or "none",
        )
        lines.append("| " + " | ".join(escaped(cell) for cell in cells) + " |")
    return lines


def _compared(case: CaseOpinion) -> str:
    """What the case has of the report and what not, and who says so."""
    if case.reading is None:
        return f"- {escaped(case.name)}: nobody but its author compared it with the report."
    return f"- {escaped(case.name)}: {escaped(case.reading.text, 2 * LONGEST)}"


def _versions(opinion: SecondOpinion) -> list[str]:
    """The builds by the place where they ran, as the bug report asks for them."""
    verdicts = preferred(opinion.report.verdicts)
    lines = []
    for shipped, environment in sorted({(entry.provenance != OWN, entry.environment) for entry in verdicts}):
        at = [one for one in verdicts if (one.provenance != OWN, one.environment) == (shipped, environment)]
        source = " (verdicts shipped with torch-embers)" if shipped else ""
        lines.append(f"PyTorch {', '.join(builds_of(at))}: {environment}{source}")
    if timeline := opinion.report.timeline:
        ran = [version for segment in timeline.segments for version in segment.versions]
        lines.append(f"The report's script on PyTorch {span(ran)}: {timeline.environment}")
    return lines


def _fixes(opinion: SecondOpinion) -> list[tuple[str, int]]:
    """What is named as the fix: by links, or as the reference of the closing."""
    facts = opinion.report.facts
    named = _NUMBER.fullmatch(facts.get("closing_reference") or "") if facts["disposition"] == "fixed" else None
    closing = {(opinion.report.repo, int(named[1]))} if named else set()
    return sorted({*opinion.fixes, *closing})


def _state(opinion: SecondOpinion) -> str:
    facts = opinion.report.facts
    if facts["state"] != "closed":
        return escaped(facts["state"] or "unknown")
    if (disposition := facts["disposition"] or "unknown") == "unknown":
        return "closed; why was not read"
    evidence = f": {escaped(facts['closing_evidence'].rstrip('.'))}" if facts["closing_evidence"] else ""
    return f"closed, read as {escaped(disposition)}{evidence}"
