"""Cases that time themselves, over builds: how much longer the way with the bug takes than the workaround.

Both ways run in one process and in turn, so their ratio says something also where two builds, or two machines, cannot
be compared by seconds. A case prints the seconds of both (docs/cases.md); it is no script from a report, so it runs
with the user's rights, as `embers research perf` runs everything.
"""

from __future__ import annotations

import json
import os
import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers.cases import bank
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.oracles import bounded, timing
from torch_embers.perf import measure as perf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress

TIMES = re.compile(r"^times: (\S+) s affected, (\S+) s otherwise$", re.MULTILINE)
"""The line of a case: seconds of a call with the bug, and of the workaround."""
WAYS = ("affected", "otherwise")
UNTESTABLE = 125
"""Exit code of a case that cannot be tested on a build."""


@dataclass(slots=True)
class TimedCases:
    """What cases measured of themselves.

    Attributes:
        builds: names, oldest first.
        pairs: seconds (affected, otherwise) of each process, by case and build.
        failed: what could not be timed: (case, build, reason).
    """

    builds: list[str]
    pairs: dict[str, dict[str, list[tuple[float, float]]]]
    failed: list[tuple[str, str, str]]
    margin: float

    def ratios(self, name: str) -> perf.Rounds:
        """Affected over otherwise, by build, in order of rounds."""
        return {build: [slow / fast for slow, fast in pairs] for build, pairs in self.pairs[name].items()}

    def steps(self) -> list[perf.Step]:
        """Builds at which the ratio of a case changed and stayed so, the worst slow-down first."""
        found = [
            step for name in self.pairs for step in perf.steps_of(name, self.builds, self.ratios(name), self.margin)
        ]
        return sorted(found, key=lambda step: -step.report.ratio)

    def report(self, name: str, build: str) -> timing.TimingReport:
        """The affected way against the workaround, on one build."""
        slow, fast = zip(*self.pairs[name][build], strict=True)
        return timing.judge_times(fast, slow, self.margin)

    def rows(self) -> list[dict[str, Any]]:
        """A row per case and build: median seconds of both ways, and their ratio with its interval."""
        made = []
        for name, by_build in self.pairs.items():
            for build in (build for build in self.builds if build in by_build):
                report = self.report(name, build)
                made.append(
                    {
                        "case": name,
                        "build": build,
                        "affected": statistics.median(report.second),
                        "otherwise": statistics.median(report.first),
                        "ratio": report.ratio,
                        "low": report.low,
                        "high": report.high,
                        "verdict": report.verdict,
                        "visible": report.visible,
                    }
                )
        return made

    def table(self) -> dict[str, Any]:
        """Everything as plain data, with the seconds (affected, otherwise) of each round."""
        return {"rows": self.rows(), "steps": self.steps(), "failed": self.failed, "rounds": self.pairs}


def chosen(name: str, repo: str) -> list[Case]:
    """Shipped cases that time themselves, by name or by the number of an item.

    Raises:
        InputError: there is none of that name.
    """
    cases = shipped("timing")
    try:
        return bank.chosen(cases, [name], repo)
    except InputError as error:
        names = ", ".join(case.name for case in cases)
        raise InputError(f"no script and no case about time {name!r}; the cases are {names}") from error


def time_cases(
    builds: Sequence[Build], cases: Sequence[Case], limits: perf.Limits, rounds: int, progress: Progress
) -> TimedCases:
    """Time cases on builds: all of them in each of ``rounds`` fresh processes per build.

    Args:
        builds: oldest first.
        cases: shipped ones that time themselves.
        limits: margin and time limit.
        rounds: processes per build.
        progress: is told of each process.
    """

    def run(build: Build) -> Iterator[tuple[str, perf.Answer]]:
        answers = _answers(str(build.python), cases, limits.timeout)
        for case in cases:
            answer = answers.get(case.name, answers.get("", "the process ended before it"))
            for place, way in enumerate(WAYS):
                yield f"{case.name} {way}", answer if isinstance(answer, str) else answer[place]

    timed = perf.take_turns(builds, rounds, limits.margin, run, progress)
    pairs = {}
    for case in cases:
        slow, fast = (timed.times.get(f"{case.name} {way}", {}) for way in WAYS)
        pairs[case.name] = {build: list(zip(slow[build], fast[build], strict=True)) for build in slow}
    suffix = f" {WAYS[0]}"
    failed = [(name.removesuffix(suffix), at, why) for name, at, why in timed.failed if name.endswith(suffix)]
    kept = {name: by_build for name, by_build in pairs.items() if by_build}
    return TimedCases(timed.builds, kept, failed, limits.margin)


_PROGRAM = """
import contextlib, io, json, sys
for name, code in json.load(sys.stdin):
    told, status = io.StringIO(), 0
    with contextlib.redirect_stdout(told):
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([name, status, told.getvalue()]), flush=True)
"""
"""Runs cases one after the other in one process, so that torch is imported once; Python 3.8, no embers."""


def _answers(python: str, cases: Sequence[Case], timeout: float) -> dict[str, tuple[float, float] | str]:
    """Seconds of both ways of each case in one process, or why there are none; under ``""`` why the process ended."""
    clean = {name: value for name, value in os.environ.items() if name != "EMBERS_PLANT"}
    asked = json.dumps([[case.name, case.code] for case in cases])
    try:
        done = bounded.run([python, "-c", _PROGRAM], timeout, asked, clean)
    except OSError as error:  # the build went while others were timed
        return {"": f"{python}: {error.strerror or error}"}
    answers = {name: read(status, output) for name, status, output in perf.told(done.out, 3)}
    if (reason := perf.ended_badly(done, timeout)) is not None:
        answers[""] = reason
    return answers


def read(status: int, output: str) -> tuple[float, float] | str:
    """What a case said: the seconds of both ways, or why there are none.

    Args:
        status: its exit code.
        output: what it printed.
    """
    last = (output.strip().splitlines() or ["no output"])[-1][:200]
    times = TIMES.findall(output)
    if status == UNTESTABLE:
        return last
    if status not in (0, 1) or not times:
        return f"exit status {status}, no times: {last}"
    slow, fast = map(float, times[-1])
    return slow, fast
