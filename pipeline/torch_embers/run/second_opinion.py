"""A second opinion on "does this still occur?": what runs show, beside what was said when the item was closed.

Pure, but for ``of_item``. Only a reviewed case that shows the reporter's own input and claim (``same``) may speak of
the item; a sibling, or a script that nobody read, is shown and decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from torch_embers.errors import InputError
from torch_embers.escaping import item_link, markdown_block
from torch_embers.escaping import markdown as escaped
from torch_embers.run.bisect import rules as bisect_rules
from torch_embers.run.bisect.places import Place, known_replies
from torch_embers.run.bisect.report import sentence
from torch_embers.run.bisect.search import History, Reply, search
from torch_embers.run.item_report import deciding, report_of
from torch_embers.run.matrix import builds_of, preferred, version_key
from torch_embers.run.status import OWN_REPORT
from torch_embers.run.verdict import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.run.item_report import ItemReport
    from torch_embers.run.matrix import Entry
    from torch_embers.run.script import Script
    from torch_embers.store.store import Store

Conclusion = Literal["still occurs", "no longer occurs", "cannot be concluded"]

_REPORTED = """
SELECT e.status, e.reason, e.detail, a.code FROM extractions e
LEFT JOIN artifacts a ON a.name IN (e.name, 'x' || e.number) AND a.kind = 'verbatim'
WHERE e.repo = $repo AND e.number = $number
"""
_BISECTED = """
SELECT b.subject, b.kind, b.text FROM bisections b
JOIN cases c ON c.name = b.subject AND c.current AND b.started_at >= c.saved_at
WHERE b.finished_at IS NOT NULL ORDER BY b.finished_at
"""
"""Bisections of the text that a case has now: those begun after that text was saved."""
_BUILDS = """
SELECT DISTINCT split_part(b.version, '+', 1) FROM latest_verdicts v
JOIN builds b ON b.build = v.build JOIN cases c ON c.case_hash = v.case_hash AND c.current
"""


@dataclass(frozen=True, slots=True)
class CaseOpinion:
    """What one case shows.

    Attributes:
        relation: to the item: same, sibling, or None where nobody compared them.
        speaks: whether it may speak of the item: a reviewed case that is the report's own.
        newest: its verdict on the newest build that it ran on, None without any; ``occurs`` where environments differ.
        reference: the build that the opinion is about; an older verdict concludes nothing.
        differing: builds on which environments differ, the newest first, with what each says.
        history: what all its verdicts say together.
        versions: builds of the history, oldest first.
        bisected: the answer of a bisection that was run here.
    """

    name: str
    origin: str
    relation: str | None
    speaks: bool
    newest: Entry | None
    reference: str
    differing: tuple[str, ...]
    history: History
    versions: tuple[str, ...]
    script: Script
    bisected: str = ""

    @property
    def last_with(self) -> str | None:
        """The last build that shows the bug."""
        return self.versions[self.history.ranges[-1][1]] if self.history.ranges else None

    @property
    def first_without(self) -> str | None:
        """The first decided build after it that does not; None where the newest still shows it."""
        if not self.history.ranges:
            return None
        last = self.history.ranges[-1][1]
        after = [n for n, reply in self.history.replies.items() if n > last and reply.answer == "no"]
        return self.versions[after[0]] if after else None

    @property
    def conclusion(self) -> Conclusion:
        """What it says of the reference build."""
        match self.newest.verdict if self.newest and self.newest.build == self.reference else "":
            case "occurs":
                return "still occurs"
            case "absent":
                return "no longer occurs"
            case _:
                return "cannot be concluded"


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The opinion on an item.

    Attributes:
        reported: the reporter's script as it stands in the report, empty where none was found.
        not_extracted: why there is none.
        fixes: items that are said to fix this one.
    """

    report: ItemReport
    cases: tuple[CaseOpinion, ...]
    reported: str
    not_extracted: str
    fixes: tuple[tuple[str, int], ...]

    @property
    def speaking(self) -> list[CaseOpinion]:
        """The cases that may speak of the item and are decided on the reference build."""
        return [case for case in self.cases if case.speaks and case.conclusion != "cannot be concluded"]

    @property
    def conclusion(self) -> Conclusion:
        """Any case that occurs decides; gone needs all that speak to be gone, also those that never ran."""
        said = {case.conclusion for case in self.cases if case.speaks}
        if "still occurs" in said:
            return "still occurs"
        return "no longer occurs" if said == {"no longer occurs"} else "cannot be concluded"

    @property
    def contradicts(self) -> bool:
        """Whether the item was closed as fixed and its own case still occurs."""
        facts = self.report.facts
        is_fixed = facts["state"] == "closed" and facts["disposition"] == "fixed" and facts["kind"] != "pull"
        return is_fixed and self.conclusion == "still occurs"


