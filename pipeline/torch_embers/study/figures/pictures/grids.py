"""Heat maps: counts of one class by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import Plan


def heat(table: Table, plan: Plan) -> Any:
    """Memory types by consequence, one panel per sample; each cell has its count, so that no colour must be read."""
    group = table.definition.group
    samples = [s.name for s in plan.samples if table.of(sample=s.name) and s.name != "today"]
    rows = table.of(sample="candidates") or table.rows
    types, ends = marks.order(rows, group), marks.order(rows, "consequence")
    figure, grid = drawing.new(
        3.2 + 2.9 * len(samples), 1.7 + 0.3 * len(types) + 0.13 * len(table.notes), columns=len(samples), sharey=True
    )
    every = list(grid) if len(samples) > 1 else [grid]
    for axes, sample in zip(every, samples, strict=True):
        counts = {(r[group], r["consequence"]): r["k"] for r in table.of(sample=sample)}
        matrix = [[counts.get((t, e), 0) for e in ends] for t in types]
        most = max(1, *(k for line in matrix for k in line))
        axes.imshow([[(k / most) ** 0.5 for k in line] for line in matrix], cmap=drawing.shades(), vmin=0, vmax=1,
                    aspect="auto")  # fmt: skip
        for y, line in enumerate(matrix):
            for x, k in enumerate(line):
                if k:
                    dark = (k / most) ** 0.5 > 0.6
                    axes.text(x, y, str(k), ha="center", va="center", fontsize=8, color="white" if dark else "black")
        axes.set_xticks(range(len(ends)), [captions.name(e) for e in ends], rotation=35, ha="right")
        axes.set_yticks(range(len(types)), [captions.name(t) for t in types])
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(f"{plan.sample(sample).label}: {sum(map(sum, matrix)):,}", fontsize=9)
    figure.suptitle(table.definition.heading, x=0.01, ha="left", fontsize=10)
    drawing.note(
        figure, captions.under(table, "Darker: more bugs, by the square root of the count within a panel. Empty: none.")
    )
    return figure
