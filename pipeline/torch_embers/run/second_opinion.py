"""A second opinion on "does this still occur?": what runs show, beside what was said when the item was closed.

Pure, but for ``of_item``. Only a reviewed case that shows the reporter's own input and claim (``same``) may speak of
the item, and where there is none, the report's script; a sibling is shown and decides nothing. The words:
``second_opinion_text.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from torch_embers.judgements import NOT_REPRODUCED, readings_of
from torch_embers.run.bisect import rules as bisect_rules
from torch_embers.run.bisect.places import Place, known_replies
from torch_embers.run.bisect.search import History, Reply, search
from torch_embers.run.item_report import report_of
from torch_embers.run.item_verdict import speaks_of
from torch_embers.run.matrix import builds_of, deciding, preferred, version_key
from torch_embers.run.status import is_gone
from torch_embers.statistics.absence import Rules
from torch_embers.timeline.model import GAPS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.judgements import Reading
    from torch_embers.run.item_report import ItemReport
    from torch_embers.run.matrix import Entry
    from torch_embers.run.script import Script
    from torch_embers.store.store import Store

Conclusion = Literal["still occurs", "no longer seen", "cannot be concluded"]

_BISECTED = """
SELECT b.subject, b.kind, b.text, b.commits_before, b.commits_after, b.commits_basis, b.commits_total,
    list({sha: c.sha, pull: c.pull, subject: c.subject, files: c.files, names_the_issue: c.names_the_issue}
        ORDER BY c.place) FILTER (c.sha IS NOT NULL)
FROM bisections b
JOIN cases own ON own.name = b.subject AND own.current AND b.started_at >= own.saved_at
LEFT JOIN bisection_commits c USING (session, number)
WHERE b.finished_at IS NOT NULL
GROUP BY b.session, b.number, b.subject, b.kind, b.text, b.commits_before, b.commits_after, b.commits_basis,
    b.commits_total, b.finished_at
ORDER BY b.finished_at
"""
"""Bisections of the text that a case has now: those begun after that text was saved."""
_BUILDS = """
SELECT DISTINCT split_part(b.version, '+', 1) FROM latest_verdicts v
JOIN builds b ON b.build = v.build JOIN cases c ON c.case_hash = v.case_hash AND c.current
"""


@dataclass(frozen=True, slots=True)
class Bisected:
    """What a bisection that was run here answered.

    Attributes:
        between: the builds between which its commits are; None where none were listed.
        basis: how these builds were found in the clone.
        total: commits between them.
        commits: the likeliest, with sha, pull, subject, files and names_the_issue.
    """

    kind: str
    text: str
    between: tuple[str, str] | None = None
    basis: str = ""
    total: int = 0
    commits: tuple[Mapping[str, Any], ...] = ()

    @property
    def naming(self) -> list[Mapping[str, Any]]:
        """The commits whose message names an issue of the case as fixed."""
        return [commit for commit in self.commits if commit["names_the_issue"]]


@dataclass(frozen=True, slots=True)
class CaseOpinion:
    """What one case shows.

    Attributes:
        relation: to the item: same, sibling, or None where nobody compared them.
        speaks: whether it may speak of the item: a reviewed case, the report's own, that no reader set aside.
        newest: its verdict on the newest build that it ran on, None without any; ``occurs`` where environments differ.
        reference: the build that the opinion is about; an older verdict concludes nothing.
        differing: builds on which environments differ, the newest first, with what each says.
        history: what all its verdicts say together.
        versions: builds of the history, oldest first.
        bisected: the answer of a bisection that was run here; None without one that agrees with the verdicts.
        reading: what a second reader says of it beside the thread, None where nobody but its author compared them.
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
    bisected: Bisected | None = None
    reading: Reading | None = None

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
                return "no longer seen"
            case _:
                return "cannot be concluded"


