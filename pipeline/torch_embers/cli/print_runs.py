"""What the commands around builds, runs and verdicts print. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from torch_embers.console import plain, print_table, stderr, stdout
from torch_embers.escaping import visible
from torch_embers.hunt.sanitize import undecided
from torch_embers.oracles.finding import describe
from torch_embers.recheck.recheck import evidence_line
from torch_embers.verdicts.matrix import OWN, builds_of, changes, deciding

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

    from torch_embers.minimize.loop import ReductionPlan, ReductionResult
    from torch_embers.minimize.reduction import Reduction
    from torch_embers.run.cases import Reached, RunSummary
    from torch_embers.run.oracles import Watched
    from torch_embers.run.report_scripts import Summary
    from torch_embers.verdicts.matrix import MatrixEntry

STYLES = {
    "occurs": ("X", "bold red"),
    "absent": (".", "green"),
    "not_seen": ("o", "cyan"),
    "changed": ("c", "magenta"),
    "control_failed": ("!", "yellow"),
    "untestable": ("-", "dim"),
    "inconclusive": ("?", "yellow"),
}
"""Mark and colour of each verdict; the marks tell them apart without colour."""
ONE_BUILD = "On one build another bug may look the same: compare the small script with the whole one"
OWN_MARK = " *"
"""Behind the name of a case whose line shows verdicts of this database, where other lines show shipped ones."""


def print_reduction(made: Reduction) -> None:
    """Print what came out and the small script; where no flip was kept, the whole one to compare it with."""
    out = stdout()
    out.print(plain(f"{visible(made.sentence)}.\n"), soft_wrap=True)
    out.print(visible(made.minimized.code), markup=False, soft_wrap=True)
    if len(made.builds) == 1:
        out.print(f"{ONE_BUILD}:\n")
        out.print(visible(made.item.script.code), markup=False, soft_wrap=True)
    out.print(f"{made.before:,} characters to {made.after:,}, {made.minimized.tests:,} tests in {made.seconds:,.1f} s")


def print_minimized(reached: ReductionResult, place: int, total: int) -> None:
    """Print what became of one script of `embers research minimize --all`, with its place among those tried."""
    line = Text(f"{place}/{total} ", style="dim")
    if (made := reached.made) is None:
        line.append(f"not minimised: {' '.join(visible(reached.detail).split())}")
    else:
        line.append(" ".join(visible(made.sentence).split()))
    stdout().print(line)


def print_minimized_all(reached: Sequence[ReductionResult], plan: ReductionPlan) -> None:
    """Print a summary of `embers research minimize --all`."""
    made = [one.made for one in reached if one.made is not None]
    before, after = sum(one.before for one in made), sum(one.after for one in made)
    sizes = f", {before:,} characters to {after:,}" if made else ""
    refused = sum(one.result == "refused" for one in reached)
    todo = len(plan.tasks) - len(made) - refused
    stdout().print(f"{len(made)} minimised{sizes}, {refused} not; {plan.done} known before, {todo} still to do")
    if any(len(one.builds) == 1 for one in made):
        stdout().print(f"{ONE_BUILD} (`embers show NUMBER`)")


def print_reached(reached: Reached) -> None:
    """Print one verdict, with its place among those that were asked for."""
    cell = reached.cell
    mark, style = STYLES[cell.decision.verdict]
    line = Text(f"{reached.place}/{reached.total} ", style="dim")
    line.append(f"{mark} {cell.build.name:<10} ", style=style)
    line.append(" ".join(visible(evidence_line(cell)).split()), style="")
    stdout().print(line)


def print_watched(done: Watched) -> None:
    """Print what oracles found in one script on one build."""
    out = stdout()
    mark, style = ("X", "red") if done.findings else (".", "") if done.result == "not_found" else ("?", "yellow")
    line = Text(f"{mark} {done.build.name:<10} ", style=style)
    line.append(f"{visible(done.case.name)}: {done.result}, {done.compared} calls compared ({visible(done.detail)})")
    out.print(line)
    for found in done.findings:
        for part in describe(found).splitlines():
            out.print(Text(f"    {visible(part)}"))
    for text in undecided(done.looked):
        out.print(Text(f"    {visible(text)}"))


def print_summary(done: RunSummary) -> None:
    """Print a run's summary."""
    out = stdout()
    decided = {verdict: count for verdict, count in sorted(done.counts.items()) if verdict != "untestable"}
    counted = ", ".join(f"{count} {verdict}" for verdict, count in decided.items())
    out.print(f"\n{sum(decided.values())} verdicts: {counted or 'none'}")
    if untestable := done.counts.get("untestable"):
        out.print(f"{untestable} times a case could not be tested on a build")
    for place in done.places:
        out.print(f"measured on {plain(place)}")
    if done.gone:
        out.print(f"open issues whose own case is absent now ({len(done.gone)}): {plain(' '.join(done.gone))}")
    if done.alive:
        out.print(f"closed as fixed, and the own case occurs ({len(done.alive)}): {plain(' '.join(done.alive))}")
    if done.closed:
        out.print(f"other closed items that occur ({len(done.closed)}): {plain(' '.join(done.closed))}")
    if done.uncontrolled:
        out.print(done.uncontrolled)


