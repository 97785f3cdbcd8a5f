"""What the commands around builds, runs and verdicts print. Text from outside is always escaped."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from torch_embers.classify.show import HOW
from torch_embers.console import age, indented, lines, plain, size_text, stderr, stdout, table
from torch_embers.escaping import visible
from torch_embers.extract.script import Script
from torch_embers.hunt.sanitize import undecided
from torch_embers.oracles.finding import describe
from torch_embers.recheck.events import KINDS
from torch_embers.recheck.recheck import evidence_line
from torch_embers.recheck.reports import FOUND_BEFORE, HEADINGS, left_out
from torch_embers.store.show import item_names
from torch_embers.timeline.model import Segment
from torch_embers.timeline.sentence import details, strip
from torch_embers.verdicts.matrix import OWN, builds_of, changes, deciding, either, preferred, span
from torch_embers.verdicts.script_excerpt import script_of
from torch_embers.verdicts.status import CONFIRMED, WORDS
from torch_embers.views.item_report import LONGEST_CELL, SHOWN_LINKS, headline
from torch_embers.views.script_text import UNCONFIRMED, command, last_change
from torch_embers.views.script_text import changes as changes_of

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.minimize.loop import ReductionPlan, ReductionResult
    from torch_embers.minimize.reduction import Reduction
    from torch_embers.recheck.recheck import Recheck
    from torch_embers.run.cases import Reached, RunSummary
    from torch_embers.run.oracles import Watched
    from torch_embers.run.report_scripts import Summary
    from torch_embers.verdicts.matrix import Entry
    from torch_embers.views.item_report import ItemReport

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


def print_builds(builds: Sequence[Build], cap_gb: float) -> None:
    """Print the installed builds."""
    rows = [
        (
            b.name,
            b.version,
            b.git_commit[:10],
            b.python_version,
            ", ".join(b.devices) + " (CUDA calls fail)" * b.without_cuda,
            size_text(b.disk_bytes) if b.managed else "registered",
            "not checked" if not b.checked else "broken" if b.broken else "ok",
        )
        for b in builds
    ]
    columns = [(name, False) for name in ("name", "version", "commit", "python", "devices", "disk", "check")]
    out = stdout()
    out.print(table("", columns, rows))
    used = sum(b.disk_bytes for b in builds if b.managed)
    out.print(f"installed by embers: {size_text(used)} of {cap_gb:g} GB")


def print_checks(builds: Sequence[Build]) -> None:
    """Print what the checks of builds result."""
    rows = [(b.name, what, result) for b in builds for what, result in b.checked]
    stdout().print(table("", [("build", False), ("check", False), ("result", False)], rows))


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


def print_matrix(verdicts: Sequence[Entry]) -> None:
    """Print case x build, one mark per verdict; where the terminal is narrow, some builds at a time."""
    out = stdout()
    builds = builds_of(verdicts)
    mixed = len({e.provenance for e in verdicts}) > 1
    cells: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in verdicts:
        cells.setdefault((entry.case, entry.provenance, entry.build), []).append(entry)
    lines = sorted({(e.case, e.provenance) for e in verdicts})
    width = max(len(case) for case, _ in lines) + len(OWN_MARK)
    room = max(1, (out.width - min(width, out.width // 2)) // (max(map(len, builds)) + 1))
    for start in range(0, len(builds), room):
        shown = builds[start : start + room]
        made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
        made.add_column("case", overflow="fold")
        for build in shown:
            made.add_column(plain(build), justify="center", no_wrap=True)
        for case, provenance in lines:
            marks = [_mark(cells.get((case, provenance, build), ())) for build in shown]
            made.add_row(plain(case) + (OWN_MARK if mixed and provenance == OWN else ""), *marks)
        out.print(made)
    out.print("  ".join(f"{mark} {verdict}" for verdict, (mark, _) in STYLES.items()) + "  ~ flaky")
    if mixed:
        out.print(f"{OWN_MARK.strip()} run here; the other lines are shipped")
    for place in sorted({e.place for e in verdicts if e.provenance != OWN}):
        out.print(plain(place))
    out.print(f"{len(changes(verdicts))} of {len({e.case for e in verdicts})} cases change between two builds")


def print_not_added(former: Sequence[Entry]) -> None:
    """Print, beside the results, how many verdicts of a former text of their case were not added to a file."""
    if former:
        names = " ".join(sorted({entry.case for entry in former}))
        text = (
            f"{len(former)} verdicts of a former text of their case are not added: `embers run {names}`, then add again"
        )
        stderr().print(plain(text), soft_wrap=True)


def _mark(entries: Sequence[Entry]) -> Text:
    """The mark of a case on a build, whose environments are one answer."""
    if not entries:
        return Text(" ")
    entry = deciding(entries)
    mark, style = STYLES[entry.verdict]
    return Text(mark + ("~" if entry.flaky else ""), style=style)


def print_recheck(result: Recheck) -> None:
    """Print what changed since the last re-check."""
    out = stdout()
    out.print(f"re-checked against {plain(result.reference.identity)}: {result.fresh} verdicts reached now")
    for kind in KINDS:
        own = [change for change in result.news if change.kind == kind]
        if own:
            out.print(f"\n[bold]{HEADINGS[kind]}[/] ({len(own)})")
        for change in own:
            was = f", was {change.previous}" if change.previous else ""
            was += f", {FOUND_BEFORE} {change.found_at:%Y-%m-%d}" if change.found_at else ""
            out.print(f"  {plain(change.repo)}#{change.number} ({change.backend}{was}) {plain(change.title)}")
            for line in change.evidence:
                out.print(f"      {plain(line)}")
    if not result.news:
        out.print(result.quiet)
    out.print(f"\nitems: {result.items or 'none with a verdict'}")
    if result.false_expected:
        out.print(f"false claims of an absence to expect among these: at most {result.false_expected:.4f}")
    for hint in filter(None, (result.undecided, str(result.uncontrolled), str(result.ahead))):
        out.print(hint)
    for line in left_out(result):
        out.print(plain(line))


def print_behaviours(found: Sequence[dict[str, Any]], *, crash_gone: bool, urls: bool = False) -> None:
    """Print a line for each of these items: number, title, what its script did and does now, since which release.

    Args:
        found: rows of `embers list`, each with segments.
        crash_gone: show where a crash ended, not the newest flip.
        urls: print the address of each, too.
    """
    out = stdout()
    last = [last_change([Segment(**one) for one in row["segments"]], crash_gone=crash_gone) for row in found]
    columns: dict[str, list[Any]] = {
        "item": item_names(found),
        "title": [row["title"] or "" for row in found],
        "behaviour": [behaviour for behaviour, _ in last],
        "since": [since for _, since in last],
    }
    if found:
        out.print(lines(columns, addresses=[row["address"] for row in found], urls=urls))
    if any(since.endswith(UNCONFIRMED) for _, since in last):
        out.print(f"{UNCONFIRMED} not seen again, in too few runs to say that it is gone")
    out.print(f"{len(found):,} item{'s' * (len(found) != 1)}")


def print_answer(report: ItemReport) -> None:
    """Print of an item what it does on the newest release, whether it may be closed, and all releases in a line."""
    out = stdout()
    out.print(f"[bold]{plain(report.repo)}#{report.number}[/] {plain(report.facts['title'] or '')}")
    out.print(f"[bold]{plain(headline(report))}[/]")
    if report.answer is not None:
        out.print(f"[bold]{plain(report.answer.sentence)}[/]")
    if report.behaviour and report.behaviour != headline(report) and isinstance(report.script, Script):
        out.print(plain(report.behaviour))
    out.print()
    for line in _strips(report):
        out.print(line, no_wrap=True)


def print_item(report: ItemReport) -> None:
    """Print all that is known of an item: the answer, its releases, facts, labels, links, evidence; scripts last."""
    print_answer(report)
    out = stdout()
    _print_facts(report.facts)
    _section("Labels", [*map(_gold_line, report.gold), *map(_prediction_line, report.predictions)])
    _section(
        "Gold labels and classifier disagree",
        [
            f"{row['scheme']}: {' or '.join(gold)} by the gold labels, {row['value']} by the classifier "
            f"(probability {row['probability']:.2f})"
            for row, gold in report.disagreements
        ],
    )
    _section("Links", [_link_line(row) for row in report.links[:SHOWN_LINKS]])
    if len(report.links) > SHOWN_LINKS:
        out.print(f"  and {len(report.links) - SHOWN_LINKS} more items")
    if report.timeline:
        out.print("\nThe report's script on each release")
        for line in details(report.timeline):
            out.print(indented(line))
    _print_verdicts(report)
    _section(
        "Tests of merged fixes, one run per release", [line for test in report.fix_tests for line in _fix_test(test)]
    )
    _section("Bisections", [f"{found['subject']}: {found['text']}" for found in report.bisections])
    _section(
        "Status",
        [
            f"{row['backend']}: {row['status']} on torch {row['reference']} since {row['decided_at']:%Y-%m-%d}"
            + ("" if row["provenance"] == OWN else f" ({row['provenance']})")
            + (", confirmed by a second batch of runs" if row["status"] in CONFIRMED else "")
            + f": {WORDS.get(row['status'], 'a status of another embers')}"
            for row in report.statuses
        ],
    )
    if isinstance(report.script, Script):
        _print_script(report.script)
    for case in report.cases:
        script = case["script"]
        out.print(f"\nScript {plain(script.place)}")
        for line in script.lines():
            out.print(f"  {plain(line)}", soft_wrap=True)


def _strips(report: ItemReport) -> Iterator[str]:
    """A line of releases for the script of the report, and one for each case."""
    if report.timeline:
        yield plain(strip(report.timeline))
    for name, same in groupby(preferred(report.verdicts), key=lambda entry: entry.case):
        cells = [deciding(of_build) for _, of_build in groupby(same, key=lambda entry: entry.build)]
        marks = "".join(f"[{style}]{mark}[/]" for mark, style in (STYLES[cell.verdict] for cell in cells))
        used = {cell.verdict: STYLES[cell.verdict][0] for cell in cells}
        legend = ", ".join(f"{mark} {verdict}" for verdict, mark in used.items())
        yield f"{marks} {plain(span([cell.build for cell in cells]))}: {legend} ({plain(name)})"


def _print_verdicts(report: ItemReport) -> None:
    """Print each case with what it did where; own runs before shipped ones."""
    out = stdout()
    if report.cases:
        out.print("\nCases")
    for case in report.cases:
        out.print(indented(_case_line(case)))
        own = [entry for entry in report.verdicts if entry.case == case["name"]]
        for _, of_origin in groupby(own, key=lambda entry: entry.provenance):
            shown = list(of_origin)
            for _, same in groupby(shown, key=lambda entry: entry.verdict):
                out.print(indented(_verdict_line(list(same)), 4))
            for place in sorted({entry.place for entry in shown}):
                out.print(indented(place, 4), style="dim")


def _print_script(script: Script) -> None:
    """Print the script of the report, and what differs from the report's own text."""
    out = stdout()
    out.print(f"\nScript, from the {plain(script.found_in)} of the report: {plain(command(script))}")
    for line in script_of("", "", script.code).lines():
        out.print(f"  {plain(line)}", soft_wrap=True)
    changed = changes_of(script)
    if changed:
        out.print("Changed in it")
    for line in changed:
        out.print(f"  {plain(line)}")


