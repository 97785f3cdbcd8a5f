"""docs/claims.md: every claim of the study with its verdict on a database of the catalog alone."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from torch_embers.store.store import Store
from torch_embers.study.claims import checks, claims_table, verdicts
from torch_embers.study.claims import definitions as claim_files

from .examples import catalog_database
from .markdown import cell, code, table

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = ("abstract", "I", "II", "III", "IV", "V", "VI", "VII", "VIII")


@cache
def report_on_catalog() -> verdicts.Report:
    """The study's claims against a database of the catalog alone."""
    return verdicts.on_store(Store(catalog_database()))


def counted() -> str:
    """How many claims have each verdict, by what our figure rests on."""
    report = report_on_catalog()
    rows = [
        (
            cell(basis),
            cell(claims_table.BASES.get(basis, "none: the row names what is missing, or is impossible by itself")),
            *map(str, counts),
        )
        for basis, counts in claims_table.by_basis(report)
    ]
    total = [str(report.verdicts[verdict]) for verdict in verdicts.VERDICTS]
    rows.append(("all", f"{len(report.results)} claims; {report.frame.words}", *total))
    headings = ("our figure", "rests on", *(f"{code(verdict)}:" for verdict in verdicts.VERDICTS))
    return f"{claims_table.replicated(report)}\n\n{table(headings, rows)}"


def rules() -> str:
    """Verdicts, rules of comparison and consistency checks, with their meaning."""
    parts = (
        ("verdict", verdicts.VERDICTS),
        ("rule", claim_files.RULES),
        ("check", {name: f"holds where {meaning}" for name, (_, meaning) in checks.CHECKS.items()}),
    )
    return "\n\n".join(table((what, "meaning"), [(code(k), cell(v)) for k, v in m.items()]) for what, m in parts)


def by_section() -> str:
    """Every claim by section: two sentences about each, then the verdicts."""
    report = report_on_catalog()
    decided = list(zip(report.results, claims_table.rows(report), strict=True))
    sections = sorted({_top_section(result) for result, _ in decided}, key=SECTIONS.index)
    return "\n\n".join(
        _claims_of(name, [pair for pair in decided if _top_section(pair[0]) == name]) for name in sections
    )


def _top_section(result: verdicts.Result) -> str:
    """The section of a claim without what follows its first point."""
    return result.claim.section.partition(".")[0]


def _claims_of(section: str, decided: Sequence[tuple[verdicts.Result, tuple[str, ...]]]) -> str:
    heading = "Abstract" if section == "abstract" else f"Section {section}"
    lines = []
    for claim in (result.claim for result, _ in decided):
        where = f"{code(claim.id)} ({claim.section}, {cell(claim.place)})"
        lines.append(f"- {where}: {cell(claim.states)} {cell(claim.explains)}")
    headings = ("claim", "printed:", "ours", "verdict", "why", "consistency")
    rows = [(code(name), cell(p), cell(o), code(v), cell(w), cell(c)) for _, (name, p, o, v, w, c) in decided]
    return f"### {heading}\n\n" + "\n".join(lines) + f"\n\n{table(headings, rows)}"
