"""What `embers study` does: tables, claims, census, figures, experiments, each written as soon as it is there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers import packages
from torch_embers.errors import InputError, MissingPackageError
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import schema
from torch_embers.study import census, findings, measured, results, samples
from torch_embers.study.claims import claims_table, definitions, verdicts
from torch_embers.study.figures.make import make

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.study.claims.verdicts import Report
    from torch_embers.study.figures.make import Study
    from torch_embers.study.findings import Outcome
    from torch_embers.study.measured import Measured

PARTS = {
    "tables": "tables as CSV, and the findings they support",
    "claims": "the paper's numbers beside ours, with verdicts",
    "census": "counts on the merged history, where one was mined",
    "figures": "pictures as SVG and PNG, with their data as CSV",
    "experiments": "figures 8 and 9, drawn from the dated measurements that come with embers",
}
ALL = "all"


@dataclass(frozen=True, slots=True)
class Done:
    """What was made; a part that was not asked for is empty."""

    study: Study | None = None
    outcomes: Sequence[Outcome] = ()
    report: Report | None = None
    measured: Measured | None = None
    paths: list[Path] = field(default_factory=list)


def parts(what: Sequence[str]) -> tuple[str, ...]:
    """The parts that words ask for, in the order in which they are made; without any word all of them.

    Raises:
        InputError: a word is none of them.
    """
    wrong = [word for word in what if word not in (*PARTS, ALL)]
    if wrong:
        raise InputError(f"embers study {wrong[0]}: choose of {', '.join(PARTS)}, or {ALL}")
    return tuple(PARTS) if not what or ALL in what else tuple(part for part in PARTS if part in what)


def counted(store: Store, as_of: date | None = None) -> Study:
    """Compute tables and figures from the database of a store.

    Args:
        store: the database; it is only read.
        as_of: last day of today's samples; the present day where None.

    Raises:
        InputError: the day, a definition or a query is malformed.
        StoreError: the database cannot be read.
    """
    plan = samples.load(as_of)
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        return make(connection, plan)


def counted_with_claims(store: Store, as_of: date | None = None) -> tuple[Study, Report]:
    """Tables, figures and claims from one reading of the database: what both stand on is made once.

    Raises:
        InputError: the day, a definition or a query is malformed.
        StoreError: the database cannot be read.
    """
    plan = samples.load(as_of)
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        return make(connection, plan), verdicts.evaluate(connection, definitions.load())


def run(store: Store, what: Sequence[str], out: Path, progress: Progress, *, as_of: date | None = None) -> Done:
    """Make the asked parts of the study and write them into a folder.

    Args:
        store: the database; experiments do without.
        what: words of PARTS, or ``all``.
        out: folder to write to.
        progress: advances with each picture.
        as_of: last day of today's samples.

    Raises:
        InputError: an option is wrong, a package is missing, or the folder cannot be written to; what was made before
            stays.
        StoreError: the database cannot be read.
    """
    wanted = parts(what)
    if as_of is not None and not {"tables", "figures"} & set(wanted):
        raise InputError(f"--as-of goes with tables and figures, not with {' and '.join(wanted)} alone")
    if "claims" in wanted and (repo := store.repository()) != DEFAULT_REPO:
        if "claims" in what:
            raise InputError(f"embers study claims: the paper's are about {DEFAULT_REPO}, this database holds {repo}")
        wanted = tuple(part for part in wanted if part != "claims")
    made: dict[str, Any] = {"paths": []}
    counting = bool({"tables", "figures"} & set(wanted))
    if counting and "claims" in wanted:
        made["study"], made["report"] = counted_with_claims(store, as_of)
    elif counting:
        made["study"] = counted(store, as_of)
    elif "claims" in wanted:
        made["report"] = verdicts.on_store(store)
    if counting:
        _write_tables(made["study"], wanted, out, made)
    if "claims" in wanted:
        made["paths"] += claims_table.write(made["report"], out)
    if "census" in wanted:
        _census(store, what, out, made)
    if "figures" in wanted:
        packages.require("study", "pictures need")
        _pictures(made["study"], out, progress, made["paths"])
    if "experiments" in wanted:
        packages.require("study", "pictures need")
        made["measured"], paths = measured.write(out)
        made["paths"] += paths
    return Done(**made)


def as_table(done: Done) -> dict[str, Any]:
    """What a study made as plain data; None for parts that were not asked for."""
    return {
        "files": [str(path) for path in done.paths],
        "study": done.study and results.record(done.study, done.outcomes),
        "claims": done.report and dict(done.report.verdicts),
    }


def _write_tables(study: Study, wanted: tuple[str, ...], out: Path, made: dict[str, Any]) -> None:
    made["outcomes"] = findings.decide(study)
    for table in study.tables:
        if f"{table.definition.kind}s" in wanted:
            made["paths"] += results.write_table(table, out)
    made["paths"].append(results.write_record(study, made["outcomes"], out))


def _census(store: Store, what: Sequence[str], out: Path, made: dict[str, Any]) -> None:
    """Count the merged history; without one that is an error only where it was asked for by name."""
    found = census.of_store(store)
    if found is not None:
        made["paths"] += census.write(found, out)
        with suppress(MissingPackageError):  # without Matplotlib there are the tables, as of the tracker's sample
            made["paths"] += census.draw(found, out)
    elif "census" in what:
        raise InputError(
            "embers study census: this database holds no merged history; "
            "run `embers mine --source git CLONE` first (docs/history.md)"
        )


def _pictures(study: Study, out: Path, progress: Progress, paths: list[Path]) -> None:
    from torch_embers.study.figures.pictures import draw

    drawn = [table for table in study.tables if table.definition.draw]
    progress.expects(len(drawn))
    for table in drawn:
        paths += draw.write(table, study.plan, out)
        progress.advanced(1)