def _fix_test(test: Mapping[str, Any]) -> Iterator[str]:
    """A test of a merged fix: what it is, what it said where, what readers say, and how to run it in a clone."""
    reason = f" ({test['reason']})" if test["reason"] else ""
    shipped = "" if test["provenance"] == OWN else f", {test['provenance']}"
    yield f"{test['test']}: {test['class']}{reason}, {test['relation']}{shipped}"
    outcomes = (("fails", "failed"), ("passes", "passed"))
    said = [f"{word} on {', '.join(test[key])}" for word, key in outcomes if test[key]]
    fixed = test["first_release"] or "an unknown release"
    yield f"  {'; '.join(said) or 'says nothing on any release'}; first release with the fix: {fixed}"
    for key, what in (("shows_bug", "before the fix shows the bug"), ("shows_bug_again", "after it shows it again")):
        if test[key]:
            yield f"  readers, whether its failure {what}: {test[key]}"
    yield f"  in a clone: {test['command']}"


def _print_facts(facts: Mapping[str, Any]) -> None:
    """Print what the tracker and the catalog say of an item."""
    out = stdout()
    reason = f" ({facts['state_reason']})" if facts["state_reason"] else ""
    parts = [f"{facts['kind'] or 'item'}, {facts['state'] or 'state unknown'}{reason}"]
    for word, day, who in (
        ("opened", facts["created_at"], facts["author"]),
        ("closed", facts["closed_at"], facts["closed_by"]),
    ):
        if day or who:
            when = f" {day:%Y-%m-%d} ({age(day)})" if day else ""
            parts.append(f"{word}{when}{f' by {who}' if who else ''}")
    out.print(plain(", ".join(parts)))
    if facts["disposition"]:
        reference = f" ({facts['closing_reference']})" if facts["closing_reference"] else ""
        out.print(plain(f"why it was closed: {facts['disposition']}: {facts['closing_evidence']}{reference}"))
    for line in _closing_lines(facts):
        out.print(plain(line))
    if facts["labels"]:
        out.print(f"labels: {plain(', '.join(facts['labels']))}")
    if facts["summary"]:
        out.print(plain(facts["summary"]))


