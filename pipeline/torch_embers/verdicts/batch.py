"""A batch: the runs of one case on one build that one verdict rests on. Pure: says which run is wanted, when to stop.

The runs of a batch are spread over several freshly started zygotes (turns). A hit is confirmed in another zygote, so
that one odd process does not make a verdict; clean runs go on until there are as many as were planned before the first.
Where a failure depends on the layout of memory, a fresh start is the unit: its forks count as one run, a hit where one
of them hits.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from packaging.version import Version

from torch_embers.sandbox.runner import PRELOAD
from torch_embers.verdicts.verdict import (
    Control,
    Decision,
    Observation,
    decide,
    of_start,
    planned,
    shares,
    start_is_over,
    was_hindered,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.sandbox.runner import RunResult
    from torch_embers.statistics.absence import AbsenceRules

PROFILES = {
    "curated": "reviewed",
    "own": "reviewed",
    "fix_test": "hostile",
    "report": "hostile",
}
"""Profile of the sandbox by the origin of a case: only what somebody has read may run without every guarantee."""
PRELOADS: dict[str, tuple[str, ...]] = {
    "fix_test": (
        *PRELOAD,
        "torch.testing._internal.common_utils",
        "torch.testing._internal.common_device_type",
    )
}
"""Modules that a zygote imports for cases of an origin, where they are others than numpy and torch.

