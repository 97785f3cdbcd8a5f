"""What `embers perf` does around the measurement: builds, progress, lines, files."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from torch_embers import packages, settings
from torch_embers.builds.registry import Registry
from torch_embers.errors import InputError
from torch_embers.escaping import csv_cell, visible
from torch_embers.progress_bar import ProgressBar
from torch_embers.run import perf, reports
from torch_embers.run.command import chosen_builds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.run.perf import Step, Timed

SLOWER = 10
"""Exit code where something became slower and stayed so."""


def run(
    script: Path | None, arguments: Sequence[str], builds: Sequence[str], calls: Sequence[str], rounds: int | None
) -> Timed:
    """Time a script, or calls, on builds; without named builds on all.

    Raises:
        InputError: no such script, call or build, or a single build.
    """
    rules = perf.Rules.load()
    chosen = chosen_builds(Registry(settings.load().builds_dir), builds or ["all"])
    if len(chosen) < 2:
        raise InputError(f"a comparison needs two builds, and there is {chosen[0].name}: `embers builds add VERSION`")
    if script is not None and calls:
        raise InputError("--call chooses among the calls of data/perf.toml: leave out the script, or the option")
    wanted = rules.chosen(calls)
    count = rounds or rules.limits.rounds
    with ProgressBar("timing", unit="processes") as progress:
        progress.expects(count * len(chosen))
        if script is None:
            timed = perf.time_calls(chosen, wanted, rules.limits, count, progress)
        else:
            timed = perf.time_script(chosen, script, arguments, rules.limits, count, progress)
    if not timed.times:
        name, build, reason = timed.failed[0]
        raise InputError(f"nothing could be timed: {name} on {build}: {reason}")
    return timed


def lines(timed: Timed) -> list[str]:
    """The result for a terminal."""
    made = [line(step) for step in timed.steps()]
    seen = sorted(row["visible"] for row in timed.rows() if row["verdict"] != "baseline")
    stable = sum(1 for name in timed.times if name not in {step.name for step in timed.steps()})
    made += [f"not timed: {visible(name)} on {build}: {visible(reason)}" for name, build, reason in timed.failed]
    if seen:
        made.append(
            f"{stable} of {len(timed.times)} without a change that stayed; half of the comparisons could have seen "
            f"{100 * seen[len(seen) // 2]:.0f} % or less"
        )
    return made


def line(step: Step) -> str:
    """One change."""
    return f"{visible(step.name)}: since {step.since}, against {step.before}: {step.report.text()}"


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
        reports.write(table, as_csv(timed).encode())
    if picture is not None:
        packages.require("study", "a picture needs")
        from torch_embers.run import perf_picture

        perf_picture.draw(timed, picture)


def as_csv(timed: Timed) -> str:
    """A row per call and build."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    rows = timed.rows()
    writer.writerow(rows[0] if rows else [])
    for row in rows:
        writer.writerow([f"{cell:.4g}" if isinstance(cell, float) else csv_cell(cell) for cell in row.values()])
    return out.getvalue()
