"""Draw an exhibit and write it as SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.exhibits.pictures import bars, blank, grids, lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_embers.study.exhibits.table import Table
    from torch_embers.study.population import Plan

PICTURES: dict[str, Callable[[Table, Plan], Any]] = {
    "shares": bars.shares,
    "stacked": bars.stacked,
    "breakdown": bars.breakdown,
    "heat": grids.heat,
    "lines": lines.lines,
    "sizes": lines.sizes,
    "curves": lines.curves,
}
"""Kinds of pictures of data/exhibits.toml."""


def draw(table: Table, plan: Plan) -> Any:
    """The picture of an exhibit as a Matplotlib figure; one without rows says what is missing.

    Raises:
        InputError: Matplotlib is not installed.
    """
    with drawing.styled():
        return PICTURES[table.exhibit.draw](table, plan) if table.rows else blank.blank(table)


def write(table: Table, plan: Plan, folder: Path) -> tuple[Path, ...]:
    """Draw an exhibit into a folder.

    Raises:
        InputError: Matplotlib is not installed, or the folder cannot be written to.
    """
    return drawing.save(draw(table, plan), folder, table.exhibit.id)