Of the testing package they are those that most tests of fixes import; on 2.15.0 the second takes 5 s of a processor.
"""


_Key = TypeVar("_Key")
SEEDS = 1_000
"""Seeds of a turn."""


@dataclass(slots=True)
class Batch:
    """Runs of one case on one build in one environment.

    Attributes:
        number: of the batch; a new one starts from nothing.
        is_control: whether it measures the hit rate, rather than looking for a hit.
        seen: what the runs showed, in order; where fresh starts are counted, what each start showed.
        injected: what the runs with an injected fault showed.
        made: runs of this batch that were made, those of earlier sessions with them.
    """

    case: Case
    build: Build
    environment: str
    number: int
    is_control: bool = False
    control: Control = field(default_factory=Control)
    planned: int = 0
    seen: list[Observation] = field(default_factory=list)
    injected: list[Observation] = field(default_factory=list)
    made: int = 0
    _repeats: int = 0
    _turn_start: int = 0
    _forks: list[Observation] = field(default_factory=list)

    @property
    def profile(self) -> str:
        """Profile of the sandbox."""
        return PROFILES[self.case.origin]

    @property
    def preload(self) -> tuple[str, ...]:
        """Modules that its zygotes import."""
        return PRELOADS.get(self.case.origin, PRELOAD)

    def plan(self, control: Control, rules: AbsenceRules) -> None:
        """Fix the number of runs, before the first."""
        self.control, self.planned = control, planned(control, rules, by_start=rules.by_start(self.case.signature))

    def plan_control(self, rules: AbsenceRules) -> None:
        """Fix the size of a control batch: it does not depend on hits; time limits without any hit end it early."""
        self.is_control = True
        self.planned = rules.slow_control_batch if self.case.timeout > rules.slow_after else rules.control_batch

    def turns(self, rules: AbsenceRules) -> int:
        """Fresh zygotes that its runs may take."""
        return self.planned + rules.confirmations if rules.by_start(self.case.signature) else rules.zygotes

    def begin_turn(self) -> None:
        """A fresh zygote takes over."""
        self._turn_start = len(self.seen)
        self._forks = []

    def makes_again(self, run: RunResult, rules: AbsenceRules) -> bool:
        """Whether a run that has ended is not taken, but made again because the machine was busy."""
        again = self._repeats < rules.busy_repeats and was_hindered(self.case, run, rules)
        self._repeats = self._repeats + 1 if again else 0
        return again

    def take(self, observation: Observation, rules: AbsenceRules) -> None:
        """Add what a run showed."""
        self.made += 1
        self._forks.append(observation)
        if rules.by_start(self.case.signature) and len(self._forks) > 1:
            self.seen[-1] = of_start(self._forks)
        else:
            self.seen.append(observation)

    def seed(self, turn: int, place: int) -> int:
        """Seed of a run: another one for each run, from which its turn can be read."""
        return 1_000 * SEEDS * self.number + SEEDS * turn + place

    def recall(self, runs: Sequence[tuple[int, Observation]], rules: AbsenceRules) -> None:
        """Take over runs of an earlier session, each with its seed; starts that were cut short do not count."""
        self.made = len(runs)
        if not rules.by_start(self.case.signature):
            self.seen = [observation for _, observation in runs]
            return
        starts: dict[int, list[Observation]] = {}
        for seed, observation in runs:
            starts.setdefault(seed // SEEDS, []).append(observation)
        self.seen = [of_start(forks) for forks in starts.values() if start_is_over(forks, rules)]

    def is_settled(self, rules: AbsenceRules) -> bool:
        """Whether no further run is wanted."""
        if self._is_amid_start(rules):
            return False
        hits = self._hits()
        if not hits and sum(o.outcome == "timeout" for o in self.seen) >= rules.most_timeouts:
            return True
        if self.is_control:
            return len(self.seen) >= self.planned
        if hits > rules.confirmations:
            return True
        if len(self.seen) >= rules.zygotes and all(o.outcome == "cannot_run" for o in self.seen):
            return True
        return len(self.seen) >= self.planned + (rules.confirmations if hits else 0)

    def wants(self, turn: int, rules: AbsenceRules) -> bool:
        """Whether zygote number ``turn`` should make one more run."""
        if self.is_settled(rules):
            return False
        own = self.seen[self._turn_start :]
        if rules.by_start(self.case.signature):
            return not own or self._is_amid_start(rules)
        is_last = turn >= rules.zygotes - 1
        if not is_last and len(self.seen) >= sum(shares(self.planned, rules.zygotes)[: turn + 1]):
            return False
        if self.is_control or not own:
            return True
        # what was seen here is seen again in the next zygote; the last one makes what is still lacking
        return own[-1].outcome not in ("reproduced", "cannot_run") or is_last

    def wants_injection(self, turn: int, rules: AbsenceRules) -> bool:
        """Whether the case should show here that it could see its fault: it has no build that does."""
        fits = not self.is_control and self.control.kind == "none" and self.case.oracle == "self"
        return fits and len(self.injected) <= turn < rules.injected_batch and not self.is_settled(rules)

    def decide(self, rules: AbsenceRules) -> Decision:
        """The verdict."""
        control = self.control
        hits = _count(self.injected)
        shows = self.case.injects or not hits  # without a fault of its own a failure shows nothing, and its lack does
        if control.kind == "none" and self.injected and shows:
            control = Control("injected", self.build.identity, hits, len(self.injected))
        return decide(self.seen, control, self.planned, rules)

    def as_control(self) -> Control:
        """What a control batch showed."""
        return Control("build", self.build.identity, self._hits(), len(self.seen))

    def _is_amid_start(self, rules: AbsenceRules) -> bool:
        return rules.by_start(self.case.signature) and bool(self._forks) and not start_is_over(self._forks, rules)

    def _hits(self) -> int:
        return _count(self.seen)


def _count(seen: Iterable[Observation]) -> int:
    return sum(o.outcome == "reproduced" for o in seen)


def cannot_run_here(case: Case, build: Build) -> str | None:
    """Why a case need not even be tried on a build; None where it should be."""
    if not case.runs_on_version(build.public_version):
        return f"it needs {', '.join(str(n) for n in case.needs if n.what == 'torch')}, the build is {build.version}"
    missing = [n.value for n in case.needs if n.what == "device" and n.value not in build.devices]
    if missing:
        return f"no {missing[0]} here"
    # what an accelerator has, the case asks itself
    if case.device == "cpu" and case.memory > (room := _memory_here()):
        return f"it needs {case.memory / (1 << 30):g} GiB of memory, this machine has {room / (1 << 30):.0f}"
    return None


def control_builds(
    cases: Sequence[Case], builds: Sequence[Build], seen_bad: Mapping[str, Collection[str]]
) -> dict[str, Build]:
    """For each case (by hash) a build that is known to show its bug, if there is one: as few builds as will do.

    Every build costs several starts of a zygote, so the one that serves most cases goes first, the newer of equals.

    Args:
        cases: the cases.
        builds: builds that may serve.
        seen_bad: by case hash, identities of builds on which it has occurred; beside what its author has measured.
    """
    by_identity = {build.identity: build for build in builds}
    fitting = {
        case.hash: {build.identity for build in _known_bad(case, builds, seen_bad.get(case.hash, ()))} for case in cases
    }
    chosen = _few(fitting, lambda identity: by_identity[identity].order())
    return {case_hash: by_identity[identity] for identity, served in chosen.items() for case_hash in served}


def control_releases(cases: Sequence[Case]) -> dict[str, int]:
    """Releases that would serve as control, with the number of cases that each adds: as few releases as will do.

    Args:
        cases: the cases; those whose author measured no release that shows the bug are left out.
    """
    chosen = _few({place: set(case.known_bad) for place, case in enumerate(cases)}, Version)
    return {release: len(served) for release, served in chosen.items()}


def _few(fitting: Mapping[_Key, set[str]], order: Callable[[str], Any]) -> dict[str, list[_Key]]:
    """Of what fits each key as few as will do, with the keys that each adds: what serves most first, then the newer."""
    left = {key: own for key, own in fitting.items() if own}
    chosen: dict[str, list[_Key]] = {}
    while left:
        served = Counter(one for own in left.values() for one in own)
        best = max(served, key=lambda one: (served[one], order(one)))
        chosen[best] = [key for key, own in left.items() if best in own]
        left = {key: own for key, own in left.items() if best not in own}
    return chosen


def _known_bad(case: Case, builds: Sequence[Build], seen_bad: Collection[str]) -> list[Build]:
    versions = {Version(v) for v in case.known_bad}
    known = [b for b in builds if b.identity in seen_bad or Version(b.public_version) in versions]
    return [b for b in known if cannot_run_here(case, b) is None]


def _memory_here() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