@dataclass(frozen=True, slots=True)
class SecondOpinion:
    """The opinion on an item.

    Attributes:
        reference: the build that the opinion is about.
        fixes: items that are said to fix this one.
    """

    report: ItemReport
    cases: tuple[CaseOpinion, ...]
    reference: str
    fixes: tuple[tuple[str, int], ...]

    @property
    def speaking(self) -> list[CaseOpinion]:
        """The cases that may speak of the item and are decided on the reference build."""
        return [case for case in self.cases if case.speaks and case.conclusion != "cannot be concluded"]

    @property
    def conclusion(self) -> Conclusion:
        """Any case that occurs decides; gone needs all that speak to be gone, also those that never ran."""
        said = {case.conclusion for case in self.cases if case.speaks}
        if not said:
            return self._of_script
        if "still occurs" in said:
            return "still occurs"
        return "no longer seen" if said == {"no longer seen"} else "cannot be concluded"

    @property
    def _of_script(self) -> Conclusion:
        """What the report's script says of the reference build: only what the report itself quotes decides."""
        timeline = self.report.timeline
        if timeline is None or timeline.device or timeline.segments[-1].ending in GAPS:
            return "cannot be concluded"
        segments = timeline.behaviours
        reported = [place for place, segment in enumerate(segments) if segment.match == "as_reported"]
        if not reported or segments[-1].versions[-1] != self.reference:
            return "cannot be concluded"
        after = segments[reported[-1] + 1 :]
        if not after:
            return "still occurs"
        gone = all(segment.confirmed for segment in after) and is_gone(segments[reported[-1]], segments[-1])
        return "no longer seen" if gone else "cannot be concluded"

    @property
    def contradicts(self) -> bool:
        """Whether the item was closed as fixed, or as not reproduced, and its own case still occurs."""
        facts = self.report.facts
        says_gone = facts["disposition"] == "fixed" or facts["closing_kind"] == NOT_REPRODUCED
        is_closed = facts["state"] == "closed" and facts["kind"] != "pull"
        return is_closed and says_gone and self.conclusion == "still occurs"


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
        InputError: the item is unknown, or neither a case of it nor its script was ever run.
        StoreError: the database cannot be read.
    """
    report = report_of(store, repo, number)
    report.require_runs()
    with store.read() as connection:
        bisected = dict(map(_bisected, connection.execute(_BISECTED).fetchall()))
        builds = [version_key(build) for (build,) in connection.execute(_BUILDS).fetchall()]
    release = max((build for build in builds if not build.is_prerelease), default="")
    return opinion_on(report, bisected, str(release), readings_of(repo, number))


def _bisected(row: tuple[Any, ...]) -> tuple[str, Bisected]:
    """The case, and the answer."""
    name, kind, text, before, after, basis, total, commits = row
    between = (before, after) if total is not None else None
    return name, Bisected(kind, text, between, basis or "", total or 0, tuple(commits or ()))


def opinion_on(
    report: ItemReport,
    bisected: Mapping[str, Bisected] | None = None,
    release: str = "",
    readings: Mapping[str, Reading] | None = None,
) -> SecondOpinion:
    """The opinion on an item.

    Args:
        report: all that is known of it.
        bisected: by case, the answer of a bisection that was run.
        release: the newest release that any case ran on; without a verdict on it nothing is concluded from a case.
        readings: what second readers say, by case.
    """
    ran = [version for segment in (report.timeline.segments if report.timeline else ()) for version in segment.versions]
    others = [] if ran and not report.cases else [release, *builds_of(preferred(report.verdicts))]
    reference = max(ran + others, key=version_key)
    cases = tuple(
        _case(report, row, (bisected or {}).get(row["name"]), reference, (readings or {}).get(row["name"]))
        for row in report.cases
    )
    fixes = tuple(
        (link["repo"], link["number"])
        for link in report.links
        if any(kind["relation"] == "fixes" and kind["inward"] for kind in link["kinds"])
    )
    return SecondOpinion(report, cases, reference, fixes)


def _case(
    report: ItemReport,
    row: dict[str, Any],
    bisected: Bisected | None,
    reference: str,
    reading: Reading | None,
) -> CaseOpinion:
    entries = preferred([entry for entry in report.verdicts if entry.case == row["name"]])
    history, versions = opinion_of(entries)
    on_build = {version: [entry for entry in entries if entry.build == version] for version in versions}
    return CaseOpinion(
        row["name"],
        row["origin"],
        row["relation"],
        speaks=speaks_of(row["relation"], row["origin"]) == "report" and (reading is None or reading.decides),
        newest=deciding(on_build[versions[-1]]) if versions else None,
        reference=reference,
        differing=tuple(filter(None, (_difference(on_build[version]) for version in reversed(versions)))),
        history=history,
        versions=versions,
        script=row["script"],
        bisected=bisected if bisected and history.kind in (bisected.kind, "cannot tell") else None,
        reading=reading,
    )


def _difference(entries: Sequence[Entry]) -> str:
    """What each environment says of one build where those that decide differ; else nothing."""
    if len({entry.verdict for entry in entries if entry.decides}) < 2:
        return ""
    said = "; ".join(f"{entry.verdict} {entry.k}/{entry.n} with {entry.machine}" for entry in entries)
    return f"{entries[0].build} ({said})"
