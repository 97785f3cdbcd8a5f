"""A picture with text alone, where there is nothing to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions

if TYPE_CHECKING:
    from torch_embers.study.figures.table import Table


def blank(table: Table, *why: str) -> Any:
    """The heading of a table or figure with its notes, after the reasons."""
    lines = captions.under(table, *why)
    figure, axes = drawing.new(7.2, 0.5 + 0.17 * len(lines))
    axes.set_axis_off()
    axes.text(0, 1, "\n".join(lines), fontsize=8, color=drawing.GREY, transform=axes.transAxes, va="top")
    axes.set_title(table.definition.heading)
    return figure
