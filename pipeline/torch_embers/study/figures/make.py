"""All tables and figures of one database on one day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.study import samples
from torch_embers.study.claims import definitions as claims
from torch_embers.study.claims.verdicts import TrackerCoverage, frame
from torch_embers.study.figures import definitions
from torch_embers.study.figures.derive import derive
from torch_embers.study.figures.table import Table, query

if TYPE_CHECKING:
    from datetime import date

    import duckdb

    from torch_embers.study.figures.definitions import FigureDefinition
    from torch_embers.study.samples import StudyPlan


@dataclass(frozen=True, slots=True)
class Study:
    """What was counted, and of whom.

    Attributes:
        sizes: items in each sample.
        frame: how much of the tracker the database holds.
        items: issues and pull requests in the database.
        tables: one per table or figure, in the order of data/figures.toml.
        verdicts: pairs of item and release with a verdict: of this database, and of the shipped matrix.
        fixes: merged commits that name a fixed issue.
    """

    plan: StudyPlan
    sizes: dict[str, int]
    frame: TrackerCoverage
    items: int
    tables: tuple[Table, ...]
    verdicts: tuple[int, int]
    fixes: int = 0

    def table(self, name: str) -> Table:
        """The table of a table or figure.

        Raises:
            KeyError: there is none of this name.
        """
        for table in self.tables:
            if table.definition.id == name:
                return table
        raise KeyError(name)


def make(connection: duckdb.DuckDBPyConnection, plan: StudyPlan) -> Study:
    """Compute all tables and figures; the database is only read.

    Args:
        connection: an open database; temporary tables are made in it.
        plan: samples, their times, limits.

    Raises:
        InputError: a query or a definition is malformed.
    """
    samples.prepare(connection, plan)
    sizes = dict.fromkeys((sample.name for sample in plan.samples), 0)
    sizes |= dict(connection.execute("SELECT sample, count(*) FROM study_sample GROUP BY ALL").fetchall())
    known = frame(connection, claims.load().limits.census)
    [(items,)] = connection.execute("SELECT count(*) FROM items").fetchall()
    [(own, shipped)] = connection.execute(
        "SELECT count(*) FILTER (WHERE own), count(*) FILTER (WHERE NOT own) FROM study_verdicts"
    ).fetchall()
    [(fixes,)] = connection.execute("SELECT count(DISTINCT commit_sha) FROM fix_tests").fetchall()
    made = Study(plan, sizes, known, items, (), (own, shipped), fixes)
    tables = []
    for definition in definitions.load():
        table = derive(definition, query(connection, definition), plan.limits)
        notes, source = _about(definition, made)
        tables.append(replace(table, notes=(*notes, *table.notes), source=f"{source}, {_day(plan.today.last)}"))
    return replace(made, tables=tuple(tables))


def _day(day: date) -> str:
    return f"{day:%d %B %Y}".lstrip("0")


def _about(definition: FigureDefinition, study: Study) -> tuple[tuple[str, ...], str]:
    """What must stand under a table (how many items, how they were selected), and in short under its picture."""
    items = f"{study.items:,} items{'' if study.frame.census else ', selected'}"
    match definition.counts:
        case "nobody":
            return (), "lines of code by release"
        case "cases":
            own, shipped = study.verdicts
            pairs = (
                "bugs that the project has a case for: pairs of item and release that were decided, "
                f"{own:,} of this database and {shipped:,} of the shipped matrix"
            )
            return (pairs,), f"{own + shipped:,} verdicts of cases"
        case "fixes":
            commits = "merged commits that name a fixed issue"
            whole = f"{commits}: all {study.fixes:,} of the history that was read, no sample"
            return (whole,), f"{study.fixes:,} {commits}"
        case "labels":
            return ("labelled items, which were selected",), items
        case "candidates":
            return (f"{study.sizes['candidates']:,} candidates", study.frame.words), items
        case "samples":
            counted = "; ".join(f"{sample.label}: {study.sizes[sample.name]:,}" for sample in study.plan.samples)
            return (counted, study.frame.words), items