def print_scripts(done: Summary) -> None:
    """Print what came of the scripts of all reports."""
    out = stdout()
    out.print(f"{done.scripts} of {done.reports} reports have a script, {done.runnable} run on one of these builds")
    out.print(f"on the newest build that can run each: {_counted(done.endings)}")
    out.print(f"found in the report: {_counted(done.matches)}")
    out.print(f"{done.flips} change their behaviour between two builds")


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"


def print_matrix(verdicts: Sequence[MatrixEntry]) -> None:
    """Print case x build, one mark per verdict; where the terminal is narrow, some builds at a time."""
    out = stdout()
    builds = builds_of(verdicts)
    mixed = len({e.provenance for e in verdicts}) > 1
    cells: dict[tuple[str, str, str], list[MatrixEntry]] = {}
    for entry in verdicts:
        cells.setdefault((entry.case, entry.provenance, entry.build), []).append(entry)
    lines = sorted({(e.case, e.provenance) for e in verdicts})
    width = max(len(case) for case, _ in lines) + len(OWN_MARK)
    room = max(1, (out.width - min(width, out.width // 2)) // (max(map(len, builds)) + 2))
    for start in range(0, len(builds), room):
        shown = builds[start : start + room]
        rows: list[list[str | Text]] = [
            [
                case + (OWN_MARK if mixed and provenance == OWN else ""),
                *(_mark(cells.get((case, provenance, build), ())) for build in shown),
            ]
            for case, provenance in lines
        ]
        print_table(["case", *map(visible, shown)], rows)
    out.print("  ".join(f"{mark} {verdict}" for verdict, (mark, _) in STYLES.items()) + "  ~ flaky")
    if mixed:
        out.print(f"{OWN_MARK.strip()} run here; the other lines are shipped")
    for place in sorted({e.place for e in verdicts if e.provenance != OWN}):
        out.print(plain(place))
    out.print(f"{len(changes(verdicts))} of {len({e.case for e in verdicts})} cases change between two builds")


def print_not_added(former: Sequence[MatrixEntry]) -> None:
    """Print, beside the results, how many verdicts of a former text of their case were not added to a file."""
    if former:
        names = " ".join(sorted({entry.case for entry in former}))
        text = (
            f"{len(former)} verdicts of a former text of their case are not added: `embers run {names}`, then add again"
        )
        stderr().print(plain(text), soft_wrap=True)


def _mark(entries: Sequence[MatrixEntry]) -> Text:
    """The mark of a case on a build, whose environments are one answer."""
    if not entries:
        return Text(" ")
    entry = deciding(entries)
    mark, style = STYLES[entry.verdict]
    return Text(mark + ("~" if entry.flaky else ""), style=style)
