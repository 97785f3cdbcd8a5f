"""All tables and figures of one database on one day."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.study import population
from torch_embers.study.claims import definitions as claims
from torch_embers.study.claims.judge import Frame, frame
from torch_embers.study.exhibits import definitions
from torch_embers.study.exhibits.derive import derive
from torch_embers.study.exhibits.table import Table, query

if TYPE_CHECKING:
    import duckdb

    from torch_embers.study.exhibits.definitions import Exhibit
    from torch_embers.study.population import Plan


@dataclass(frozen=True, slots=True)
class Study:
    """What was counted, and of whom.

    Attributes:
        sizes: items in each sample.
        frame: how much of the tracker the database holds.
        items: issues and pull requests in the database.
        tables: one per exhibit, in the order of data/exhibits.toml.
        verdicts: pairs of item and release with a verdict: of this database, and of the shipped matrix.
    """

    plan: Plan
    sizes: dict[str, int]
    frame: Frame
    items: int
    tables: tuple[Table, ...]
    verdicts: tuple[int, int]

    def table(self, name: str) -> Table:
        """The table of an exhibit.

        Raises:
            KeyError: there is none of this name.
        """
        for table in self.tables:
            if table.exhibit.id == name:
                return table
        raise KeyError(name)


def make(connection: duckdb.DuckDBPyConnection, plan: Plan) -> Study:
    """Compute all exhibits; the database is only read.

    Args:
        connection: an open database; temporary tables are made in it.
        plan: samples, their times, limits.

    Raises:
        InputError: a query or a definition is malformed.
    """
    population.prepare(connection, plan)
    sizes = dict.fromkeys((sample.name for sample in plan.samples), 0)
    sizes |= dict(connection.execute("SELECT sample, count(*) FROM study_sample GROUP BY ALL").fetchall())
    known = frame(connection, claims.load().census)
    [(items,)] = connection.execute("SELECT count(*) FROM items").fetchall()
    [(own, shipped)] = connection.execute(
        "SELECT count(*) FILTER (WHERE own), count(*) FILTER (WHERE NOT own) FROM study_verdicts"
    ).fetchall()
    made = Study(plan, sizes, known, items, (), (own, shipped))
    tables = [_noted(derive(exhibit, query(connection, exhibit), plan.limits), made) for exhibit in definitions.load()]
    return replace(made, tables=tuple(tables))


def _noted(table: Table, study: Study) -> Table:
    """The table with what must stand under it: how many items, and how they were selected."""
    return replace(table, notes=(*_selection(table.exhibit, study), *table.notes))


def _selection(exhibit: Exhibit, study: Study) -> list[str]:
    if exhibit.counts == "nobody":
        return []
    if exhibit.counts == "cases":
        own, shipped = study.verdicts
        return [
            f"bugs that somebody wrote a case for: {own:,} verdicts of this database, {shipped:,} of the shipped matrix"
        ]
    if exhibit.counts == "labels":
        return ["labelled items, which were selected"]
    if exhibit.counts == "candidates":
        return [f"{study.sizes['candidates']:,} candidates", study.frame.words]
    counted = "; ".join(f"{sample.label}: {study.sizes[sample.name]:,}" for sample in study.plan.samples)
    return [counted, study.frame.words]
