"""Lines over time: shares with bands, one panel for each class where bands would overlap, sizes of code."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.claims import definitions as claims
from torch_embers.study.figures.derive import with_share
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import StudyPlan

MOST_LINES = 6
GAP = dict.fromkeys(("share", "low", "high"), float("nan"))
"""A moment with too few items. Comparing it is always false."""
PANELS = 3
"""Small panels side by side."""
DAYS = 365.25
PRINTED = {"data_path": ("data_path_first", "data_path_last"), "computation": ("computation_first", "computation_last")}
"""Claims with the sizes that the paper prints: in its first release, and on the main branch at the end of its time."""
FIRST_RELEASE = date(2019, 10, 10)
"""Day of 1.3.0, the paper's first release."""
LABEL_GAP = 200
"""Days between two releases that are named under a line."""


def _moments(table: Table) -> dict[Any, tuple[float, str]]:
    """Where each release or half year stands on the axis, with its name: releases side by side, half years by date."""
    if "release" in table.columns:
        ordered = sorted({(row["released"], row["release"]) for row in table.rows})
        return {release: (float(place), captions.plain(release)) for place, (_, release) in enumerate(ordered)}
    return {(y, h): (y + (h - 1) / 2 + 0.25, "") for y, h in marks.half_years(table.rows)}


def _key(row: dict[str, Any]) -> Any:
    return row["release"] if "release" in row else (row["year"], row["half"])


def _series(table: Table, c: str, least: int) -> list[dict[str, Any]]:
    """The shares of a class at every moment in time; gaps where there are too few items.

    Rows of half years have only classes that occur. A class that does not, in a half year with items enough, has a
    share of 0; to leave it out would draw a line from one time of its occurring to the next. Its line begins with the
    last 0 before it is first seen.
    """
    there = {_key(row): row for row in table.rows if row[table.definition.group] == c}
    items = {} if "release" in table.columns else {_key(row): row["n"] for row in table.rows}
    made = []
    for moment, (place, _) in _moments(table).items():
        row = there.get(moment) or (with_share({"k": 0, "n": items[moment]}, least) if moment in items else {})
        made.append({"place": place} | {n: worst if row.get(n) is None else row[n] for n, worst in GAP.items()})
    seen = next((i for i, values in enumerate(made) if values["share"] > 0), 0)
    return made[max(0, seen - 1) :]


def _draw(axes: Any, rows: list[dict[str, Any]], place: int, *, color: str, label: str) -> None:
    """A line with its band; a point between two gaps has no band, but a whisker."""
    days, low, high = ([r[name] for r in rows] for name in ("place", "low", "high"))
    axes.plot(days, [r["share"] for r in rows], linestyle=drawing.DASHES[place % len(drawing.DASHES)], color=color,
              marker=drawing.SHAPES[place % len(drawing.SHAPES)], markersize=4, label=label)  # fmt: skip
    axes.fill_between(days, low, high, color=color, alpha=0.13, linewidth=0)
    there = [False, *(r["share"] >= 0 for r in rows), False]
    alone = [row for place, row in enumerate(rows) if there[place : place + 3] == [False, True, False]]
    axes.vlines(*([r[name] for r in alone] for name in ("place", "low", "high")), color=color, alpha=0.3)


def lines(table: Table, plan: StudyPlan) -> Any:
    """Shares of the classes over time, with Wilson bands where they have intervals; too few items make a gap."""
    group = table.definition.group
    if all(row["share"] is None for row in table.rows):
        return marks.blank(table, "Nothing is drawn: too few items.")
    order = [c for c in marks.order(table.rows, group) if c != "other"][:MOST_LINES]
    moments = _moments(table)
    figure, axes = drawing.new(7.2, 3.7)
    for place, c in enumerate(order):
        rows = _series(table, c, plan.limits.least_share)
        if not any(r["share"] >= 0 for r in rows):
            continue
        colour = drawing.GREY if c == "rest" else drawing.look(c, place).colour
        _draw(axes, rows, place, color=colour, label=captions.name(c))
    if "release" in table.columns:
        axes.set_xticks([x for x, _ in moments.values()], [name for _, name in moments.values()], rotation=60)
        axes.set_ylabel("share that occurs, in percent")
    else:
        marks.end_of_study(axes, plan.paper.last.year + plan.paper.last.month / 12, plan)
        axes.set_ylabel("share of the half year's items, in percent")
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylim(0, 100)
    axes.yaxis.grid(visible=True, color=drawing.PALE)
    return marks.finish(figure, axes, table, _bands(table))


