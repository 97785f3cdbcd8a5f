"""Operators run in groups, so that what a start costs is shared; one that ends its process costs itself alone."""

from __future__ import annotations

import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

from torch_embers import resources, toml_models
from torch_embers.hunt.journal import Crash
from torch_embers.oracles import cells
from torch_embers.oracles.cells import ANY
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import Attempt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.hunt.journal import Hunted
    from torch_embers.oracles.cells import Cell
    from torch_embers.sandbox.runner import Runner, RunResult

NO_EVIDENCE = "sandbox_error"
"""What the end of an operator begins with that says nothing about it: it is run again next time."""


class HuntLimits(toml_models.Explained):
    """Numbers of a hunt; reasons stand in the file."""

    samples: int
    group: int
    seconds: float
    hard: float
    timeout: float
    crashes: int
    memory: int
    room: int
    start: float


def sweep(runner: Runner, left: Sequence[Hunted], jobs: int, limits: HuntLimits) -> Iterator[Hunted]:
    """Run operators and yield each when it is done; those that ended their process come last, with a case for each."""
    waiting = [list(left[at : at + limits.group]) for at in range(0, len(left), limits.group)]
    died: list[Hunted] = []
    while waiting:
        again: list[list[Hunted]] = []
        for result in runner.run([_attempt(str(at), group, limits) for at, group in enumerate(waiting)], jobs):
            done, groups = sort(waiting[int(result.key)], result)
            again += groups
            died += [one for one in done if one.crashes]
            yield from (one for one in done if not one.crashes)
        waiting = again
    _explain(runner, died, jobs, limits)
    yield from died


def sort(group: list[Hunted], result: RunResult) -> tuple[list[Hunted], list[list[Hunted]]]:
    """Take over what a run of a group found: those that are done, and groups that must be begun again."""
    rows = {(row["op"], row["dtype"]): row for row in cells.unpack(result.stdout)}
    done, rest = [], []
    for one in group:
        row = rows.get((one.op, one.dtype))
        if row is None:
            rest.append(one)
        else:
            one.take(row)
            done.append(one)
    if not rest:
        return done, []
    if len(group) == 1:
        if _note(group[0], result):
            return [], [group]
        return group, []
    if result.exit_code == 0 and done:
        return done, [rest]  # it ended before its memory or its output could matter
    told = cells.last_cell(result.stderr)
    culprit = next((one for one in rest if told is not None and one.op == told[0]), rest[0])
    others = [one for one in rest if one is not culprit]
    return done, [[culprit], others] if others else [[culprit]]


def _note(one: Hunted, result: RunResult) -> bool:
    """Note the call by which an operator ended its process; whether it is begun again behind that call."""
    told = cells.last_cell(result.stderr)
    ended = signal.Signals(result.signal).name if result.signal else result.ended
    if result.ended == NO_EVIDENCE or told is None or told[1] in {crash.cell for crash in one.crashes}:
        one.ended = f"{result.ended}: {result.detail}"
        return False
    one.crashes.append(Crash(told[1], ended))
    return True


def skipped(crashes: Sequence[Crash], most: int) -> list[list[str]]:
    """Cells to leave out; all of a mode and operator where the process ended too often."""
    often = Counter((crash.cell.mode, crash.cell.operator) for crash in crashes)
    wide = [[mode, operator, ANY, ANY] for (mode, operator), number in often.items() if number >= most]
    return [*(list(crash.cell) for crash in crashes), *wide]


def _attempt(key: str, group: Sequence[Hunted], limits: HuntLimits, only: Cell | None = None) -> Attempt:
    first = group[0]
    crashes = [crash for crash in first.crashes if crash.cell != only]
    options: dict[str, Any] = {
        "ops": [[one.op, one.dtype] for one in group],
        "rules": resources.load_toml("oracles.toml"),
        "skip": skipped(crashes, limits.crashes + (only is not None)),
        "only": only and list(only),
        "seconds": limits.seconds,
        "hard": limits.hard,
        "samples": limits.samples,
        "room": limits.room,
        "modes": list(first.modes),
        "device": first.device,
    }
    code = bundle.script("hunt", "main", options)
    timeout = limits.timeout + limits.seconds * len(group)
    return Attempt(key, code, "hunt.py", timeout=timeout, memory=limits.memory)


def _explain(runner: Runner, died: Sequence[Hunted], jobs: int, limits: HuntLimits) -> None:
    """Ask once more for each call that ended the process, now with its arguments printed before."""
    places = [(one, at) for one in died for at in range(len(one.crashes))]
    asked = [_attempt(str(n), [one], limits, one.crashes[at].cell) for n, (one, at) in enumerate(places)]
    for result in runner.run(asked, jobs):
        one, at = places[int(result.key)]
        cases = [row["case"] for row in cells.unpack(result.stdout) if "case" in row]
        if cases and result.signal:
            one.crashes[at] = Crash(one.crashes[at].cell, one.crashes[at].ended, cases[-1])
