"""Heat maps: counts of one class by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.claims import definitions as claims
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import StudyPlan

ALL = "all"


def heat(table: Table, plan: StudyPlan) -> Any:
    """Memory types by consequence with totals, one panel per sample and one with the counts that the paper prints."""
    group = table.definition.group
    samples = [s.name for s in plan.samples if table.of(sample=s.name) and s.name != "today"]
    rows = table.of(sample="candidates") or table.rows
    types, ends = marks.order(rows, group), marks.order(rows, "consequence")
    panels = {
        f"{plan.sample(name).label}": {(r[group], r["consequence"]): r["k"] for r in table.of(sample=name)}
        for name in samples
    }
    paper = claims.load()
    values = {tuple(of.split()): paper.value(name) for of, name in table.definition.claims.items()}
    printed = {(of[0], of[1]): int(value) for of, value in values.items() if len(of) == 2}
    figure, grid = drawing.new(
        2.4 + 2.0 * (len(panels) + 1), 2.6 + 0.3 * len(types), columns=len(panels) + 1, sharey=True, squeeze=False
    )
    for axes, (name, counts) in zip(grid[0], panels.items(), strict=False):
        _panel(axes, counts, types, ends)
        axes.set_title(name, fontsize=9)
    _panel(grid[0][-1], printed, types, ends, totals=False)
    for x, end in enumerate(ends):
        if (end,) in values:
            text = f"{values[end,]:g} %"
            grid[0][-1].text(x, len(types), text, ha="center", va="center", fontsize=6.5, fontweight="bold")
    grid[0][-1].set_title("printed in the paper's text", fontsize=9)
    figure.get_layout_engine().set(wspace=0.01, w_pad=0.02)
    note = "Darker: more bugs, within a panel. The paper's text gives six counts and three shares; empty: not printed."
    return marks.finish_panels(figure, table, note)


def _panel(
    axes: Any,
    counts: Mapping[tuple[str, str], int],
    types: Sequence[str],
    ends: Sequence[str],
    *,
    totals: bool = True,
) -> None:
    matrix = [[counts.get((t, e), 0) for e in ends] for t in types]
    most = max(1, *(k for line in matrix for k in line))
    axes.imshow(
        [[(k / most) ** 0.5 for k in line] for line in matrix], cmap=drawing.shades(), vmin=0, vmax=1, aspect="auto"
    )
    for y, line in enumerate(matrix):
        for x, k in enumerate(line):
            if k:
                dark = (k / most) ** 0.5 > 0.6
                axes.text(x, y, str(k), ha="center", va="center", fontsize=8, color="white" if dark else "black")
    ticks, names = list(range(len(ends))), [captions.name(e) for e in ends]
    lines = [captions.name(t) for t in types]
    if totals:
        for y, line in enumerate(matrix):
            axes.text(len(ends), y, str(sum(line)), ha="center", va="center", fontsize=8, fontweight="bold")
        for x, column in enumerate(zip(*matrix, strict=True)):
            axes.text(x, len(types), str(sum(column)), ha="center", va="center", fontsize=8, fontweight="bold")
        axes.text(
            len(ends), len(types), str(sum(map(sum, matrix))), ha="center", va="center", fontsize=8, fontweight="bold"
        )
        ticks, names = [*ticks, len(ends)], [*names, ALL]
    axes.set_xlim(-0.5, len(ends) + (0.5 if totals else -0.5))
    axes.set_ylim(len(types) + 0.5, -0.5)
    axes.set_xticks(ticks, names, rotation=90)
    axes.set_yticks(range(len(types) + 1), [*lines, ALL])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
