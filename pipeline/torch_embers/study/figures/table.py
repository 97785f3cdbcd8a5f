"""The rows of a table or figure: its query run on the prepared tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import duckdb

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.store import rows

if TYPE_CHECKING:
    from torch_embers.statistics.turnbull import Turnbull
    from torch_embers.study.figures.definitions import FigureDefinition

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table or figure with its rows.

    Attributes:
        rows: what is shown and written.
        items: what it was computed from, where that is something else: one row per item or per pair of answers.
        notes: how many, which selection, what was left out.
        curves: what pictures of survival draw, by group; a group without one is too small.
        source: who was counted and when, in a few words, for the line under a picture.
    """

    definition: FigureDefinition
    rows: tuple[Row, ...]
    items: tuple[Row, ...] = ()
    notes: tuple[str, ...] = ()
    curves: dict[str, Turnbull] = field(default_factory=dict)
    source: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns; empty without rows."""
        return tuple(self.rows[0]) if self.rows else ()

    def of(self, **wanted: Any) -> tuple[Row, ...]:
        """The rows with these values."""
        return tuple(row for row in self.rows if all(row.get(name) == value for name, value in wanted.items()))


def query(connection: duckdb.DuckDBPyConnection, definition: FigureDefinition) -> tuple[Row, ...]:
    """Run the query of a table or figure.

    Raises:
        InputError: the query is malformed.
    """
    try:
        return tuple(rows.mappings(connection, resources.analysis_text(*definition.query)))
    except duckdb.Error as error:
        raise InputError(f"analysis/{'/'.join(definition.query)}: {error}") from error


DIGITS = 4
"""Significant digits of computed numbers in files; more would only make them differ between machines."""


def cell(value: Any) -> Any:
    """A value as it stands in a file."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if abs(value) < 10**DIGITS else round(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return value
