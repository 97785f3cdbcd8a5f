"""What changed since the report that stands in the folder: its data files compared with the tables of the new one.

A report of the same data keeps the comparison of the one that it replaces, so that writing it again changes no byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from torch_embers import resources
from torch_embers.atom_output import iso
from torch_embers.report import parquet
from torch_embers.report.folder import MARK
from torch_embers.report.tables import schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

KINDS = ("answer", "status", "verdict", "disposition", "new", "gone")
"""What can have changed, in the order of the pages."""
WORDS = {
    "answer": ("answer changed", "answers changed"),
    "status": ("status changed", "statuses changed"),
    "verdict": ("verdict changed", "verdicts changed"),
    "disposition": ("state or reason of closing changed", "states or reasons of closing changed"),
    "new": ("new item", "new items"),
    "gone": ("item gone", "items gone"),
}
"""The kinds in words, for one and for several."""
COMPARED = {
    "items": ("repo", "number", "title", "state", "disposition", "verdict", "release", "closable"),
    "statuses": ("repo", "number", "backend", "status", "reference"),
}
"""Data files and columns that are compared."""
NAME = "changes"
"""The data file of what changed."""
ENTRY = "comparison"
"""Key of the file ``MARK`` for with what was compared."""
FIRST = "first"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,30}")


@dataclass(frozen=True, slots=True)
class ReportComparison:
    """What changed.

    Attributes:
        rows: the table ``changes``.
        since: newest row of the earlier report's data (UTC); None where it had none.
        version: of embers that wrote the earlier report; empty where unknown.
        reason: why nothing was compared: ``FIRST``, or what is wrong with the earlier report; empty where it was.
    """

    rows: pa.Table
    since: datetime | None = None
    version: str = ""
    reason: str = ""

    def by_kind(self) -> dict[str, list[dict[str, Any]]]:
        """Changes by kind, in the order of ``KINDS``; kinds without any are left out."""
        rows = self.rows.to_pylist()
        found = {kind: [row for row in rows if row["what"] == kind] for kind in KINDS}
        return {kind: changed for kind, changed in found.items() if changed}

    def entry(self) -> dict[str, Any]:
        """With what was compared, for the next report."""
        return {"since": iso(self.since) if self.since else None, "version": self.version, "reason": self.reason}


class _UnreadableError(Exception):
    """Why an earlier report cannot be compared with; without paths, because it stands on a page."""


def compare(place: Path, tables: Mapping[str, pa.Table], newest: datetime | None) -> ReportComparison:
    """Compare the report in a folder with the tables of a new one; an earlier one that cannot be read is no error.

    Args:
        place: where an earlier report may stand.
        tables: of the new report.
        newest: newest row of the new report's data.
    """
    empty = schema(NAME).empty_table()
    if not (place / MARK).is_file():
        return ReportComparison(empty, reason=FIRST)
    try:
        about = _about(place)
        earlier = {name: _table(place, name, columns) for name, columns in COMPARED.items()}
        current = {name: tables[name].select(list(columns)) for name, columns in COMPARED.items()}
        since, version = _time(about.get("newest")), _matched(_VERSION, about.get("embers"))
        is_same_time = about.get("newest") == (iso(newest) if newest else None)
        if is_same_time and all(earlier[name].equals(current[name]) for name in COMPARED):
            return _kept(place, about, empty)
        return ReportComparison(changes(earlier, current), since, version)
    except _UnreadableError as error:
        return ReportComparison(empty, reason=str(error))


# ---- the earlier report --------------------------------------------------------------------------------------------


def _about(place: Path) -> dict[str, Any]:
    try:
        about = json.loads((place / MARK).read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise _UnreadableError(f"its {MARK} cannot be read") from error
    if not isinstance(about, dict):
        raise _UnreadableError(f"its {MARK} is none of a report")
    return about


def _table(place: Path, name: str, columns: Sequence[str]) -> pa.Table:
    """Columns of a data file, as the new report has them."""
    file = f"data/{name}.parquet"
    wanted = pa.schema([schema(name).field(column) for column in columns])
    if not (place / file).is_file():
        raise _UnreadableError(f"it has no {file}")
    try:
        found = parquet.read(place / file, wanted, ())
    except parquet.UnfitError as error:
        # Arrow's own words may name the path, which must not stand on a page
        reason = "cannot be read" if error.__cause__ else str(error)
        raise _UnreadableError(f"its {file} {reason}") from error
    if any(found[column].null_count for column in ("repo", "number")):
        raise _UnreadableError(f"its {file} has rows without an item")
    return found


def _kept(place: Path, about: Mapping[str, Any], empty: pa.Table) -> ReportComparison:
    """The comparison of the report that is replaced by one of the same data."""
    known = about.get(ENTRY)
    if not isinstance(known, dict):
        return ReportComparison(empty, _time(about.get("newest")), _matched(_VERSION, about.get("embers")))
    reason = known.get("reason")
    rows = _table(place, NAME, schema(NAME).names)
    if any(row["what"] not in KINDS for row in rows.to_pylist()):
        raise _UnreadableError(f"its data/{NAME}.parquet has changes of another kind")
    version = _matched(_VERSION, known.get("version"))
    return ReportComparison(rows, _time(known.get("since")), version, reason if isinstance(reason, str) else "")


def _time(text: Any) -> datetime | None:
    try:
        return datetime.strptime(_matched(_TIME, text), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None


def _matched(pattern: re.Pattern[str], text: Any) -> str:
    return text if isinstance(text, str) and pattern.fullmatch(text) else ""


# ---- differences ---------------------------------------------------------------------------------------------------


def changes(before: Mapping[str, pa.Table], now: Mapping[str, pa.Table]) -> pa.Table:
    """The table ``changes`` of two reports, each given by its tables of ``COMPARED``."""
    query = resources.package_file("report", "queries", "changes.sql").read_text(encoding="utf-8")
    with duckdb.connect() as connection:
        for name in COMPARED:
            connection.register(f"{name}_before", before[name]).register(f"{name}_now", now[name])
        return connection.sql(query, params={"kinds": KINDS}).to_arrow_table().cast(schema(NAME))


def counted(kind: str, count: int) -> str:
    """How many changes of a kind, in words."""
    one, many = WORDS[kind]
    return f"{count:,} {one if count == 1 else many}"
