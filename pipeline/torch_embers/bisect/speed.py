"""How a place is asked about time: a call against the good build, a case about time against its own workaround.

The answer is one comparison of fresh processes and its interval: slower where all of the interval lies beyond the
limit, not slower where none of it does, else unknown. Nothing here runs in the sandbox: calls and cases are shipped.
"""

from __future__ import annotations

import ast
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch_embers.bisect.replies import NOT_INSTALLED
from torch_embers.bisect.search import Reply
from torch_embers.builds.registry import BuildError
from torch_embers.cases import bank
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.oracles import timing
from torch_embers.perf import measure as perf
from torch_embers.perf import timed_cases as perf_cases

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.bisect.measuring import Builds
    from torch_embers.bisect.search import Answer
    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress

MISSED = 0.025
"""Probability that an interval of 95 % lies on the wrong side of the true ratio, and below it."""
_CALL = "import torch\nimport torch.nn.functional as F\n{setup}\n{call}\n"


@dataclass(frozen=True, slots=True)
class Speed:
    """What is timed.

    Attributes:
        limit: a ratio beyond it is the slow-down.
        call: of data/perf.toml; its ratio is that to the good build.
        case: of the kind ``timing``; its ratio is that to its workaround on the same build.
    """

    limit: float
    call: perf.Call | None = None
    case: Case | None = None

    @property
    def name(self) -> str:
        """As people call it."""
        return self.case.name if self.case else f"call {self.call.name}" if self.call else ""

    @property
    def code(self) -> str:
        """Its program; of a call without the loop that times it."""
        if self.case:
            return self.case.code
        return _CALL.format(setup=self.call.setup, call=self.call.call) if self.call else ""


def of_call(name: str, margin: float | None = None) -> Speed:
    """A call of data/perf.toml.

    Args:
        name: of the call.
        margin: a ratio beyond 1 and this is the slow-down; None for the number of that file.

    Raises:
        InputError: there is none of that name.
    """
    shipped = perf.Rules.load()
    (call,) = shipped.chosen([name])
    return Speed(1 + (shipped.limits.margin if margin is None else margin), call=call)


def of_case(name: str, repo: str, *, by_number: bool) -> Speed | None:
    """A case about time; None where there is none.

    Args:
        name: of the case, or with ``by_number`` the number of its item.
        repo: of a bare number.
        by_number: whether numbers are looked up, too.

    Raises:
        InputError: a number means several.
    """
    cases = shipped("timing")
    found = [case for case in cases if case.name == name]
    if not found and by_number:
        try:
            found = bank.chosen(cases, [name], repo)
        except InputError:
            return None
    if len(found) > 1:
        raise InputError(f"{name} has {len(found)} cases about time: name one of {', '.join(c.name for c in found)}")
    return Speed(limit_of(found[0]), case=found[0]) if found else None


def limit_of(case: Case) -> float:
    """The ratio beyond which a case says that its bug is there: its ``LIMIT``.

    Raises:
        InputError: the case has none.
    """
    for node in ast.parse(case.code).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["LIMIT"]:
            value: Any = ast.literal_eval(node.value)
            return float(value)
    raise InputError(f"{case.name} has no LIMIT = NUMBER, beyond which it is slow: see docs/cases.md")


def answer_of(report: timing.TimingReport, limit: float) -> Answer:
    """Which side of the limit the whole interval is on; unknown where the limit lies inside."""
    return "yes" if report.low > limit else "no" if report.high <= limit else "unknown"


def reply_of(report: timing.TimingReport, limit: float) -> Reply:
    """A comparison as a reply; an undecided one whose ratio is beyond the limit counts as one that points to it."""
    answer = answer_of(report, limit)
    said = {"yes": "slower", "no": "not slower", "unknown": "undecided"}[answer]
    detail = (
        f"{said}: ratio {report.ratio:.3g} [{report.low:.3g}, {report.high:.3g}], the limit is {limit:g}; "
        f"{len(report.first)} pairs of processes"
    )
    return Reply(answer, int(report.ratio > limit), 1, 1 - MISSED if answer == "no" else 1.0, detail)


class SpeedMeasure:
    """Asks about one place by a comparison; all that it times is measured anew.

    Args:
        speed: what is timed.
        places: finds the builds.
        good: the build that a call is held against; None where there is none.
        limits: how calls are measured.
        rounds: fresh processes per build, at least ``timing.FEWEST``.
        progress: is told of each comparison.
    """

    def __init__(
        self,
        speed: Speed,
        places: Builds,
        good: Callable[[], Build | None],
        limits: perf.Limits,
        rounds: int,
        progress: Progress,
    ) -> None:
        if rounds < timing.FEWEST:
            raise InputError(f"--runs {rounds}: a ratio has an interval from {timing.FEWEST} processes on")
        self._speed, self._places, self._good = speed, places, good
        self._limits, self._rounds, self._progress = limits, rounds, progress

    def __call__(self, place: int, /, *, fresh: bool = False) -> Reply:
        """Compare; a build that is gone, or became another one, has no answer yet."""
        del fresh
        build = self._places.of(place)
        good = self._good() if self._speed.call and build else None
        if build is None or (self._speed.call and good is None):
            return NOT_INSTALLED
        try:
            with ExitStack() as held:
                for one in {one.identity: one for one in (build, good) if one}.values():
                    held.enter_context(self._places.registry.using(one))
                found = self._with_call(build, good) if good else self._with_case(build)
        except BuildError as error:
            self._progress.said(str(error))
            return Reply("unknown", detail=str(error), ran=False)
        reply = Reply("unknown", detail=found) if isinstance(found, str) else reply_of(found, self._speed.limit)
        self._progress.said(f"{build.name}: {reply.detail}")
        return reply

    def _with_call(self, build: Build, good: Build) -> timing.TimingReport | str:
        """The call on a build against that on the good one; of the good one a second set of processes."""
        if self._speed.call is None:
            raise AssertionError("only a call is held against another build")
        other = replace(build, name=f"{build.name} again") if build.identity == good.identity else build
        timed = perf.time_calls([good, other], [self._speed.call], self._limits, self._rounds, self._progress)
        times = timed.times.get(self._speed.call.name, {})
        if good.name not in times or other.name not in times:
            return next((f"{at}: {why}" for _, at, why in timed.failed), "no times")
        return timing.judge_times(times[good.name], times[other.name], self._limits.margin)

    def _with_case(self, build: Build) -> timing.TimingReport | str:
        """The case beside its workaround."""
        if self._speed.case is None:
            raise AssertionError("neither a call nor a case")
        name = self._speed.case.name
        timed = perf_cases.time_cases([build], [self._speed.case], self._limits, self._rounds, self._progress)
        if build.name not in timed.times.get(name, {}):
            return next((why for _, _, why in timed.failed), "no times")
        return timed.report(name, build.name)
