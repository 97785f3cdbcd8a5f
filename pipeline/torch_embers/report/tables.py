"""The facts of the report as tables for programs: the same rows become JSON, Parquet and SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.report import places
from torch_embers.report.report_rules import columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
        "items": _items(facts),
        "cases": (row | {"operators": facts.operators_of_case[row["name"]]} for row in source.cases),
        "case_items": ({"case": case["name"], **row} for case in source.cases for row in case["items"]),
        "verdicts": (entry.row() for entry in source.verdicts),
        "statuses": source.statuses,
        "announcements": source.announcements,
        "links": ({name: value or None for name, value in row.items()} for row in source.links),
        "fix_tests": (test for report in source.reports.values() for test in report.fix_tests),
    }
    return {name: pa.Table.from_pylist(list(own), schema=schema(name)) for name, own in rows.items()}


def _items(facts: ReportFacts) -> Iterator[Mapping[str, Any]]:
    for key, row in facts.items.items():
        decided, answer = facts.verdict(key), facts.answers.get(key)
        yield row | {
            "summary": row["summary"],
            "operators": facts.operators_of.get(key, []),
            "statuses": sorted({status["status"] for status in facts.statuses.get(key, ())}),
            "verdict": decided.entry.verdict if decided else None,
            "release": decided.entry.build if decided else None,
            "verdict_speaks_of": decided.speaks_of if decided else None,
            "another_occurs": decided.also_occurs if decided else None,
            "closable": answer.closable if answer else None,
            "because": answer.because if answer else None,
            "page": places.item_page(*key) if key in facts.paged else None,
            "address": places.github_item(*key) or None,
        }