def _closing_lines(facts: Mapping[str, Any]) -> list[str]:
    """What closed an item: pull request or commit, and the comment that went with it."""
    lines = []
    if facts["closing_number"]:
        lines.append(f"closed through {facts['closing_repo']}#{facts['closing_number']}")
    elif facts["closing_sha"]:
        lines.append(f"closed through commit {facts['closing_sha']}")
    if facts["closing_comment"]:
        said = " ".join(facts["closing_comment"].split())
        cut = "..." if len(said) > LONGEST_CELL else ""
        lines.append(f"closing comment: {said[:LONGEST_CELL]}{cut}")
    return lines


def _verdict_line(entries: Sequence[Entry]) -> str:
    """Neighbouring builds with one verdict in one line, with all runs and controls; what was seen is of the last."""
    last = entries[-1]
    builds = span([entry.build for entry in entries])
    if len(entries) > 1:
        builds += f" ({len(entries)} builds)"
    controls = either(entry.shown_control for entry in entries)
    control = f", control {controls}" if controls else ""
    seen = f": {last.detail}" if last.detail else ""
    return f"{builds} {last.verdict} {either(f'{entry.k}/{entry.n}' for entry in entries)}{control}{seen}"


def _case_line(case: Mapping[str, Any]) -> str:
    relation = {"same": ", the report's own input", "sibling": ", another input than the report's"}
    about = f"{case['origin']}{relation.get(case['relation'], '')}, needs {', '.join(case['requires'])}"
    return f"{case['name']} ({about}): {case['summary']}"


def _gold_line(row: Mapping[str, Any]) -> str:
    evidence = f" ({row['evidence']})" if row["evidence"] else ""
    return f"{row['scheme']}: {row['value']} by {row['annotator']}{evidence}"


def _prediction_line(row: Mapping[str, Any]) -> str:
    how = HOW.get(row["provenance"], "")
    return f"{row['scheme']}: {row['value']} ({row['probability']:.2f}, {row['confidence']}{how})"


def _link_line(row: Mapping[str, Any]) -> str:
    """A linked item with every relation to it, and what each was read from."""
    evidence: dict[str, list[str]] = {}
    for kind in row["kinds"]:
        relation = f"{kind['relation']} this" if kind["inward"] else kind["relation"]
        evidence.setdefault(relation, []).append(kind["evidence"])
    kinds = ", ".join(f"{relation} ({', '.join(where)})" for relation, where in evidence.items())
    return f"{row['repo']}#{row['number']}: {kinds}"


def _section(heading: str, lines: Sequence[str]) -> None:
    out = stdout()
    if lines:
        out.print(f"\n{heading}")
    for line in lines:
        out.print(indented(line))
