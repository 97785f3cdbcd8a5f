"""Tables as people read them: samples side by side, a share with its count and interval in one cell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch_embers.study.figures.table import cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.samples import StudyPlan

NONE = "-"
SHARE = {"k", "n", "share", "low", "high"}
RANGES = {
    "share": ("low", "high"),
    "kappa": ("low", "high"),
    "alpha": ("alpha_low", "alpha_high"),
    "median_to": ("low", "high"),
    "raw": ("raw_low", "raw_high"),
    "corrected": ("corrected_low", "corrected_high"),
    "difference": ("difference_low", "difference_high"),
}
"""Numbers that stand in one cell with the ends of their intervals."""


def display(
    table: Table, plan: StudyPlan, leave_out: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Columns and rows of ready text; empty for a table without rows.

    Args:
        table: a table or figure.
        plan: its samples.
        leave_out: columns that are not shown.
    """
    if not table.rows:
        return (), []
    if leave_out:
        short = tuple({name: value for name, value in row.items() if name not in leave_out} for row in table.rows)
        return display(replace(table, rows=short), plan)
    if "sample" in table.columns:
        return _by_sample(table, plan)
    if "later_k" in table.columns:
        return _before_and_after(table)
    shares = {"k", "n", "share"} <= set(table.columns)
    names = [name for name in table.columns if not _inside(name, table.columns) and not (shares and name in SHARE)]
    rows = [[_text(row, name) for name in names] + ([_share(row)] if shares else []) for row in table.rows]
    return (*names, *([table.definition.event or "share"] if shares else [])), [tuple(row) for row in rows]


def _before_and_after(table: Table) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Shares of two times side by side, with their difference in points."""
    rows: list[tuple[str, ...]] = []
    for row in table.rows:
        later = {"k": row["later_k"], "n": row["later_n"], "share": row["later_share"], "low": None, "high": None}
        points = _text(row, "difference")
        rows.append((str(row["scheme"]), str(row["class"]), _share(row), _share(later), points))
    return ("scheme", "class", "before", "after", "difference in points"), rows


def _inside(name: str, columns: Sequence[str]) -> bool:
    """Whether a column is an end of an interval and stands in the cell of another one."""
    return any(number in columns and name in ends for number, ends in RANGES.items())


def _text(row: Row, name: str) -> str:
    value = row[name]
    if value is None:
        return NONE
    ends = [row.get(end) for end in RANGES.get(name, ())]
    if not ends or not isinstance(value, float):
        return _short(value)
    low, high = (NONE if end is None else _number(end, value) for end in ends)
    return f"{_number(value, value)} [{low}, {high}]"


def _number(value: float, like: float) -> str:
    return f"{value:.2f}" if abs(like) < 1 else f"{value:,.0f}" if abs(like) >= 100 else f"{value:.1f}"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2g}" if abs(value) < 1 else _number(value, value)
    return f"{value:,}" if isinstance(value, int) and not 1900 < value < 2100 else str(cell(value))


def _by_sample(table: Table, plan: StudyPlan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """One column per sample; rows in the order of the widest sample."""
    shared = [name for name in table.columns if name not in SHARE | {"sample"}]
    samples = [sample for sample in plan.samples if table.of(sample=sample.name)]
    keys: dict[tuple[Any, ...], dict[str, Row]] = {}
    for sample in reversed(samples):
        for row in table.of(sample=sample.name):
            keys.setdefault(tuple(row[name] for name in shared), {})[sample.name] = row
    rows = [
        (*(NONE if value is None else str(value) for value in key), *(_share(by_sample.get(s.name)) for s in samples))
        for key, by_sample in keys.items()
    ]
    return (*shared, *(sample.label for sample in samples)), rows


def _share(row: Row | None) -> str:
    if row is None:
        return NONE
    if "n" not in row:
        return f"{row['k']:,}"
    if row["share"] is None:
        return f"{row['k']:,} of {row['n']:,}"
    ends = f" [{row['low']:.1f}, {row['high']:.1f}]" if row.get("low") is not None else ""
    spread = f" ({row['share']:.1f} %{ends})"
    return f"{row['k']:,} of {row['n']:,}{spread}"
