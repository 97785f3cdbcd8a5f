"""Bars: shares with intervals beside the printed ones, stacks by half year, types with their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from datetime import date

    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import Plan

MOST_CLASSES = 8
"""Classes that a stack shows; the rarest of more are one grey part, the CSV has them all."""
SAMPLE_LOOKS = {"paper": ("#0072B2", ""), "today": ("#56B4E9", "////"), "candidates": ("#bdbdbd", "")}


def _samples(table: Table, plan: Plan) -> list[str]:
    there = {row["sample"] for row in table.rows}
    return [sample.name for sample in plan.samples if sample.name in there]


def shares(table: Table, plan: Plan) -> Any:
    """Shares of each class in each sample, with Wilson intervals and the printed shares as diamonds."""
    rows = [row for row in table.rows if row.get("part", "all") == "all"]
    names = _samples(table, plan)
    group = table.definition.group
    order = marks.order([r for r in rows if r["sample"] == names[-1]], group, list(table.definition.printed))
    figure, axes = drawing.new(8.4, 1.3 + 0.42 * len(order) + 0.13 * len(table.notes))
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
    marks.printed(axes, table.definition.printed, order)
    axes.set_yticks(range(len(order)), [captions.name(c) for c in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("share in percent")
    axes.xaxis.grid(visible=True, color=drawing.PALE)
    return marks.finish(figure, axes, table, "Whiskers: Wilson's 95 % intervals.")


def stacked(table: Table, plan: Plan) -> Any:
    """Counts by half year, one panel for patched bugs until today and one for all candidates."""
    panels = [name for name in ("today", "candidates") if any(r["sample"] == name for r in table.rows)]
    group = table.definition.group
    order = marks.order([r for r in table.rows if r["sample"] == panels[-1]], group)
    shown, rest = order[:MOST_CLASSES], set(order[MOST_CLASSES:])
    halves = marks.half_years(table.rows)
    unit, more = ("items", "") if group == "class" else ("patches by part", " A patch counts once for each part.")
    figure, grid = drawing.new(7.2, 1.4 + 2.0 * len(panels) + 0.13 * len(table.notes), rows=len(panels), sharex=True)
    every = list(grid) if len(panels) > 1 else [grid]
    for axes, sample in zip(every, panels, strict=True):
        rows = [row for row in table.rows if row["sample"] == sample]
        bottom = [0] * len(halves)
        for place, c in enumerate([*shown, *(["rest"] if rest else [])]):
            members = rest if c == "rest" else {c}
            counts = [
                sum(r["k"] for r in rows if (r["year"], r["half"]) == moment and r[group] in members)
                for moment in halves
            ]
            look = drawing.look(c, place) if group == "class" or c == "rest" else drawing.look("", place)
            axes.bar(range(len(halves)), counts, 0.85, bottom, color=look.colour, hatch=look.hatch,
                     label=captions.name(c), edgecolor="white", linewidth=0.3)  # fmt: skip
            bottom = [b + k for b, k in zip(bottom, counts, strict=True)]
        axes.yaxis.get_major_locator().set_params(integer=True)
        marks.end_of_study(axes, _place(plan.paper.last, halves[0]), plan)
        axes.set_ylabel(f"{unit.split()[0]} in half a year")
        axes.set_title(f"{plan.sample(sample).label}: {sum(bottom):,} {unit}", fontsize=9)
    every[-1].set_xticks(
        [i for i, (_, half) in enumerate(halves) if half == 1], [str(y) for y, half in halves if half == 1]
    )
    figure.suptitle(table.definition.heading, x=0.01, ha="left", fontsize=10)
    every[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), title=None)
    drawing.note(figure, captions.under(table, "Heights follow what was collected in each half year." + more))
    return figure


def _place(day: date, first: tuple[int, int]) -> float:
    """Where the end of a month lies among bars of half years, the first of which stands around 0."""
    return 2 * (day.year - first[0]) + day.month / 6 - (first[1] - 1) - 0.5


def breakdown(table: Table, plan: Plan) -> Any:
    """Each memory type as a bar made of its sub-types, for the widest sample; printed shares as diamonds."""
    sample = _samples(table, plan)[-1]
    rows = [row for row in table.rows if row["sample"] == sample]
    group = table.definition.group
    n = rows[0]["n"]
    most = max([100 * row["type_k"] / n for row in rows] + [row["high"] or 0 for row in rows])
    most = max([most, *table.definition.printed.values()])
    order = marks.order([{group: r[group], "k": r["k"]} for r in rows], group, list(table.definition.printed))
    figure, axes = drawing.new(7.6, 1.6 + 0.36 * len(order) + 0.13 * len(table.notes))
    for place, c in enumerate(order):
        left, look = 0.0, drawing.look(c, place)
        parts = [row for row in rows if row[group] == c]
        for depth, row in enumerate(parts):
            width = 100 * row["k"] / n
            shade = look.colour if row["part"] else drawing.PALE
            axes.barh(place, width, 0.8, left, color=shade, alpha=1 - 0.55 * min(1.0, depth / 4), edgecolor="white",
                      linewidth=0.8)  # fmt: skip
            if width > 0.13 * most and row["part"]:
                axes.text(left + width / 2, place, _short(captions.name(row["part"]), width / most), ha="center",
                          va="center", fontsize=6.5, color=_readable(shade, depth))  # fmt: skip
            left += width
        if parts and parts[0]["low"] is not None:
            ends = [[left - parts[0]["low"]], [parts[0]["high"] - left]]
            axes.errorbar([left], [place], xerr=ends, color="#333333", elinewidth=0.9, capsize=1.5)
            end = max(parts[0]["high"], table.definition.printed.get(c, 0))  # right of the diamond, too
            axes.annotate(f"{parts[0]['type_k']}", (end, place), xytext=(6, 0),
                          textcoords="offset points", va="center", fontsize=7)  # fmt: skip
    if marks.printed(axes, table.definition.printed, order):
        axes.legend(loc="lower right")
    axes.set_yticks(range(len(order)), [captions.name(c) for c in order])
    axes.invert_yaxis()
    axes.set_xlabel(f"share of {n:,} memory bugs in percent ({plan.sample(sample).label})")
    axes.set_xlim(left=0)
    axes.xaxis.grid(visible=True, color=drawing.PALE)
    axes.set_title(table.definition.heading)
    note = "Parts of a bar: sub-types (grey: none given). Numbers: bugs of the type. Whiskers: Wilson's 95 % intervals."
    drawing.note(figure, captions.under(table, note))
    return figure


def _readable(colour: str, depth: int) -> str:
    """White on dark colours, black on bright or faded ones: by luminance, as of Rec. 709."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return "white" if depth < 2 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5 else "black"


def _short(text: str, width: float) -> str:
    """The text, cut where its part of the bar is narrow; ``width`` is its share of the axis."""
    fits = int(width * 62)
    return text if len(text) <= fits else text[: max(3, fits - 1)].rstrip() + "."
