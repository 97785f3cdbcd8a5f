"""The facts of the report as tables for programs: the same rows become JSON, Parquet and SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.report import places
from torch_embers.report.report_rules import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_embers.report.joined_facts import ReportFacts

TYPES: Mapping[str, Any] = {
    "text": pa.string(),
    "number": pa.int64(),
    "share": pa.float64(),
    "yes": pa.bool_(),
    "time": pa.timestamp("us", tz="UTC"),
    "texts": pa.list_(pa.string()),
}
"""Kinds of columns as data/report_tables.toml names them."""


def schema(name: str) -> pa.Schema:
    """The columns of a table of data/report_tables.toml."""
    (fields,) = (table.column for table in columns().table if table.name == name)
    return pa.schema([(column.name, TYPES[column.kind]) for column in fields])


def tables(facts: ReportFacts) -> dict[str, pa.Table]:
    """The tables that follow from the database, by name: all but ``changes``."""
    source = facts.source
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        "cases": (row | {"operators": facts.operators_of_case[row["name"]]} for row in source.cases),
        "case_items": ({"case": case["name"], **row} for case in source.cases for row in case["items"]),
        "verdicts": (entry.row() for entry in source.verdicts),
        "statuses": source.statuses,
        "announcements": source.announcements,
        "links": ({name: value or None for name, value in row.items()} for row in source.links),
        "fix_tests": (test for report in source.reports.values() for test in report.fix_tests),
    }
    made = {name: pa.Table.from_pylist(list(own), schema=schema(name)) for name, own in rows.items()}
    return {"items": _items(facts), **made}


def _items(facts: ReportFacts) -> pa.Table:
    """Column by column: a mapping per item would double the memory of the report."""
    keys, rows = list(facts.items), facts.items.values()
    verdicts, answers = [facts.verdict(key) for key in keys], [facts.answers.get(key) for key in keys]
    joined: dict[str, Iterable[Any]] = {
        "operators": (facts.operators_of.get(key, []) for key in keys),
        "statuses": (sorted({status["status"] for status in facts.statuses.get(key, ())}) for key in keys),
        "verdict": (one and one.entry.verdict for one in verdicts),
        "release": (one and one.entry.build for one in verdicts),
        "verdict_speaks_of": (one and one.speaks_of for one in verdicts),
        "another_occurs": (one and one.also_occurs for one in verdicts),
        "closable": (one and one.closable for one in answers),
        "because": (one and one.because for one in answers),
        "page": (places.item_page(*key) if key in facts.paged else None for key in keys),
        "address": (places.github_item(*key) or None for key in keys),
    }
    form = schema("items")
    columns = [pa.array(joined.get(one.name) or (row[one.name] for row in rows), one.type) for one in form]
    return pa.table(columns, schema=form)
