"""What the commands around builds, runs and verdicts print. Text from outside is always escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from torch_embers.console import age, plain, size_text, stdout, table
from torch_embers.run.matrix import builds_of, changes
from torch_embers.run.recheck import evidence_line
from torch_embers.run.reports import HEADINGS
from torch_embers.run.status import ANNOUNCED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.repro.link import Linked
    from torch_embers.run.command import RunOutcome
    from torch_embers.run.item_report import Story
    from torch_embers.run.ledger import Cell
    from torch_embers.run.matrix import Entry
    from torch_embers.run.recheck import Recheck
    from torch_embers.run.reduction import Reduction

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


def print_builds(found: Sequence[Build], cap_gb: float) -> None:
    """Print the installed builds."""
    rows = [
        (
            b.name,
            b.version,
            b.git_commit[:10],
            b.python_version,
            ", ".join(b.devices),
            size_text(b.disk_bytes) if b.managed else "registered",
            "not checked" if not b.checked else "broken" if b.broken else "ok",
        )
        for b in found
    ]
    columns = [(name, False) for name in ("name", "version", "commit", "python", "devices", "disk", "check")]
    out = stdout()
    out.print(table("", columns, rows))
    used = sum(b.disk_bytes for b in found if b.managed)
    out.print(f"installed by embers: {size_text(used)} of {cap_gb:g} GB")


def print_checks(found: Sequence[Build]) -> None:
    """Print what the checks of builds found."""
    rows = [(b.name, what, result) for b in found for what, result in b.checked]
    stdout().print(table("", [("build", False), ("check", False), ("result", False)], rows))


def print_linked(done: Linked) -> None:
    """Print what became of the candidates."""
    out = stdout()
    counted = ", ".join(f"{count:,} {status}" for status, count in sorted(done.statuses.items()))
    out.print(f"{done.candidates:,} candidates, one row each: {counted or 'none'}; {done.read:,} texts read now")
    if done.reasons:
        out.print(table("", [("no case because", False), ("items", True)], done.reasons.items()))


def print_reduction(made: Reduction) -> None:
    """Print a minimised script, and how it came about."""
    out = stdout()
    out.print(made.found.code, markup=False, soft_wrap=True)
    steps = [(step.name, step.before, step.after, step.tests) for step in made.found.steps]
    out.print(table("", [("pass", False), ("characters", True), ("after", True), ("tests", True)], steps))
    agreed = ", ".join(f"{name} {outcome}" for name, outcome in made.agree.items())
    out.print(
        f"{made.lines_before} lines to {made.lines_after}, {made.before:,} characters to {made.after:,}, "
        f"{made.found.tests:,} tests in {made.seconds:,.1f} s on {plain(made.build.name)}; together: {agreed}"
        + (" (stopped: out of tests)" if made.found.stopped else "")
    )


def print_cell(cell: Cell) -> None:
    """Print one verdict."""
    mark, style = STYLES[cell.decision.verdict]
    line = Text(f"{mark} {cell.build.name:<10} ", style=style)
    line.append(plain_text(evidence_line(cell)), style="")
    stdout().print(line)


def plain_text(text: str) -> str:
    """Foreign text for a ``Text``, which needs no escaping of markup."""
    return "".join(c for c in text if c.isprintable())


def print_outcome(done: RunOutcome) -> None:
    """Print a run's summary."""
    out = stdout()
    counted = ", ".join(f"{count} {verdict}" for verdict, count in sorted(done.counts.items()))
    out.print(f"\n{len(done.cells)} verdicts: {counted or 'none'}")
    if done.gone:
        out.print(f"open items that do not occur any more ({len(done.gone)}): {plain(' '.join(done.gone))}")
    if done.alive:
        out.print(f"closed items that still occur ({len(done.alive)}): {plain(' '.join(done.alive))}")


