"""A release candidate against its predecessor: what broke, got fixed, became slower, for the page of a release manager.

The first criterion for a cherry-pick is a regression against the last release. Pure, but for ``compare_release`` and
``compare_times``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

from packaging.version import Version

from torch_embers.builds.registry import CURRENT, Build, BuildError, Registry
from torch_embers.builds.work import Machine
from torch_embers.cases import bank
from torch_embers.perf import measure as perf
from torch_embers.recheck.broken_builds import Usable
from torch_embers.recheck.recheck import evidence_line
from torch_embers.recheck.reports import NEWS, NOTHING_NEW
from torch_embers.run.cases import runnable_here
from torch_embers.templates import render
from torch_embers.verdicts import shipped
from torch_embers.verdicts.executor import Executor, SweepRequest, lacks_control
from torch_embers.verdicts.script_excerpt import script_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.verdicts.ledger import Cell

Group = Literal["broke", "fixed", "fails otherwise", "not testable any more", "undecided", "same"]
HEADINGS: dict[Group, str] = {
    "broke": "Broke: absent before, occurs in the candidate",
    "fails otherwise": "Fails in another way in the candidate",
    "fixed": "Not seen any more: occurred before, absent in the candidate",
    "not testable any more": "Not testable any more",
    "undecided": "Undecided",
}
"""Groups that a page lists, the most urgent first."""
LONGEST = 200
"""Characters of what a case is about."""
DECIDED: tuple[Group, ...] = ("broke", "fixed", "same")
"""Groups of cases that occur or are absent on both builds."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A case on both builds."""

    before: Cell
    after: Cell

    @property
    def group(self) -> Group:
        """What changed; ``not_seen``, which no control supports, is neither broken nor fixed."""
        return group_of(self.before.decision.verdict, self.after.decision.verdict)

    @property
    def untestable(self) -> bool:
        """Whether neither build can be tested, which says nothing of the candidate."""
        return self.before.decision.verdict == self.after.decision.verdict == "untestable"

    @property
    def is_counted(self) -> bool:
        """Whether neither build says anything of the bug: such cases are counted by reason and not listed."""
        return self.untestable or (lacks_control(self.before) and lacks_control(self.after))


@dataclass(frozen=True, slots=True)
class Times:
    """Common calls, timed on both builds.

    Attributes:
        changed: what differs in two independent measurements, with the figures of the second.
        once: how many calls differed in the first measurement alone.
        calls: how many were timed on both builds.
        visible: difference that half of the comparisons could have shown, as a part of 1.
        rounds: processes per build and measurement.
        failed: what could not be timed: (call, build, reason).
    """

    changed: tuple[perf.Step, ...]
    once: int
    calls: int
    visible: float
    rounds: int
    failed: tuple[tuple[str, str, str], ...] = ()

    def of(self, verdict: str) -> list[perf.Step]:
        """The changes that are ``slower`` or ``faster``, the largest first."""
        own = [step for step in self.changed if step.report.verdict == verdict]
        return sorted(own, key=lambda step: -abs(step.report.ratio - 1))


@dataclass(frozen=True, slots=True)
class ReleaseComparison:
    """A release candidate against its predecessor."""

    predecessor: Build
    candidate: Build
    cases: tuple[Compared, ...]
    times: Times | None = None
    """None where times were not asked for."""

    def of(self, group: Group) -> list[Compared]:
        """The cases of a group, by name."""
        return sorted((case for case in self.cases if case.group == group), key=lambda one: one.after.case.name)

    @property
    def decided(self) -> list[Compared]:
        """The cases that occur or are absent on both builds."""
        return [one for group in DECIDED for one in self.of(group)]

    @property
    def at_risk(self) -> list[Compared]:
        """Those of them that were absent before: no other bug can come back."""
        return [one for one in self.decided if one.before.decision.verdict == "absent"]

    @property
    def exit_code(self) -> int:
        """10 where something broke, fails otherwise, or became slower."""
        slower = self.times is not None and self.times.of("slower")
        return NEWS if self.of("broke") or self.of("fails otherwise") or slower else NOTHING_NEW


def group_of(before: str, after: str) -> Group:
    """What a change of verdicts means; only ``occurs`` and ``absent`` say anything of the bug."""
    match before, after:
        case ("absent", "occurs"):
            return "broke"
        case ("occurs", "absent"):
            return "fixed"
        case ("occurs", "occurs") | ("absent", "absent"):
            return "same"
        case _ if before == after:
            return "undecided"
        case (_, "changed"):
            return "fails otherwise"
        case (_, "untestable"):
            return "not testable any more"
        case _:
            return "undecided"


def predecessor_of(builds: Iterable[Build], candidate: Build) -> Build:
    """The newest final release before a build, of the same variant (``+cpu``) where there is one.

    Raises:
        BuildError: there is none.
    """
    older = [
        build
        for build in builds
        if build.channel == "release"
        and build.name != CURRENT
        and build.order()[0] < candidate.order()[0]
        and not build.order()[0].is_prerelease
        and build.public_version != candidate.public_version
    ]
    if not older:
        raise BuildError(
            f"no release before {candidate.version} is installed to compare with: `embers builds add VERSION` adds one"
        )
    variant = candidate.order()[0].local
    return max(
        older, key=lambda build: (Version(build.public_version), build.order()[0].local == variant, build.order())
    )


