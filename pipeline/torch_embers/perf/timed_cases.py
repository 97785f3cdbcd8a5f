"""Cases that time themselves, over builds: how much longer the way with the bug takes than the workaround.

Both ways run in one process and in turn, so their ratio says something also where two builds, or two machines, cannot
be compared by seconds. A case prints the seconds of both (docs/cases.md); it is no script from a report, so it runs
with the user's rights, as `embers research perf` runs everything.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from torch_embers.cases import bank
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.oracles import timing
from torch_embers.perf import measure as perf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress

TIMES = re.compile(r"^times: (\S+) s affected, (\S+) s otherwise$", re.MULTILINE)
"""The line of a case: seconds of a call with the bug, and of the workaround."""
UNTESTABLE = 125
"""Exit code of a case that cannot be tested on a build."""


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
    builds: Sequence[Build], cases: Sequence[Case], limits: perf.PerfLimits, rounds: int, progress: Progress
) -> perf.Timed:
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
            yield case.name, answers.get(case.name, answers.get("", "the process ended before it"))

    return perf.take_turns(builds, rounds, limits.margin, run, progress)


_PROGRAM = f"""
import contextlib, io, json, sys
for name, code in json.load(sys.stdin):
    told, status = io.StringIO(), 0
    with contextlib.redirect_stdout(told):
        try:
            exec(compile(code, name, "exec"), {{"__name__": "__main__"}})
        except SystemExit as end:
            status = end.code or 0
    print("\\n{timing.MARK}" + json.dumps([name, status, told.getvalue()]), flush=True)
"""
"""Runs cases one after the other in one process, so that torch is imported once; Python 3.8, no embers."""


def _answers(python: str, cases: Sequence[Case], timeout: float) -> dict[str, perf.Answer]:
    """What one process says of each case; under ``""`` why the process ended."""
    clean = {name: value for name, value in os.environ.items() if name != "EMBERS_PLANT"}
    asked = json.dumps([[case.name, case.code] for case in cases])
    told, why = timing.ask([python, "-c", _PROGRAM], timeout, asked, clean)
    answers = {name: read(status, output) for name, status, output in told}
    return answers | ({"": why} if why else {})


def read(status: int, output: str) -> perf.Answer:
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
    return timing.Sample(slow, {}, fast)
