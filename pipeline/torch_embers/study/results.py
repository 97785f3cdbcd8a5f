"""What a study leaves behind: a CSV for each table and figure, and study.json with days, samples, notes and findings.

The same study gives the same bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.study import files
from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Table
    from torch_embers.study.findings import Outcome


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write the rows of a table or figure, and what they were computed from where that is something else."""
    paths = [files.write(folder / f"{table.definition.id}.csv", files.as_csv(table.rows, cell))]
    if table.items:
        paths.append(files.write(folder / f"{table.definition.id}_items.csv", files.as_csv(table.items, cell)))
    return paths


def record(study: Study, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything about a study that is no row: days, samples, notes, findings."""
    plan = study.plan
    samples = [
        {"name": s.name, "label": s.label, "reason": s.reason, "items": study.sizes[s.name]} for s in plan.samples
    ]
    figures = [
        {"id": t.definition.id, "heading": t.definition.heading, "rows": len(t.rows), "notes": list(t.notes)}
        for t in study.tables
    ]
    findings = [
        {"id": o.finding.id, "says": o.finding.says, "scope": o.finding.scope}
        | {"numbers": o.numbers, "insufficient_data": o.insufficient}
        for o in outcomes
    ]
    return {
        "as_of": plan.today.last.isoformat(),
        "paper_ends": plan.paper.last.isoformat(),
        "items": study.items,
        "frame": {"known": study.frame.known, "numbers": study.frame.numbers, "census": study.frame.census},
        "samples": samples,
        "figures": figures,
        "findings": findings,
    }


def write_record(study: Study, outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Write study.json.

    Raises:
        InputError: the folder cannot be written to.
    """
    return files.write(folder / "study.json", files.as_json(record(study, outcomes)))
