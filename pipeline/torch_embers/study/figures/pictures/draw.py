"""Draw a table or figure and write it as SVG and PNG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import bars, grids, lines, marks, stacks, survival

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import StudyPlan

PICTURES: dict[str, Callable[[Table, StudyPlan], Any]] = {
    "shares": bars.shares,
    "stacked": stacks.stacked,
    "parts": stacks.parts,
    "breakdown": bars.breakdown,
    "heat": grids.heat,
    "lines": lines.lines,
    "multiples": lines.multiples,
    "sizes": lines.sizes,
    "curves": survival.curves,
}
"""The pictures that `draw` in data/figures.toml names."""


def draw(table: Table, plan: StudyPlan) -> Any:
    """The picture of a figure as a Matplotlib figure; one without rows says what is missing."""
    with drawing.styled():
        return PICTURES[table.definition.draw](table, plan) if table.rows else marks.blank(table)


def write(table: Table, plan: StudyPlan, folder: Path) -> tuple[Path, ...]:
    """Draw a figure into a folder.

    Raises:
        InputError: the folder cannot be written to.
    """
    return drawing.save(draw(table, plan), folder, table.definition.id)