def multiples(table: Table, plan: StudyPlan) -> Any:
    """Shares of the classes over time, a small panel for each, so that no band covers another."""
    if all(row["share"] is None for row in table.rows):
        return marks.blank(table, "Nothing is drawn: too few items.")
    group = table.definition.group
    order = [c for c in marks.order(table.rows, group) if c != "other"][:MOST_LINES]
    rows = -(-len(order) // PANELS)
    figure, grid = drawing.new(
        7.8, 1.0 + 1.75 * rows, rows=rows, columns=PANELS, sharex=True, sharey=True, squeeze=False
    )
    since = {backend.name: backend.since for backend in plan.backends}
    for place, axes in enumerate(grid.flat):
        if place >= len(order):
            axes.set_axis_off()
            continue
        c = order[place]
        series = _series(table, c, plan.limits.least_share)
        _draw(axes, series, 0, color=drawing.look(c, place).colour, label=captions.name(c))
        axes.set_title(captions.name(c), fontsize=9)
        axes.yaxis.grid(visible=True, color=drawing.PALE)
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=5)
        if c in since:
            came = since[c].year + since[c].timetuple().tm_yday / DAYS
            axes.axvline(came, color=drawing.GREY, linestyle=(0, (1, 1.5)), linewidth=0.9)
            axes.annotate("comes", (came, 0.93), xycoords=("data", "axes fraction"), xytext=(-3, 0),
                          textcoords="offset points", fontsize=7, color=drawing.GREY, ha="right")  # fmt: skip
    grid[0][0].set_ylim(0, 100)
    figure.supylabel("share of the half year's items, in percent", fontsize=8)
    return marks.finish_panels(figure, table, _bands(table))


def _bands(table: Table) -> str:
    """What the bands are, and of how many items the shares."""
    bands = "Bands: 95 % intervals." if "low" in table.columns else "No intervals: the cases were chosen."
    sizes = [row["n"] for row in table.rows if row["share"] is not None]
    return f"{bands} Each point stands for {min(sizes):,} to {max(sizes):,} items."


def sizes(table: Table, plan: StudyPlan) -> Any:
    """Lines of code by release and component, and the pairs of sizes that the paper prints."""
    figure, axes = drawing.new(8.4, 3.7)
    basis = table.rows[0]["basis"]
    for place, component in enumerate(sorted({row["component"] for row in table.rows})):
        rows = [row for row in table.rows if row["component"] == component]
        colour = drawing.colours()[place]
        axes.plot(
            [r["released"] for r in rows],
            [r["lines"] / 1000 for r in rows],
            color=colour,
            linestyle=drawing.DASHES[place],
            marker=drawing.SHAPES[place],
            markersize=4,
            label=captions.name(component),
        )
    paper = claims.load()
    for component, ends in PRINTED.items():
        place = sorted({row["component"] for row in table.rows} | {component}).index(component)
        values = [paper.value(name) / 1000 for name in ends]
        axes.plot([FIRST_RELEASE, plan.paper.last], values, "D:", color=drawing.colours()[place], markersize=6,
                  markerfacecolor="white", linewidth=0.8, label=f"{component.replace('_', ' ')}, printed")  # fmt: skip
    last = None
    for row in sorted({r["release"]: r for r in table.rows}.values(), key=lambda r: r["released"]):
        if last is None or (row["released"] - last).days > LABEL_GAP:
            last = row["released"]
            top = max(r["lines"] for r in table.rows if r["release"] == row["release"]) / 1000
            axes.annotate(captions.plain(row["release"]), (last, top), xytext=(2, 6), textcoords="offset points",
                          fontsize=6.5, color=drawing.GREY, ha="right")  # fmt: skip
    dates = axes.xaxis.get_major_locator()
    dates.maxticks = dict.fromkeys(dates.maxticks, 8)
    axes.set_ylabel(f"thousand {'lines' if basis == 'clone' else basis.replace('python', 'Python')}")
    axes.set_ylim(bottom=0)
    axes.yaxis.grid(visible=True, color=drawing.PALE)
    note = "" if basis == "clone" else " of Python alone: the printed totals count C++ too and are not to be compared"
    return marks.finish(figure, axes, table, f"Diamonds: the pairs that the paper prints. Lines{note}.")
