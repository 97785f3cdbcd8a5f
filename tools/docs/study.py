"""docs/study.md: the study's tables, figures and findings, from the files in analysis/results."""

from __future__ import annotations

import csv
import json
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers.study.claims import claims_table
from torch_embers.study.figures import definitions
from torch_embers.study.figures.display import display
from torch_embers.study.figures.table import Table
from torch_embers.study.findings import withdrawn as load_withdrawn
from torch_embers.study.samples import load as load_plan

from .claims import report_on_catalog
from .markdown import cell, code, table
from .places import ROOT
from .still_occurring import processors

if TYPE_CHECKING:
    from torch_embers.study.figures.definitions import FigureDefinition

RESULTS = ROOT / "analysis" / "results"
DATASETS = "datasets"
"""The same tables and figures on published datasets of reports."""
WIDER = ("funnel", "changed_since", "trends", "prevalence", "known_patches")
"""Tables that the datasets say more about than the catalog."""
WIDER_FIGURES = ("backends",)


@cache
def _record(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / folder / "study.json").read_text(encoding="utf-8"))
    return found


def _value(text: str) -> Any:
    """A cell of a CSV file as what it was before."""
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(text, text)


def _table(definition: FigureDefinition, folder: str) -> Table:
    notes = next(e["notes"] for e in _record(folder)["figures"] if e["id"] == definition.id)
    with (RESULTS / folder / f"{definition.id}.csv").open(encoding="utf-8", newline="") as file:
        rows = [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]
    return Table(definition, tuple(rows), notes=tuple(notes))


def _query(definition: FigureDefinition) -> str:
    path = "/".join(("analysis", *definition.query))
    return f"[`{path}`](../{path})"


def _shown(definition: FigureDefinition, folder: str = "", *, level: str = "###") -> str:
    """A table or figure as a part of the page: question, picture or table, notes, how to read it."""
    made = _table(definition, folder)
    results = "/".join(part for part in ("../analysis/results", folder) if part)
    parts = [
        f"{level} {definition.heading}",
        f"{definition.question} {_query(definition)}, [data]({results}/{definition.id}.csv)",
    ]
    if definition.draw:
        parts.append(f"![{definition.title}]({results}/{definition.id}.svg)")
    if made.rows and (not definition.draw or definition.derive == "survival"):
        plan = load_plan(date.fromisoformat(_record(folder)["as_of"]))
        names, rows = display(made, plan)
        parts.append(table([cell(name) for name in names], [[cell(value) for value in row] for row in rows]))
    parts.append("\n".join(f"- {cell(note)}" for note in (*made.notes, definition.reason)))
    return "\n\n".join(parts)


def samples() -> str:
    """Who is counted, on the catalog and with the datasets."""
    wider = {sample["name"]: sample["items"] for sample in _record(DATASETS)["samples"]}
    rows = [
        (code(s["name"]), cell(s["label"]), str(s["items"]), f"{wider[s['name']]:,}", cell(s["reason"]))
        for s in _record("")["samples"]
    ]
    return table(("sample", "called", "catalog:", "with datasets:", "who"), rows)


def frames() -> str:
    """How much of the tracker each database holds."""
    rows = []
    for name, folder in (("the catalog", ""), ("with datasets", DATASETS)):
        found = _record(folder)
        frame = found["frame"]
        share = f"{frame['known'] / frame['numbers']:.1%}"
        counts = (f"{count:,}" for count in (found["items"], frame["known"], frame["numbers"]))
        rows.append((name, found["as_of"], *counts, share))
    return table(("database", "as of", "items:", "numbers known:", "numbers of the tracker:", "share:"), rows)


def of_paper() -> str:
    """What the paper has a table or figure for."""
    return "\n\n".join(_shown(definition) for definition in definitions.load() if definition.paper)


def executed() -> str:
    """What running the cases adds to the statistics."""
    places = "; ".join(f"{text}: {', '.join(releases)}" for text, releases in processors().items())
    shown = [_shown(definition) for definition in definitions.load() if definition.counts == "cases"]
    return "\n\n".join(
        (
            f"All verdicts are of one machine, by processor and the CPU capability that torch used: {places}. "
            "Where a bug goes between two releases of another capability, that may be the kernel path.",
            *shown,
        )
    )


def more() -> str:
    """What else is counted."""
    wider = {*WIDER, *WIDER_FIGURES}
    return "\n\n".join(
        _shown(e) for e in definitions.load() if not e.paper and e.counts != "cases" and e.id not in wider
    )


def wider() -> str:
    """What published datasets of reports say more about."""
    chosen = [e for e in definitions.load() if e.id in {*WIDER, *WIDER_FIGURES}]
    return "\n\n".join(_shown(definition, DATASETS) for definition in chosen)


def lead() -> str:
    """The finding that the data support best, in plain words."""
    row = _table(next(e for e in definitions.load() if e.id == "still_occurring"), "").of(
        scheme="all", state="open", **{"class": "all"}
    )[0]
    gone = row["n"] - row["k"]
    place = " and ".join(text for text, releases in processors().items() if row["release"] in releases)
    return (
        f"**For {gone} of {row['n']} open issues that have a case of the report's own input, that case ran clean on "
        f"PyTorch {row['release']} ({place}).**"
    )


def claims() -> str:
    """What the claims that agree rest on, in one sentence."""
    return claims_table.replicated(report_on_catalog())


def findings() -> str:
    """Every finding, on the catalog and with the datasets; supported ones first."""
    pairs = list(zip(_record("")["findings"], _record(DATASETS)["findings"], strict=True))
    both = sorted(pairs, key=lambda pair: bool(pair[1]["insufficient_data"]))
    rows = [
        (
            cell(small["says"]),
            small["scope"],
            cell(small["numbers"]),
            cell(wide["numbers"]),
            _outcome(wide["insufficient_data"]),
        )
        for small, wide in both
    ]
    return table(("finding", "about", "catalog", "with datasets", "outcome"), rows)


def withdrawn() -> str:
    """Findings that were printed once and are withdrawn."""
    rows = [(cell(entry.says), cell(entry.was), cell(entry.reason)) for entry in load_withdrawn()]
    return table(("withdrawn", "was printed as", "why"), rows)


def census() -> str:
    """What the merged history decides, as it is a census: patches of each claim, and figure 4."""
    with (RESULTS / "census" / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            (code(row["claim"]), cell(row["printed"]), cell(row["ours"]), code(row["verdict"]), cell(row["why"]))
            for row in csv.DictReader(file)
        ]
    picture = "![Patches by part of the data path, every merge](../analysis/results/census/figure_4.svg)"
    return f"{table(('claim', 'printed:', 'on the census', 'verdict', 'why'), rows)}\n\n{picture}"


def _outcome(reason: str) -> str:
    return f"insufficient data: {cell(reason)}" if reason else "**supported**"


def experiments() -> str:
    """What the experiments found, in computed words, with the machine."""
    found = json.loads((RESULTS / "experiments.json").read_text(encoding="utf-8"))
    machine = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in found["machine"].items() if value)
    pictures = [f"![Figure {n}](../analysis/results/figure_{n}.svg)" for n in (8, 9)]
    lines = "\n".join(f"- {cell(finding)}" for finding in found["finding"])
    return "\n\n".join((*pictures, lines, f"Machine: {cell(machine)}. Images: {cell(found['images'])}."))
