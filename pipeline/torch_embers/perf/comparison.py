"""What `embers research perf` times and on which builds, and its result as lines and files."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from torch_embers import folders, packages, settings
from torch_embers.builds.registry import CURRENT, Registry
from torch_embers.cases.case import shipped
from torch_embers.errors import InputError
from torch_embers.escaping import csv_cell, visible
from torch_embers.perf import measure, timed_cases
from torch_embers.progress_bar import ProgressBar
from torch_embers.run.cases import chosen_builds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.builds.registry import Build
    from torch_embers.cases.case import Case
    from torch_embers.perf.measure import Timed

SLOWER = 10
"""Exit code where something became slower and stayed so."""


def run(
    script: Path | None,
    arguments: Sequence[str],
    builds: Sequence[str],
    calls: Sequence[str],
    rounds: int | None,
    *,
    cases: bool = False,
    margin: float | None = None,
) -> Timed:
    """Time a script, cases, or calls, on builds; without named builds on all.

    Args:
        script: a file, or the name of a shipped case or the number of its item.
        arguments: of a script.
        builds: names.
        calls: of data/perf.toml; all where neither these nor a script nor cases are given.
        rounds: processes per build; None for the number of data/perf.toml.
        cases: time all shipped cases that time themselves.
        margin: relative difference that is not called one; None for the number of data/perf.toml.

    Raises:
        InputError: no such script, case, call or build, or a single build.
    """
    rules = measure.PerfRules.load()
    chosen = _each_once(chosen_builds(Registry(settings.load().builds_dir), builds or ["all"]), builds)
    if len(chosen) < 2:
        raise InputError(f"a comparison needs two builds, and there is {chosen[0].name}: `embers builds add VERSION`")
    if (script is not None) + bool(calls) + cases > 1:
        raise InputError("give one of a script, --call and --cases: each says what is timed")
    wanted = rules.chosen(calls)
    bank = shipped("timing") if cases else _case(script, arguments)
    count = rounds or rules.limits.rounds
    limits = rules.limits if margin is None else rules.limits.model_copy(update={"margin": margin})
    with ProgressBar("timing", unit="processes") as progress:
        progress.expects(count * len(chosen))
        if bank:
            timed = timed_cases.time_cases(chosen, bank, limits, count, progress)
        elif script is None:
            timed = measure.time_calls(chosen, wanted, limits, count, progress)
        else:
            timed = measure.time_script(chosen, script, arguments, limits, count, progress)
    if not timed.rows():
        name, build, reason = timed.failed[0]
        raise InputError(f"nothing could be timed: {name} on {build}: {reason}")
    return timed


def _each_once(chosen: list[Build], names: Sequence[str]) -> list[Build]:
    """The builds without the torch of this environment where that is one of them and was not asked for by name."""
    others = {build.identity for build in chosen if build.name != CURRENT}
    return [build for build in chosen if build.name != CURRENT or CURRENT in names or build.identity not in others]


def _case(script: Path | None, arguments: Sequence[str]) -> list[Case]:
    """The cases that a word means; none where it is a file, or looks like one."""
    if script is None or script.is_file() or script.suffix or len(script.parts) > 1:
        return []
    if arguments:
        raise InputError(f"{script} has no arguments: only a script of your own has")
    return timed_cases.chosen(str(script), settings.load().repo)


def lines(timed: Timed) -> list[str]:
    """The result for a terminal."""
    steps, rows = timed.steps(), timed.rows()
    made = [f"{visible(one.name)}: since {one.since}, against {one.before}: {one.report.text()}" for one in steps]
    if timed.otherwise:
        made += [_newest(timed, name) for name in timed.times]
    seen = sorted(row["visible"] for row in rows if row["verdict"] != "baseline")
    stable = sum(1 for name in timed.times if name not in {step.name for step in steps})
    made += [f"not timed: {visible(name)} on {build}: {visible(reason)}" for name, build, reason in timed.failed]
    if seen:
        made.append(
            f"{stable} of {len(timed.times)} without a change that stayed; half of the comparisons could have seen "
            f"{100 * seen[len(seen) // 2]:.0f} % or less"
        )
    return made


def _newest(timed: Timed, name: str) -> str:
    """How a case is on the newest build on which it could be timed."""
    build = timed.known(name)[-1]
    return f"{visible(name)} on {build}, beside its workaround: {timed.report(name, build).text()}"


def exit_code(timed: Timed) -> int:
    """Of the command."""
    return SLOWER if any(step.report.verdict == "slower" for step in timed.steps()) else 0


def save(timed: Timed, table: Path | None, picture: Path | None) -> None:
    """Write the files that are asked for.

    Raises:
        InputError: a file cannot be written.
        MissingPackageError: a picture is asked for without the extra `study`.
    """
    if table is not None:
        folders.write(table, as_csv(timed).encode())
    if picture is not None:
        packages.require("study", "a picture needs")
        from torch_embers.perf import pictures

        (pictures.draw_cases if timed.otherwise else pictures.draw)(timed, picture)


def as_csv(timed: Timed) -> str:
    """A row per call, or case, and build."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = timed.rows()
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        cells = ("" if cell is None else cell for cell in row.values())
        writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else csv_cell(cell) for cell in cells])
    return out.getvalue()