def paired(cells: Sequence[Cell], predecessor: Build, candidate: Build) -> ReleaseComparison:
    """The cells of both builds, case by case; a case without both is left out."""
    at = {(cell.case.hash, cell.build.identity): cell for cell in cells}
    hashes = dict.fromkeys(cell.case.hash for cell in cells)
    keys = [((one, predecessor.identity), (one, candidate.identity)) for one in hashes]
    pairs = tuple(Compared(at[old], at[new]) for old, new in keys if old in at and new in at)
    return ReleaseComparison(predecessor, candidate, pairs)


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """What is asked for.

    Attributes:
        version: of the candidate, or the name of its build.
        jobs: runs at a time.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
    """

    version: str
    jobs: int = 1
    unsandboxed: bool = False


def compare_release(store: Store, settings: Settings, asked: ReleaseRequest, progress: Progress) -> ReleaseComparison:
    """Run all cases on a release candidate and on the release before it.

    Raises:
        BuildError: no such build, no release before it, or one of both cannot be used.
        SandboxError, StoreError: as of their makers.
    """
    registry = Registry(settings.builds_dir)
    candidate = registry.find(asked.version)
    installed = registry.installed()
    predecessor = predecessor_of(installed, candidate)
    with store.writer("recheck") as writer:
        shipped.load(writer)
        cases = runnable_here(bank.load(store), progress)
        executor = Executor(store, writer, Machine(registry, asked.unsandboxed, progress), progress)
        usable = Usable(executor, progress)
        cells = usable.sweep(SweepRequest(cases, [predecessor, candidate], installed, asked.jobs))
        for build in (predecessor, candidate):
            if build.identity in usable.left_out:
                raise BuildError(f"build {build.name} cannot be compared: {usable.left_out[build.identity][1]}")
        return paired(cells, predecessor, candidate)


def compare_times(made: ReleaseComparison, progress: Progress) -> ReleaseComparison:
    """Add the times of the calls of data/perf.toml; what differs is measured a second time in processes of its own.

    Many calls are compared at once, so that some differ by chance: only what differs twice is told.
    """
    rules, builds = perf.PerfRules.load(), (made.predecessor, made.candidate)
    rounds = rules.limits.rounds
    progress.expects(2 * rounds * len(builds))
    first = perf.time_calls(builds, rules.call, rules.limits, rounds, progress)
    differing = rules.chosen(sorted({step.name for step in first.steps()})) if first.steps() else ()
    again = perf.time_calls(builds, differing, rules.limits, rounds, progress) if differing else None
    changed = first.confirmed(again) if again is not None else []
    both = [row for row in first.rows() if row["build"] == made.candidate.name and row["verdict"] != "baseline"]
    seen = sorted(row["visible"] for row in both)
    visible = seen[len(seen) // 2] if seen else 0.0
    times = Times(tuple(changed), len(differing) - len(changed), len(both), visible, rounds, tuple(first.failed))
    return replace(made, times=times)


def as_table(made: ReleaseComparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "candidate": made.candidate.identity,
        "predecessor": made.predecessor.identity,
        "environments": sorted({cell.place for one in made.cases for cell in (one.before, one.after)}),
        "counts": {group: len(made.of(group)) for group in (*HEADINGS, "same")},
        "cases": [
            {"group": group, "case": one.after.case.name, "before": one.before.row(), "after": one.after.row()}
            for group in HEADINGS
            for one in made.of(group)
        ],
        "times": made.times,
    }


def markdown(made: ReleaseComparison) -> str:
    """A page for a release manager."""
    return render(
        "recheck",
        "release.md",
        made=made,
        new=made.candidate.version,
        old=made.predecessor.version,
        broke=made.of("broke"),
        devices=sorted({one.after.case.device for one in made.decided}),
        occurred=[one.group for one in made.decided if one.before.decision.verdict == "occurs"],
        groups=[_group(group, own) for group in HEADINGS if (own := made.of(group))],
        evidence=evidence_line,
        shorten=lambda text: shorten(text, LONGEST, placeholder=" ..."),
        script_of=lambda case: script_of(case.name, case.origin, case.code),
        times=made.times,
        margin=100 * perf.PerfRules.load().limits.margin,
        places=sorted({cell.place for one in made.cases for cell in (one.before, one.after)}),
    )


def _group(group: Group, cases: list[Compared]) -> dict[str, Any]:
    """What a page says of a group; cases that say nothing on either build are counted by reason, not to hide others."""
    untestable = Counter(one.after.decision.detail or "no reason given" for one in cases if one.untestable)
    return {
        "heading": HEADINGS[group],
        "cases": cases,
        "untestable": untestable.most_common(),
        "bare": [one.after.case.name for one in cases if one.is_counted and not one.untestable],
        "shows_script": group in ("broke", "fails otherwise"),
    }