def opinion_of(entries: Sequence[Entry]) -> tuple[History, tuple[str, ...]]:
    """What verdicts of one case say together, and the builds in order; nothing is run."""
    chosen = preferred(entries)
    versions = tuple(builds_of(chosen))
    places = [Place(version) for version in versions]
    replies = known_replies(places, chosen, Rules.load())
    own = bisect_rules.load().search
    return search(len(places), lambda _: Reply("unknown", detail="no verdict"), own, min, known=replies), versions


def of_item(store: Store, repo: str, number: int) -> SecondOpinion:
    """The opinion on an item, from what the database holds.

    Raises:
        InputError: the item is unknown, or no case of it was ever run.
        StoreError: the database cannot be read.
    """
    report = report_of(store, repo, number)
    if not report.verdicts:
        raise InputError(
            f"{repo}#{number} has no verdict yet: run `embers run {number} --build all` first"
            if report.cases
            else f"{repo}#{number} has no case: see `embers show {number}`"
        )
    with store.read() as connection:
        found = connection.execute(_REPORTED, {"repo": repo, "number": number}).fetchall()
        bisected = {name: (kind, text) for name, kind, text in connection.execute(_BISECTED).fetchall()}
        builds = [version_key(build) for (build,) in connection.execute(_BUILDS).fetchall()]
    status, reason, detail, code = found[0] if found else ("", "", "", None)
    why = "" if code else f"{reason or status or 'not looked for'}{f': {detail}' if detail else ''}"
    release = max((build for build in builds if not build.is_prerelease), default="")
    return opinion_on(report, code or "", why, bisected, str(release))


def opinion_on(
    report: ItemReport,
    reported: str = "",
    not_extracted: str = "",
    bisected: Mapping[str, tuple[str, str]] | None = None,
    release: str = "",
) -> SecondOpinion:
    """The opinion on an item.

    Args:
        report: all that is known of it.
        reported: the reporter's script.
        not_extracted: why there is none.
        bisected: by case, the kind and the text of the answer of a bisection that was run.
        release: the newest release that any case ran on; without a verdict on it nothing is concluded.
    """
    reference = max([release, *builds_of(preferred(report.verdicts))], key=version_key)
    cases = tuple(_case(report, row, (bisected or {}).get(row["name"]), reference) for row in report.cases)
    fixes = tuple(
        (link["repo"], link["number"])
        for link in report.links
        if any(kind["relation"] == "fixes" and kind["inward"] for kind in link["kinds"])
    )
    return SecondOpinion(report, cases, reported, not_extracted, fixes)


def _case(report: ItemReport, row: dict[str, Any], bisected: tuple[str, str] | None, reference: str) -> CaseOpinion:
    entries = preferred([entry for entry in report.verdicts if entry.case == row["name"]])
    history, versions = opinion_of(entries)
    on_build = {version: [entry for entry in entries if entry.build == version] for version in versions}
    kind, text = bisected or ("", "")
    return CaseOpinion(
        row["name"],
        row["origin"],
        row["relation"],
        speaks=row["relation"] == "same" and row["origin"] in OWN_REPORT,
        newest=deciding(on_build[versions[-1]]) if versions else None,
        reference=reference,
        differing=tuple(filter(None, (_difference(on_build[version]) for version in reversed(versions)))),
        history=history,
        versions=versions,
        script=row["script"],
        bisected=text if history.kind in (kind, "cannot tell") else "",
    )


def _difference(entries: Sequence[Entry]) -> str:
    """What each environment says of one build where they differ; else nothing."""
    if len({entry.verdict for entry in entries}) == 1:
        return ""
    said = "; ".join(f"{entry.verdict} {entry.k}/{entry.n} with {entry.machine}" for entry in entries)
    return f"{entries[0].build} ({said})"


# ---- words ---------------------------------------------------------------------------------------------------------


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
                "history": sentence(case.history, case.versions),
                "bisected": case.bisected or None,
                "newest": case.newest.row() if case.newest else None,
                "script": case.script.row(),
            }
            for case in opinion.cases
        ],
        "reported_script": opinion.reported or None,
        "not_extracted": opinion.not_extracted or None,
        "said_to_fix": [f"{repo}#{number}" for repo, number in opinion.fixes],
        "cannot_conclude": limits(opinion),
    }


def lead(opinion: SecondOpinion) -> str:
    """The first sentence."""
    if not (speaking := opinion.speaking):
        return "It cannot be concluded whether this still occurs."
    deciding = next((case for case in speaking if case.conclusion == opinion.conclusion), speaking[0])
    entry = deciding.newest
    if entry is None:
        return "It cannot be concluded whether this still occurs."
    place = f"PyTorch {entry.build} ({entry.k} of {entry.n} runs showed it; {entry.environment})"
    if opinion.conclusion == "still occurs":
        return f"This still occurs on {place}."
    if opinion.conclusion == "no longer occurs":
        since = (
            f" Last seen on {deciding.last_with}, not on {deciding.first_without}." if deciding.first_without else ""
        )
        return f"This no longer occurs on {place}.{since}"
    return "It cannot be concluded whether this still occurs."


