"""Lines over time: shares with bands, sizes of code, curves of survival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.derive import ALL, with_share
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.study.figures.table import Table
    from torch_embers.study.samples import Plan

MOST_LINES = 6
YEAR = 365.25
LEAST_STEP = 0.001
"""Share by which a curve must have fallen for another step to be drawn: a third of a pixel."""
GAP = dict.fromkeys(("share", "low", "high"), float("nan"))
"""A moment with too few items. Comparing it is always false."""
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


def lines(table: Table, plan: Plan) -> Any:
    """Shares of the classes over time, with Wilson bands; where there are too few items, a line has a gap."""
    group = table.definition.group
    if all(row["share"] is None for row in table.rows):
        return marks.blank(table, "Nothing is drawn: too few items.")
    totals: dict[str, int] = {}
    for row in table.rows:
        totals[row[group]] = totals.get(row[group], 0) + row["k"]
    order = sorted((c for c in totals if c != "other"), key=lambda c: (-totals[c], c))[:MOST_LINES]
    moments = _moments(table)
    figure, axes = drawing.new(7.2, 3.4 + 0.13 * len(table.notes))
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
    return marks.finish(figure, axes, table, "Bands: Wilson's 95 % intervals." + _sizes(table))


def _sizes(table: Table) -> str:
    sizes = [row["n"] for row in table.rows if row["share"] is not None]
    return f" Each point stands for {min(sizes):,} to {max(sizes):,} items." if sizes else ""


def sizes(table: Table, _plan: Plan) -> Any:
    """Lines of code by release and component."""
    figure, axes = drawing.new(8.4, 3.4 + 0.13 * len(table.notes))
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
    note = "" if basis == "clone" else "Python only: not to be compared with the paper's totals, which count C++ too. "
    return marks.finish(figure, axes, table, f"Basis: {basis.replace('python', 'Python')}. {note}".strip())


def curves(table: Table, plan: Plan) -> Any:
    """Kaplan-Meier curves of all, with its band, and of each group that is large enough; with how many ended."""
    group, event = table.definition.group, table.definition.event
    shown = [row for row in table.rows if row["n"] >= plan.limits.least_group][: MOST_LINES + 1]
    if not any(row[group] in table.curves for row in shown):
        return marks.blank(table, "Nothing is drawn: too few items.")
    figure, axes = drawing.new(7.6, 3.6 + 0.13 * len(table.notes))
    place = 0
    for row in shown:
        name = row[group]
        curve = table.curves.get(name)
        if curve is None:
            continue
        kept = _visible(curve.share)
        years = [curve.days[i] / YEAR for i in kept]
        share, low, high = ([100 * band[i] for i in kept] for band in (curve.share, curve.low, curve.high))
        colour = "black" if name == ALL else drawing.look(str(name), place).colour
        look = {
            "color": colour,
            "linestyle": "solid" if name == ALL else drawing.DASHES[(place + 1) % len(drawing.DASHES)],
            "linewidth": 1.8 if name == ALL else 1.3,
            "label": f"{captions.name(str(name))} ({row[event]} of {row['n']})",
        }
        axes.step(years, share, where="post", **look)
        if name == ALL:
            axes.fill_between(years, low, high, step="post", color=colour, alpha=0.1, linewidth=0)
        place += name != ALL
    axes.set_ylim(0, 100)
    axes.set_xlim(left=0)
    axes.set_xlabel("years since the report")
    axes.set_ylabel(f"percent not yet {event}")
    axes.yaxis.grid(visible=True, color=drawing.PALE)
    note = "Kaplan-Meier estimates; the band is the 95 % interval of all."
    return marks.finish(figure, axes, table, note, title=f"{event} of all in the group")


def _visible(share: Sequence[float]) -> list[int]:
    """The steps of a curve that are visible in a picture, and its end: more would make files of megabytes."""
    kept = [0]
    for place, value in enumerate(share):
        if share[kept[-1]] - value >= LEAST_STEP:
            kept.append(place)
    return kept if kept[-1] == len(share) - 1 else [*kept, len(share) - 1]
