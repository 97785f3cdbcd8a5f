"""What a study leaves behind: a CSV for each table and figure, and study.json with days, samples, notes and findings.

The same study gives the same bytes. Every file is written aside and moved into place, so that an interruption leaves
whole files.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.study.figures.make import Study
    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.findings import Outcome


def as_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV with a heading; empty where there is no value."""
    out = io.StringIO()
    if rows:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(rows[0])
        writer.writerows(["" if v is None else cell(v) for v in row.values()] for row in rows)
    return out.getvalue()


def put(path: Path, text: str) -> Path:
    """Write a file aside and move it into place.

    Raises:
        InputError: it cannot be written.
    """
    aside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise InputError(
            f"{path.parent}: cannot write there: {error.strerror}; choose another folder with --out"
        ) from error
    return path


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write the rows of a table or figure, and what they were computed from where that is something else."""
    paths = [put(folder / f"{table.definition.id}.csv", as_csv(table.rows))]
    if table.items:
        paths.append(put(folder / f"{table.definition.id}_items.csv", as_csv(table.items)))
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
    text = json.dumps(record(study, outcomes), indent=1, ensure_ascii=False)
    return put(folder / "study.json", text + "\n")