def limits(opinion: SecondOpinion) -> list[str]:
    """What cannot be concluded, in sentences."""
    said = []
    if not any(case.speaks for case in opinion.cases):
        said.append(
            "No reviewed case shows the reporter's own input and claim; the scripts below are siblings, or nobody read "
            "them, so nothing follows for this report."
        )
    for case in opinion.cases:
        entry = case.newest
        if case.differing:
            said.append(f"{case.name} depends on the environment, on {', '.join(case.differing)}.")
        if entry is None:
            said.append(f"{case.name} was not run on any build.")
        elif entry.build != case.reference:
            said.append(
                f"{case.name} was not run on {case.reference}, the newest build here: {entry.verdict} on {entry.build} "
                "says nothing of it."
            )
        elif entry.verdict == "untestable":
            said.append(f"{case.name} cannot be tested here: {entry.detail}.")
        elif entry.verdict == "not_seen":
            too_rare = f"the control shows the bug too rarely ({entry.shown_control}) to show an absence"
            why = too_rare if entry.control == "build" else "no build here shows the bug"
            said.append(f"{case.name} was clean on {entry.build}, but {why}: it may be there.")
        elif entry.verdict in ("changed", "inconclusive", "control_failed"):
            said.append(f"{case.name} is {entry.verdict} on {entry.build}: {entry.detail}.")
        elif entry.verdict == "absent" and entry.detectable_rate is not None:
            rate = f"{entry.detectable_rate:.0%}"
            said.append(f"{case.name}: a bug that fires in fewer than {rate} of runs may have passed unseen.")
            said += _elsewhere(opinion, case, entry)
    if opinion.conclusion == "no longer occurs":
        said.append("Which change fixed it does not follow from versions alone; another path into the bug may remain.")
    if opinion.conclusion == "still occurs":
        said.append("That the failure is the one which was fixed, and not a new one alike, is for a person to decide.")
    said.append("It holds for the environments named; another processor or device may take another kernel.")
    return said


def _elsewhere(opinion: SecondOpinion, case: CaseOpinion, newest: Entry) -> list[str]:
    """That the control ran with another processor or CPU capability than the newest build, where that is so."""
    entries = [entry for entry in preferred(opinion.report.verdicts) if entry.case == case.name]
    control = next((entry for entry in entries if entry.build == newest.control_build), newest)
    if control.machine == newest.machine:
        return []
    return [
        f"The control of {case.name} ran on {control.build} with {control.machine}, {newest.build} with "
        f"{newest.machine}: the kernel path may be what changed, and not the bug."
    ]


def markdown(opinion: SecondOpinion) -> str:
    """The opinion in the form of PyTorch's bug report, for a person to paste; embers posts nothing."""
    report, facts = opinion.report, opinion.report.facts
    out = ["### Does this still occur?", "", f"**{escaped(lead(opinion), 500)}**", ""]
    out.append(f"{item_link(report.repo, report.number)}: {escaped(facts['title'] or '')}. State: {_state(opinion)}.")
    if opinion.fixes:
        out.append(f"Said to fix it: {', '.join(item_link(*item) for item in opinion.fixes)}; not built and run.")
    out += ["", "### Evidence", ""]
    out += [
        "| case | relation | newest build | result | runs that showed it | control | last with | first without |",
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
        out.append("| " + " | ".join(escaped(cell) for cell in cells) + " |")
    out.append("")
    for case in opinion.cases:
        out.append(f"- {escaped(case.name)}: {escaped(case.bisected or sentence(case.history, case.versions), 500)}")
    out += ["", "### Cannot be concluded", "", *(f"- {escaped(text, 500)}" for text in limits(opinion))]
    out += ["", "### Minimal example", ""]
    for case in opinion.cases:
        out += [f"{escaped(case.script.place)}", "", case.script.markdown(), ""]
    out += ["### The reporter's script, as it stands in the report", ""]
    none = f"None: {escaped(opinion.not_extracted)}"
    out.append(markdown_block(opinion.reported, "python") if opinion.reported else none)
    places = sorted({entry.place for entry in report.verdicts})
    out += ["", "### Versions", "", *(f"- {escaped(text)}" for text in places)]
    return "\n".join(out).rstrip() + "\n"


def _state(opinion: SecondOpinion) -> str:
    facts = opinion.report.facts
    if facts["state"] != "closed":
        return escaped(facts["state"] or "unknown")
    evidence = f" ({escaped(facts['closing_evidence'])})" if facts["closing_evidence"] else ""
    return f"closed, {escaped(facts['disposition'] or 'unknown')}{evidence}"
