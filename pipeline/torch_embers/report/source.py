"""Read from the database, in one go, all that the report shows."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers import resources
from torch_embers.link import relations
from torch_embers.link.chain import IDENTITY, STRONG
from torch_embers.report import data_files
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import schema
from torch_embers.store.rows import mappings
from torch_embers.verdicts.matrix import MatrixEntry, entries
from torch_embers.views.item_evidence import answered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    import duckdb

    from torch_embers.store.store import Store
    from torch_embers.views.item_report import ItemReport

Row = dict[str, Any]
Key = tuple[str, int]
"""Repository and number."""


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of the database as mappings from column to value; the files of ``queries/`` say what each holds.

    Attributes:
        verdicts: the newest verdict of every case on every build, by case, oldest build first.
        reports: of every item of which anything ran, what decides its answer, and the answer.
        closings, bodies, scripts, gold, predictions, links: of the items that get a page.
        vectors: of the texts of all items: repo, number, vector.
    """

    items: Sequence[Row]
    cases: Sequence[Row]
    verdicts: Sequence[MatrixEntry]
    statuses: Sequence[Row]
    history: Sequence[Row]
    announcements: Sequence[Row]
    runs: Sequence[Row]
    builds: Sequence[Row]
    freshness: Sequence[Row]
    sources: Sequence[Row]
    commits: Sequence[Row]
    bisections: Sequence[Row]
    schema_version: int
    reports: Mapping[Key, ItemReport] = field(default_factory=dict)
    closings: Sequence[Row] = ()
    scripts: Sequence[Row] = ()
    bodies: Sequence[Row] = ()
    gold: Sequence[Row] = ()
    predictions: Sequence[Row] = ()
    links: Sequence[Row] = ()
    vectors: pa.Table | None = None

    @property
    def newest(self) -> datetime | None:
        """The newest time that any row tells: the date of the report, so that equal data give equal pages."""
        read = (*self.freshness, *self.sources)
        times = [row[name] for row in read for name in ("newest_change", "last_read") if row.get(name)]
        times += [entry.decided_at for entry in self.verdicts]
        times += [row["decided_at"] for row in (*self.statuses, *self.history)]
        times += [row["announced_at"] for row in self.announcements] + [row["ran_at"] for row in self.runs]
        times += [row["finished_at"] or row["started_at"] for row in self.bisections]
        return max(times, default=None)


def read(store: Store, choose: Callable[[Source], Sequence[Key]], characters: int, printed: int) -> Source:
    """Read all rows.

    Args:
        store: the database.
        choose: which items get a page; it is asked before their texts, labels and links are read.
        characters: of an item's text that are read.
        printed: characters of what a run printed that are read, from its end.

    Raises:
        StoreError: the database cannot be read, or is of another version.
    """
    verdicts = entries(store)
    reports = answered(store)
    repo = store.repository()
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        strong = [n for n, r in relations.load().relations.items() if r.strength in (STRONG, IDENTITY)]
        known = Source(
            items=_items(connection, strong),
            verdicts=verdicts,
            runs=_ask(connection, "runs", characters=printed),
            reports=reports,
            schema_version=int(connection.execute("SELECT max(version) FROM schema_version").fetchall()[0][0]),
            **{
                name: _ask(connection, name)
                for name in (
                    *("cases", "statuses", "history", "announcements", "builds", "freshness", "sources", "commits"),
                    "bisections",
                )
            },
        )
        if repo != DEFAULT_REPO:  # runs in such a database bring the cases of PyTorch along
            cases = [case for case in known.cases if any(item["repo"] == repo for item in case["items"])]
            names = {case["name"] for case in cases}
            known = replace(
                known,
                cases=cases,
                verdicts=[entry for entry in verdicts if entry.case in names],
                reports={key: one for key, one in reports.items() if key[0] == repo},
                statuses=[row for row in known.statuses if row["repo"] == repo],
                history=[row for row in known.history if row["repo"] == repo],
            )
        paged = sorted(choose(known))
        form = pa.schema({"repo": pa.string(), "number": pa.int32()})
        connection.register("paged", pa.table(list(zip(*paged, strict=True)) or [(), ()], schema=form))
        return replace(
            known,
            closings=_ask(connection, "closings"),
            bodies=_ask(connection, "bodies", characters=characters),
            scripts=_ask(connection, "scripts"),
            gold=_ask(connection, "gold"),
            predictions=_ask(connection, "predictions"),
            links=_ask(connection, "links", strong=strong),
            vectors=connection.sql(_query("vectors")).to_arrow_table(),
        )


def _items(connection: duckdb.DuckDBPyConnection, strong: Sequence[str]) -> list[Row]:
    """Every item; of a text that many of them have, one object is kept."""
    result = connection.execute(_query("items"), {"strong": strong})
    names = [column[0] for column in result.description or ()]
    items = []
    while rows := result.fetchmany(data_files.ROWS):
        for row in rows:
            item = dict(zip(names, row, strict=True))
            for name in ("labels", "classes", "components"):
                item[name] = list(map(sys.intern, item[name]))
            items.append(item)
    return items


def _ask(connection: duckdb.DuckDBPyConnection, name: str, **parameters: Any) -> list[Row]:
    return mappings(connection, _query(name), parameters or None)


def _query(name: str) -> str:
    return resources.package_file("report", "queries", f"{name}.sql").read_text(encoding="utf-8")
