"""The parts of `embers study`: tables, claims and figures, counted in one reading of the database and written."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers import packages
from torch_embers.errors import InputError
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import schema
from torch_embers.study import findings, result_files, samples
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.figures.make import make
from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.study.claims.verdicts import ClaimsReport
    from torch_embers.study.figures.make import Study
    from torch_embers.study.findings import Outcome

PARTS = ("tables", "claims", "figures")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Done:
    """What was made; a part that was not asked for is empty."""

    study: Study | None = None
    outcomes: Sequence[Outcome] = ()
    report: ClaimsReport | None = None
    paths: list[Path] = field(default_factory=list)


def run(store: Store, what: Sequence[str], out: Path, progress: Progress, *, as_of: date | None = None) -> Done:
    """Make the asked parts of the study and write them into a folder.

    Args:
        store: the database; it is only read.
        what: words of PARTS, or ``all``; without any word all of them.
        out: folder to write to.
        progress: advances with each picture.
        as_of: last day of today's samples; the present day where None.

    Raises:
        InputError: a word or option is wrong, a definition or query is malformed, a package is missing, or the folder
            cannot be written to; what was made before stays.
        StoreError: the database cannot be read.
    """
    wrong = [word for word in what if word not in (*PARTS, ALL)]
    if wrong:
        raise InputError(f"embers study {wrong[0]}: choose of {', '.join(PARTS)}, or {ALL}")
    wanted = set(PARTS) if not what or ALL in what else set(what)
    if as_of is not None and wanted == {"claims"}:
        raise InputError("--as-of goes with tables and figures, not with claims alone")
    if "claims" in wanted and (repo := store.repository()) != DEFAULT_REPO:
        if "claims" in what:
            raise InputError(f"embers study claims: the paper's are about {DEFAULT_REPO}, this database holds {repo}")
        wanted.remove("claims")
    plan = samples.load(as_of)
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        # the claims' tables are those of the first sample: so they are made once
        report = verdicts.evaluate(connection, definitions.load()) if "claims" in wanted else None
        study = None if wanted == {"claims"} else make(connection, plan)
    done = Done(study, findings.decide(study) if study else (), report)
    if study is not None:
        for table in study.tables:
            if f"{table.definition.kind}s" in wanted:
                name = table.definition.id
                done.paths.append(result_files.write(out / f"{name}.csv", result_files.as_csv(table.rows, cell)))
                if table.items:  # what the rows were computed from
                    items = result_files.as_csv(table.items, cell)
                    done.paths.append(result_files.write(out / f"{name}_items.csv", items))
        done.paths.append(
            result_files.write(out / "study.json", result_files.as_json(findings.record(study, done.outcomes)))
        )
    if report is not None:
        done.paths.extend(claims_table.write(report, out))
    if study is not None and "figures" in wanted:
        packages.require("study", "pictures need")
        _draw(study, out, progress, done.paths)
    return done


def _draw(study: Study, out: Path, progress: Progress, paths: list[Path]) -> None:
    from torch_embers.study.figures.pictures import draw

    drawn = [table for table in study.tables if table.definition.draw]
    progress.expects(len(drawn))
    for table in drawn:
        paths += draw.write(table, study.plan, out)
        progress.advanced(1)


def as_table(done: Done) -> dict[str, Any]:
    """What a study made as plain data; None for parts that were not asked for."""
    return {
        "files": [str(path) for path in done.paths],
        "study": done.study and findings.record(done.study, done.outcomes),
        "claims": done.report and dict(done.report.verdicts),
    }
