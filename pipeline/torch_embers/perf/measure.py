"""Times of calls, or of a user's script, over builds: what became slower and stayed so.

Builds take turns, each time in a fresh process and in a new order, so that a machine that gets slower meanwhile slows
all of them. A call is timed by the clock of its thread, which does not run while the thread waits for a processor; a
script by the clock on the wall.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import Version
from pydantic import Field

from torch_embers import toml_models
from torch_embers.errors import InputError
from torch_embers.oracles import counters, timing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.progress import Progress

FILE = "perf.toml"
CHANGES = ("slower", "faster")
"""Verdicts that tell a change."""
Answer = timing.Sample | str
"""What a process says of a call, script or case: its times, or why there are none."""
Rounds = dict[str, list[float]]
"""Seconds by build, in order of rounds."""


class PerfLimits(toml_models.Explained):
    """``[limits]``: how calls are measured."""

    rounds: int = Field(ge=timing.FEWEST)
    chunk_seconds: float = Field(gt=0)
    chunks: int = Field(ge=1)
    margin: float = Field(gt=0)
    timeout: float = Field(gt=0)


class TimedCall(toml_models.Entry):
    """One call that is timed."""

    name: str
    setup: str
    call: str
    needs: str = "0"
    """The oldest release that has it."""


class PerfRules(toml_models.Entry):
    """The whole file."""

    limits: PerfLimits
    call: tuple[TimedCall, ...] = Field(min_length=1)

    def chosen(self, names: Sequence[str]) -> tuple[TimedCall, ...]:
        """The named calls; all where none is named.

        Raises:
            InputError: one is unknown.
        """
        known = {call.name: call for call in self.call}
        if unknown := [name for name in names if name not in known]:
            raise InputError(f"no call {unknown[0]!r} in data/{FILE}; there are {', '.join(known)}")
        return tuple(known[name] for name in names) or self.call

    @staticmethod
    @cache
    def load() -> PerfRules:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(PerfRules, FILE)


@dataclass(frozen=True, slots=True)
class Step:
    """A change of speed that stayed.

    Attributes:
        since: the first build with it.
        before: the build before that.
        report: the newest build held against ``before``.
    """

    name: str
    since: str
    before: str
    report: timing.TimingReport


@dataclass(slots=True)
class Timed:
    """What was measured.

    Attributes:
        builds: names, oldest first.
        times: rounds by call, by the one script, or by case.
        failed: what could not be timed: (call, build, reason).
        margin: relative difference that is not called one.
        counted: by call and build, what the counters say of each round, in the order of the rounds.
        otherwise: by case, rounds of its workaround; empty where no cases were timed.
    """

    builds: list[str]
    times: dict[str, Rounds]
    failed: list[tuple[str, str, str]]
    margin: float
    counted: dict[str, dict[str, list[Mapping[str, float]]]] = field(default_factory=dict)
    otherwise: dict[str, Rounds] = field(default_factory=dict)

    def known(self, name: str) -> list[str]:
        """Builds on which a call, script or case could be timed, oldest first."""
        return [build for build in self.builds if build in self.times[name]]

    def pairs(self, name: str) -> dict[str, list[tuple[float, float]]]:
        """By build the seconds of each round of a case and of its workaround."""
        other = self.otherwise[name]
        return {build: list(zip(times, other[build], strict=True)) for build, times in self.times[name].items()}

    def steps(self) -> list[Step]:
        """Changes that stayed, the worst slow-down first; of a case, changes of the ratio to its workaround."""
        found = []
        for name, times in self.times.items():
            rounds = times
            if self.otherwise:
                rounds = {build: [slow / fast for slow, fast in pairs] for build, pairs in self.pairs(name).items()}
            found += steps_of(name, self.known(name), rounds, self.margin)
        return sorted(found, key=lambda step: -step.report.ratio)

    def report(self, name: str, build: str) -> timing.TimingReport:
        """A call or script on a build against the oldest build, a case against its workaround on the same build."""
        times = self.times[name]
        other = self.otherwise[name][build] if self.otherwise else times[self.known(name)[0]]
        return timing.judge_times(other, times[build], self.margin)

    def rows(self) -> list[dict[str, Any]]:
        """A row per call, script or case and build: median seconds, and the ratio of ``report`` with its interval."""
        return [self._row(name, build) for name in self.times for build in self.known(name)]

    def _row(self, name: str, build: str) -> dict[str, Any]:
        report = self.report(name, build)
        first, second = statistics.median(report.first), statistics.median(report.second)
        compared = {
            "ratio": report.ratio,
            "low": report.low,
            "high": report.high,
            "verdict": report.verdict,
            "visible": report.visible,
        }
        if self.otherwise:
            return {"case": name, "build": build, "affected": second, "otherwise": first} | compared
        if build == self.known(name)[0]:
            compared["verdict"] = "baseline"
        counted = medians(self.counted.get(name, {}).get(build, ()))
        return {"call": name, "build": build, "seconds": second} | compared | counted

    def confirmed(self, again: Timed) -> list[Step]:
        """Changes that a second measurement on the same builds shows as well, with the figures of the second."""
        first = {(step.name, step.since): step.report.verdict for step in self.steps()}
        return [step for step in again.steps() if first.get((step.name, step.since)) == step.report.verdict]

    def table(self) -> dict[str, Any]:
        """Everything as plain data, with the seconds of each round, from which all intervals follow."""
        rounds = {name: self.pairs(name) for name in self.times} if self.otherwise else self.times
        return {"rows": self.rows(), "steps": self.steps(), "failed": self.failed, "rounds": rounds}


def medians(counted: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """Of each counter the median over rounds; None where the machine has none."""
    return {
        name: statistics.median(one[name] for one in counted)
        if counted and all(name in one for one in counted)
        else None
        for name in counters.NAMES
    }


def time_calls(
    builds: Sequence[Build], calls: Sequence[TimedCall], limits: PerfLimits, rounds: int, progress: Progress
) -> Timed:
    """Time calls on builds.

    Args:
        builds: oldest first.
        calls: of data/perf.toml.
        limits: how they are measured.
        rounds: processes per build.
        progress: is told of each process.
    """

    def run(build: Build) -> Iterator[tuple[str, Answer]]:
        version = Version(build.version).release
        here = [call for call in calls if Version(call.needs).release <= version]
        yield from ((call.name, f"needs {call.needs} or newer") for call in calls if call not in here)
        if here:
            yield from _answers(str(build.python), _script(here, limits), limits.timeout)

    return take_turns(builds, rounds, limits.margin, run, progress)


def time_script(
    builds: Sequence[Build],
    script: Path,
    arguments: Sequence[str],
    limits: PerfLimits,
    rounds: int,
    progress: Progress,
) -> Timed:
    """Time a user's script on builds, without the import of torch; where it failed once it is not run again.

    Raises:
        InputError: no such file.
    """
    if not script.is_file():
        raise InputError(f"no script {script}: give the path of a Python file, or none for the calls of data/{FILE}")

    failed: set[str] = set()

    def run(build: Build) -> Iterator[tuple[str, Answer]]:
        if build.name in failed:  # one that never ends would take its time limit in every round
            return
        try:
            yield script.name, timing.sample(str(build.python), str(script), arguments, limits.timeout)
        except timing.TimingError as error:
            failed.add(build.name)
            yield script.name, str(error)

    return take_turns(builds, rounds, limits.margin, run, progress)


def take_turns(
    builds: Sequence[Build],
    rounds: int,
    margin: float,
    run: Callable[[Build], Iterator[tuple[str, Answer]]],
    progress: Progress,
) -> Timed:
    """Let builds take turns; what fails once on a build is left out there."""
    made = Timed([build.name for build in builds], {}, [], margin)
    draw = random.Random(0)  # noqa: S311 - an order, no secret
    broken: dict[tuple[str, str], str] = {}
    for _ in range(rounds):
        for build in draw.sample(builds, len(builds)):
            for name, answer in run(build):
                if isinstance(answer, str):
                    broken.setdefault((name, build.name), answer)
                    continue
                made.times.setdefault(name, {}).setdefault(build.name, []).append(answer.seconds)
                made.counted.setdefault(name, {}).setdefault(build.name, []).append(answer.counted)
                if answer.otherwise is not None:
                    made.otherwise.setdefault(name, {}).setdefault(build.name, []).append(answer.otherwise)
            progress.advanced(1)
    for (name, build_name), reason in broken.items():
        made.times.get(name, {}).pop(build_name, None)
        made.failed.append((name, build_name, reason))
    for by_build in made.times.values():  # a process that died midway leaves fewer times: they make no pairs
        for build_name in [build_name for build_name, times in by_build.items() if len(times) < rounds]:
            del by_build[build_name]
    made.times = {name: by_build for name, by_build in made.times.items() if by_build}
    return made


def _script(calls: Sequence[TimedCall], limits: PerfLimits) -> str:
    """The program that times calls in a build; Python 3.8, no embers."""
    listed = json.dumps([[call.name, call.setup, call.call] for call in calls])
    return f"""
{Path(counters.__file__).read_text(encoding="utf-8")}
import json, sys, time
import torch
import torch.nn.functional as F
torch.set_num_threads(1)
counting = Counters()
for name, setup, call in json.loads({listed!r}):
    try:
        torch.manual_seed(0)
        names = {{"torch": torch, "F": F}}
        exec(setup, names)
        code = compile("for _ in range(count):\\n    " + call, name, "exec")
        count, spent = 1, 0.0
        while True:
            names["count"] = count
            start = time.thread_time()
            exec(code, names)
            spent = time.thread_time() - start
            if spent >= {limits.chunk_seconds / 4}:
                break
            count *= 2
        names["count"] = max(1, int(count * {limits.chunk_seconds} / spent))
        best, before = None, counting.read()
        for _ in range({limits.chunks}):
            start = time.thread_time()
            exec(code, names)
            spent = (time.thread_time() - start) / names["count"]
            best = spent if best is None else min(best, spent)
        after, calls = counting.read(), names["count"] * {limits.chunks}
        said = [best, {{key: (after[key] - before[key]) / calls for key in after}}]
    except Exception as error:
        said = "%s: %s" % (type(error).__name__, str(error)[:200])
    print("\\n{timing.MARK}" + json.dumps([name, said]))
"""


def _answers(python: str, program: str, timeout: float) -> Iterator[tuple[str, Answer]]:
    """What one process measured."""
    told, why = timing.ask([python, "-c", program], timeout)
    for name, answer in told:
        yield name, answer if isinstance(answer, str) else timing.Sample(*answer)
    if why:
        yield "all calls", why


def steps_of(name: str, known: Sequence[str], rounds: Rounds, margin: float) -> list[Step]:
    """Builds at which the times changed for good: this one and all newer ones differ from the one before."""
    found = []
    for before, since in itertools.pairwise(known):
        newer = known[known.index(since) :]
        report = timing.judge_times(rounds[before], rounds[since], margin)
        stayed = report.verdict in CHANGES and all(
            timing.judge_times(rounds[before], rounds[build], margin).verdict == report.verdict for build in newer[1:]
        )
        if stayed:
            newest = timing.judge_times(rounds[before], rounds[newer[-1]], margin)
            found.append(Step(name, since, before, newest))
    return found
