"""`embers research minimize`: makes the script of a report small, keeping what it does on both sides of a flip.

On one build of each side the whole script is run several times; a smaller text must do the same there: end alike, an
exception by its class, its message and the frame of torch it came from; of a script that ends by itself the last line
that it prints, or all lines where the last one does not tell the sides apart. Another bug seldom changes with the same
release in the same way. On one named build it may well look the same, so whoever asks for that is told. In the end the
small text is run as often as the whole one: where it once does something else, nothing is kept.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.minimize.minimize import Minimized, MinimizeError, minimize
from torch_embers.sandbox import doctor
from torch_embers.sandbox.runner import Runner
from torch_embers.timeline.behaviour import behaviour, same
from torch_embers.timeline.item_script import borders, installed
from torch_embers.timeline.model import Segment
from torch_embers.timeline.observe import observe
from torch_embers.timeline.sentence import does
from torch_embers.verdicts.verdict import last_line

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.timeline.behaviour import Behaviour
    from torch_embers.timeline.item_script import ItemScript
    from torch_embers.timeline.model import Observation, Timeline

BASELINE_RUNS = 3
TIMEOUT_FACTOR, LEAST_TIMEOUT, MOST_TIMEOUT = 10.0, 2.0, 300.0
"""A candidate may take ten times as long as the whole script did, within these seconds."""
PASSING = frozenset({"timeout", "out_of_memory", "cannot_run"})
"""Endings that tell of the machine at that time, not of the script."""


class PassingError(MinimizeError):
    """A script was refused for a reason that may be gone another time, or with more time."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a minimisation did.

    Attributes:
        builds: where its behaviour was kept, the oldest first.
        seconds: wall time.
        shows: what the whole script does on each of them.
    """

    item: ItemScript
    builds: tuple[Build, ...]
    minimized: Minimized
    seconds: float
    shows: str

    @property
    def before(self) -> int:
        """Characters of the whole script."""
        return len(self.item.script.code)

    @property
    def after(self) -> int:
        """Characters of the small one."""
        return len(self.minimized.code)

    @property
    def sentence(self) -> str:
        """The first thing to say: lines before and after, and what it does on which builds."""
        before, after = (lines(code) for code in (self.item.script.code, self.minimized.code))
        stopped = " (stopped early: out of tests or time)" if self.minimized.stopped else ""
        return f"{self.item.name}: {before} lines to {after}{stopped}; it still {self.shows}"


def sides_of(timeline: Timeline | None, builds: Sequence[Build]) -> list[Build]:
    """One build of each side of the newest flip that is installed on both; none where there is no such flip.

    Args:
        timeline: of the script; None where it never ran.
        builds: that are installed.
    """
    for before, after in reversed(borders(timeline)):
        sides = installed(before, builds, newest=True), installed(after, builds, newest=False)
        if sides[0] is not None and sides[1] is not None:
            return [sides[0], sides[1]]
    return []


def kept(seen: Observation, *, whole: bool) -> Observation:
    """What of a run must stay: how it ended, and, where it ended by itself, the last line that it printed or all."""
    if seen.ending != "ok":
        return replace(seen, printed="")
    return seen if whole else replace(seen, printed=last_line(seen.printed))


def _does(seen: Observation) -> str:
    """What a run does, as a verb."""
    line = last_line(seen.printed)
    return f"prints {line[:60]}" if seen.ending == "ok" and line else does(Segment((), seen.ending, seen.what))


@dataclass(frozen=True, slots=True)
class _Side:
    """What the whole script does on one build."""

    build: Build
    runner: Runner
    timeout: float
    duration: float
    seen: Sequence[Observation]


class Trial:
    """The test that decides: runs texts in the sandbox and compares them with what the whole script does.

    Args:
        item: the report and its script.
        runners: of one build of each side.

    Raises:
        MinimizeError: there is nothing to keep; a PassingError where another time there may be.
    """

    def __init__(self, item: ItemScript, runners: Sequence[tuple[Build, Runner]]) -> None:
        self._item, self._count, self._is_passing = item, 0, False
        self._sides = [self._side(build, runner) for build, runner in runners]
        self._whole = False
        self._whole = len(self._sides) > 1 and same(*self._wanted)
        self._check()

    @property
    def _wanted(self) -> list[Behaviour]:
        return [self._kept(side.seen) for side in self._sides]

    def _kept(self, seen: Sequence[Observation]) -> Behaviour:
        return behaviour([kept(one, whole=self._whole) for one in seen])

    def _side(self, build: Build, runner: Runner) -> _Side:
        code = self._item.script.code
        runs = [self._run(runner, code, None) for _ in range(BASELINE_RUNS)]
        duration = runs[0][0]
        timeout = min(max(TIMEOUT_FACTOR * duration, LEAST_TIMEOUT), MOST_TIMEOUT)
        return _Side(build, runner, timeout, duration, [seen for _, seen in runs])

    def _check(self) -> None:
        """Make sure that there is something to keep."""
        name = self._item.name
        for side, wanted in zip(self._sides, self._wanted, strict=True):
            ending = side.seen[0].ending
            if ending in PASSING or ending == "lacks_api":
                kind = PassingError if ending in PASSING else MinimizeError
                raise kind(f"{name} shows nothing to keep on {side.build.name}: {ending} {side.seen[0].what}")
            if wanted.is_mixed:
                kind = PassingError if any(seen.ending in PASSING for seen in side.seen) else MinimizeError
                raise kind(f"{name} does not do the same thing twice on {side.build.name}")
        if len(self._sides) > 1 and same(*self._wanted):
            names = " and ".join(side.build.name for side in self._sides)
            raise MinimizeError(f"{name} does the same on {names} here: name one of them with --build")
        if not any(seen.ending != "ok" or seen.printed.strip() for side in self._sides for seen in side.seen):
            raise MinimizeError(f"{name} ends without an error and prints nothing: there is nothing to keep")

    @property
    def shows(self) -> str:
        """What the whole script does, by build, as a verb."""
        return " and ".join(f"{_does(side.seen[0])} on {side.build.name}" for side in self._sides)

    @property
    def seconds(self) -> float:
        """Of one run on each build."""
        return sum(side.duration for side in self._sides)

    def _run(self, runner: Runner, code: str, timeout: float | None) -> tuple[float, Observation]:
        """Seconds that a run of a text took, and how it ended."""
        self._count += 1
        [result] = runner.run([self._item.attempt(str(self._count), code, self._count, timeout)])
        seen = replace(observe(result, code), seed=self._count)
        self._is_passing = seen.ending in PASSING
        return result.duration, seen

    def refusal(self, text: str) -> MinimizeError:
        """The error that the latest run gives cause for."""
        return PassingError(text) if self._is_passing else MinimizeError(text)

    def holds(self, code: str, is_over: Callable[[float], bool]) -> bool:
        """Whether several runs of a text on each build do what the whole script did.

        Raises:
            PassingError: the time is over before the last of them began.
        """
        for side in self._sides:
            for _ in range(BASELINE_RUNS):
                if is_over(0.0):
                    raise PassingError(f"{self._item.name}: no time was left to run it again: try more --minutes")
                if not self._is_same(side, code):
                    return False
        return True

    def _is_same(self, side: _Side, code: str) -> bool:
        _, seen = self._run(side.runner, code, side.timeout)
        return same(self._kept(side.seen), self._kept([seen])) and seen.frame == side.seen[0].frame

    def is_interesting(self, candidate: str) -> bool:
        """Whether a text does on each build what the whole script does."""
        return all(self._is_same(side, candidate) for side in self._sides)


def reduce_on(
    item: ItemScript,
    builds: Sequence[Build],
    is_over: Callable[[float], bool] = lambda _: False,
    stop: threading.Event | None = None,
) -> Reduction:
    """Make the script of a report small on builds that are held; touches neither registry nor database.

    ``is_over`` is asked whether fewer than so many seconds are left: before each test, which then ends the reduction
    with what there is, for what the last runs take; and before each of these. ``stop`` ends the run that is under way.

    Raises:
        MinimizeError: there is nothing to keep, or the small text does not keep it; a PassingError where another call
            may do better.
        RunsStoppedError: ``stop`` was set.
    """
    started = time.monotonic()
    with ExitStack() as stack:
        runners = [
            (build, stack.enter_context(Runner(build.python, "hostile", doctor.prove(), stop=stop))) for build in builds
        ]
        trial = Trial(item, runners)
        try:
            minimized = minimize(
                item.script.code, trial.is_interesting, is_over=lambda: is_over(BASELINE_RUNS * trial.seconds)
            )
        except MinimizeError as error:
            raise trial.refusal(str(error)) from error
        if not trial.holds(minimized.code, is_over):
            raise trial.refusal(f"{item.name}: the small script does something else when it runs again; not kept")
    return Reduction(item, tuple(builds), minimized, time.monotonic() - started, trial.shows)


def lines(code: str) -> int:
    """Lines that hold something."""
    return sum(bool(line.strip()) for line in code.splitlines())
