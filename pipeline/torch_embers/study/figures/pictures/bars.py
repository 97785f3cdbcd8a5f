"""Bars of shares with intervals, beside the printed ones, and types with their sub-types."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from matplotlib.colors import to_rgb

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.samples import StudyPlan

SAMPLE_LOOKS = {"paper": ("#0072B2", ""), "today": ("#56B4E9", "////"), "candidates": ("#bdbdbd", "")}
HARD_SPACE = "\N{NO-BREAK SPACE}"
LINE = 54
"""Characters of a line beside a bar."""
ROOM = 1.06
"""Length of an axis, in that of the longest mark."""
PALEST = 0.7
"""How much white the last of several parts of a bar gets."""


def _samples(table: Table, plan: StudyPlan) -> list[str]:
    there = {row["sample"] for row in table.rows}
    return [sample.name for sample in plan.samples if sample.name in there]


def shares(table: Table, plan: StudyPlan) -> Any:
    """Shares of each class in each sample, with Wilson intervals and the printed shares as diamonds.

    Where rows have parts, each part has a panel, and the printed shares stand in the one that the paper is about. Where
    that part has too few items for any bar, there is no panel of it: the line below says what is printed of it.
    """
    names = _samples(table, plan)
    group, printed = table.definition.group, table.definition.printed
    every = sorted({row.get("part", "") for row in table.rows}, key=lambda part: part == "all")
    parts = [p for p in every if any(r["share"] is not None for r in table.rows if r.get("part", "") == p)] or every
    widest = [row for row in table.rows if row["sample"] == names[-1] and row.get("part", "") == parts[-1]]
    order = marks.in_printed_order(widest, group, printed)
    figure, grid = drawing.new(
        7.6 if len(parts) == 1 else 8.6,
        1.5 + 0.36 * len(order) + 1.4 * (len(parts) - 1),
        columns=len(parts),
        sharey=True,
        squeeze=False,
    )
    for axes, part in zip(grid[0], parts, strict=True):
        rows = [row for row in table.rows if row.get("part", "") == part]
        _panel(axes, rows, names, order, group, plan)
        if part == every[0]:
            marks.printed(axes, printed, order)
        axes.set_xlim(0, _longest(rows, printed if part == every[0] else {}))
        axes.set_xlabel("share in percent")
        axes.xaxis.grid(visible=True, color=drawing.PALE)
        if len(parts) > 1:
            axes.set_title("all" if part == "all" else part, fontsize=9)
            axes.legend(loc="upper left", bbox_to_anchor=(0.0, -0.3), fontsize=7.5)
    grid[0][0].set_yticks(range(len(order)), [captions.name(c) for c in order])
    grid[0][0].set_ylim(len(order) - 0.5, -0.5)
    note = "Whiskers: 95 % intervals."
    if parts[0] != every[0]:
        most = max(row["n"] for row in table.rows if row.get("part") == every[0])
        shown = ", ".join(f"{captions.name(c)} {share:g}" for c, share in printed.items())
        of = f"of {every[0]} (percent: {shown})"
        note += f" The paper's shares are {of}; {most} items of that kind here, too few for a share."
    if len(parts) == 1:
        return marks.finish(figure, grid[0][0], table, note)
    return marks.finish_panels(figure, table, f"{note} No bar: fewer than {plan.limits.least_share} items.")


def _longest(rows: Sequence[Row], printed: Mapping[str, float]) -> float:
    """The end of the axis: no share has to be compared with 100."""
    return min(100.0, ROOM * max([row["high"] or 0 for row in rows] + list(printed.values()) + [5.0]))


def _panel(
    axes: Any, rows: Sequence[Row], names: Sequence[str], order: Sequence[str], group: str, plan: StudyPlan
) -> None:
    height = 0.8 / len(names)
    for place, sample in enumerate(names):
        colour, hatch = SAMPLE_LOOKS.get(sample, (drawing.GREY, ""))
        drawable = {row[group]: row for row in rows if row["sample"] == sample and row["share"] is not None}
        total = max((row["n"] for row in rows if row["sample"] == sample), default=0)
        if not drawable:
            axes.plot([], [], " ", label=f"{plan.sample(sample).label} (n = {total:,}: too few)")
            continue
        spots = [i + (place - (len(names) - 1) / 2) * height for i, c in enumerate(order) if c in drawable]
        drawn = [drawable[c] for c in order if c in drawable]
        label = f"{plan.sample(sample).label} (n = {total:,})"
        spread = [[r["share"] - r["low"] for r in drawn], [r["high"] - r["share"] for r in drawn]]
        axes.barh(
            spots, [r["share"] for r in drawn], height * 0.92, xerr=spread, color=colour, hatch=hatch, label=label,
            edgecolor="white", linewidth=0.4, error_kw={"elinewidth": 0.9, "ecolor": "#333333", "capsize": 1.5},
        )  # fmt: skip


def breakdown(table: Table, plan: StudyPlan) -> Any:
    """Each memory type as a bar of its sub-types, their names and counts beside it.

    All bars have shades of one colour: there are more types than colours, and the axis names each.
    """
    sample = _samples(table, plan)[-1]
    rows = [row for row in table.rows if row["sample"] == sample]
    group, printed = table.definition.group, table.definition.printed
    n = rows[0]["n"]
    order = marks.in_printed_order([{group: r[group], "k": r["k"]} for r in rows], group, printed)
    figure, axes = drawing.new(8.6, 1.5 + 0.4 * len(order))
    full = to_rgb(drawing.colours()[0])
    named = []
    for place, c in enumerate(order):
        parts = sorted((row for row in rows if row[group] == c), key=lambda row: (row["part"] == "", -row["k"]))
        left = 0.0
        for depth, row in enumerate(parts):
            width = 100 * row["k"] / n
            white = PALEST * depth / max(1, len(parts) - 1)
            shade = tuple(part + (1 - part) * white for part in full) if row["part"] else drawing.PALE
            axes.barh(place, width, 0.62, left, color=shade, edgecolor="white", linewidth=0.8)
            left += width
        if parts and parts[0]["low"] is not None:
            ends = [[left - parts[0]["low"]], [parts[0]["high"] - left]]
            axes.errorbar([left], [place], xerr=ends, color="#333333", elinewidth=0.9, capsize=1.5)
        words = [f"{captions.name(row['part']) if row['part'] else 'none given'} {row['k']}" for row in parts]
        named.append(textwrap.fill(", ".join(word.replace(" ", HARD_SPACE) for word in words), LINE))
    if marks.printed(axes, printed, order):
        axes.legend(loc="lower right")
    counts = {row[group]: row["type_k"] for row in rows}
    axes.set_yticks(range(len(order)), [f"{captions.name(c)} ({counts.get(c, 0)})" for c in order])
    axes.invert_yaxis()
    axes.set_xlabel(f"share of {n:,} memory bugs in percent ({plan.sample(sample).label})")
    axes.set_xlim(0, _longest(rows, printed))
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(range(len(order)), named, fontsize=7.5)
    beside.tick_params(length=0)
    beside.spines[:].set_visible(False)
    axes.xaxis.grid(visible=True, color=drawing.PALE)
    axes.set_title(table.definition.heading)
    note = "Shades: sub-types, in the order of the words (grey: none given). Whiskers: 95 % intervals."
    drawing.note(figure, captions.under(table, note))
    return figure
