"""What `embers show` prints: the answer, a line of releases for each script, and a page of all that is known."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from torch_embers.cli.print_runs import STYLES
from torch_embers.console import age, plain, print_page, stdout
from torch_embers.extract.script import Script
from torch_embers.templates import render
from torch_embers.timeline.sentence import details, strip
from torch_embers.verdicts.matrix import deciding, either, preferred, span
from torch_embers.verdicts.script_excerpt import script_of
from torch_embers.verdicts.status import CONFIRMED, WORDS
from torch_embers.views.item_report import SHOWN_LINKS, headline
from torch_embers.views.script_text import changes, command

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch_embers.verdicts.matrix import MatrixEntry
    from torch_embers.views.item_report import ItemReport

ORIGINS = {
    "out_of_fold": ", by a model that was trained without it",
    "execution": ", shown by a run",
    "only_class": ", the only class there",
}
"""Origin of a label, in words; nothing for the model alone."""
INPUTS = {"same": ", the report's own input", "sibling": ", another input than the report's"}
"""What a case shows, by its relation to the report."""


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


def print_item(report: ItemReport) -> None:
    """Print all that is known of an item: the answer, its releases, facts, labels, links, evidence; scripts last."""
    print_answer(report)
    page = render(
        "cli",
        "item.txt",
        report=report,
        script=report.script if isinstance(report.script, Script) else None,
        verdicts=lambda case: _verdicts([entry for entry in report.verdicts if entry.case == case["name"]]),
        relations=_relations,
        excerpt=lambda script: script_of("", "", script.code).lines(),
        origins=ORIGINS,
        inputs=INPUTS,
        statuses=WORDS,
        confirmed=CONFIRMED,
        shown_links=SHOWN_LINKS,
        age=age,
        changes=changes,
        command=command,
        details=details,
    )
    print_page(page)


def _verdicts(entries: Sequence[MatrixEntry]) -> Iterator[str]:
    """Of a case: neighbouring builds with one verdict in one line, and where they ran; own runs before shipped ones."""
    for _, of_origin in groupby(entries, key=lambda entry: entry.provenance):
        shown = list(of_origin)
        for verdict, alike in groupby(shown, key=lambda entry: entry.verdict):
            same = list(alike)
            builds = span([entry.build for entry in same]) + f" ({len(same)} builds)" * (len(same) > 1)
            controls = either(entry.shown_control for entry in same)
            control = f", control {controls}" if controls else ""
            seen = f": {same[-1].detail}" if same[-1].detail else ""
            yield f"{builds} {verdict} {either(f'{entry.k}/{entry.n}' for entry in same)}{control}{seen}"
        yield from sorted({entry.place for entry in shown})


def _relations(link: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Every relation to a linked item, with what it was read from."""
    evidence: dict[str, list[str]] = {}
    for kind in link["kinds"]:
        relation = f"{kind['relation']} this" if kind["inward"] else kind["relation"]
        evidence.setdefault(relation, []).append(kind["evidence"])
    yield from evidence.items()