def print_matrix(found: Sequence[Entry]) -> None:
    """Print case x build, one mark per verdict."""
    builds = builds_of(found)
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    made.add_column("case", no_wrap=True)
    for build in builds:
        made.add_column(build.removesuffix(".0") if build.count(".") > 1 else build, justify="center", no_wrap=True)
    cells = {(e.case, e.build): e for e in found}
    for case in sorted({e.case for e in found}):
        marks = []
        for build in builds:
            entry = cells.get((case, build))
            mark, style = STYLES[entry.verdict] if entry else (" ", "")
            marks.append(Text(mark + ("~" if entry and entry.flaky else ""), style=style))
        made.add_row(plain(case), *marks)
    out = stdout()
    out.print(made)
    out.print("  ".join(f"{mark} {verdict}" for verdict, (mark, _) in STYLES.items()) + "  ~ flaky")
    out.print(f"{len(changes(found))} of {len({e.case for e in found})} cases change between two builds")


def print_recheck(found: Recheck) -> None:
    """Print what changed since the last re-check."""
    out = stdout()
    out.print(f"re-checked against {plain(found.reference.identity)}: {found.fresh} verdicts reached now")
    for status in ANNOUNCED:
        own = [change for change in found.news if change.status == status]
        if own:
            out.print(f"\n[bold]{HEADINGS[status]}[/] ({len(own)})")
        for change in own:
            was = f", was {change.previous}" if change.previous else ""
            out.print(f"  {plain(change.repo)}#{change.number} ({change.backend}{was}) {plain(change.title)}")
            for line in change.evidence:
                out.print(f"      {plain(line)}")
    if not found.news:
        out.print("nothing changed since the last re-check")
    counted = ", ".join(f"{count} {status}" for status, count in sorted(found.counts.items()))
    out.print(f"\nitems: {counted or 'none with a verdict'}")
    if found.false_expected:
        out.print(f"false claims of an absence to expect among these: at most {found.false_expected:.4f}")


def print_story(found: Story) -> None:
    """Print all that is known of an item."""
    out = stdout()
    title, kind, state, reason, created, closed, author, labels, summary = found.facts
    out.print(f"[bold]{plain(found.repo)}#{found.number}[/] {plain(title or '')}")
    told = f"{kind or 'item'}, {state or 'state unknown'}{f' ({reason})' if reason else ''}"
    dates = [f"{word} {day:%Y-%m-%d} ({age(day)})" for word, day in (("opened", created), ("closed", closed)) if day]
    out.print(plain(", ".join([told, *dates, *([f"by {author}"] if author else [])])))
    if labels:
        out.print(f"labels: {plain(', '.join(labels))}")
    if summary:
        out.print(plain(summary))
    _section("Taxonomy", [f"{s}: {v} by {who}" + (f" ({why})" if why else "") for s, v, who, why in found.gold])
    _section("Classifier", [f"{s}: {v}, probability {p:.2f} ({source})" for s, v, p, source in found.guesses])
    links = [
        f"{f'{repo}#{number} {relation} this' if inward else f'{relation} {repo}#{number}'} ({evidence})"
        for relation, repo, number, evidence, inward in found.links
    ]
    _section("Links", links)
    _section("Cases", [f"{n} ({origin}, needs {', '.join(needs)}): {text}" for n, origin, text, needs in found.cases])
    if not found.cases:
        why = [
            f"{status}: {' - '.join(t for t in (reason, detail) if t)}" for status, reason, detail in found.extraction
        ]
        _section("No case", why or ["not looked for yet: `embers link-repros`"])
    _section("Status", [f"{b}: {s} on torch {ref} since {day:%Y-%m-%d}" for b, s, ref, day in found.statuses])
    if found.verdicts:
        columns = [
            ("case", False),
            ("build", False),
            ("verdict", False),
            ("k/n", True),
            ("control", False),
            ("seen", False),
        ]
        rows = [(e.case, e.build, e.verdict, f"{e.k}/{e.n}", _control(e), e.detail) for e in found.verdicts]
        out.print(table("\nVerdicts", columns, rows))


def _section(heading: str, lines: Sequence[str]) -> None:
    out = stdout()
    if lines:
        out.print(f"\n{heading}")
    for line in lines:
        out.print(f"  {plain(' '.join(line.split()))}")


def _control(entry: Entry) -> str:
    if entry.control == "build":
        return f"{entry.control_k}/{entry.control_n} on {entry.control_build}"
    return f"planted {entry.control_k}/{entry.control_n}" if entry.control == "planted" else "none"
