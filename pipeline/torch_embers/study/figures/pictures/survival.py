"""Curves of survival with interval censoring: where the end of an item is unknown, the curve is an area, not a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.statistics import turnbull
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.statistics.turnbull import Turnbull
    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.samples import StudyPlan

STEP = 182.625
"""Days between two counts of the items that are still followed: half a year."""


def curves(table: Table, plan: StudyPlan) -> Any:
    """A curve for each group that is large enough, with the number still followed under the axis."""
    group, event = table.definition.group, table.definition.event
    shown = [row for row in table.rows if row[group] in table.curves]
    if not shown:
        return marks.blank(table, "Nothing is drawn: too few items.")
    figure, (axes, below) = drawing.new(
        7.6, 4.2 + 0.2 * len(shown), rows=2, sharex=True, height_ratios=[3.2, 0.22 * (len(shown) + 1)]
    )
    followed = {str(row[group]): _members(table, str(row[group])) for row in shown}
    last = max(_last(rows, plan.limits.least_at_risk) for rows in followed.values())
    for place, row in enumerate(shown):
        name = str(row[group])
        colour = drawing.look(name, place).colour
        end = _last(followed[name], plan.limits.least_at_risk)
        _draw(axes, table.curves[name], end, colour, f"{captions.name(name)} ({row[event]} of {row['n']})")
    axes.set_ylim(0, 100)
    axes.set_xlim(0, last)
    days = [STEP * step for step in range(int(last / STEP) + 1)]
    axes.set_xticks(days, [f"{step / 2:g}" for step in range(len(days))])
    axes.tick_params(labelbottom=True)
    axes.set_xlabel("years since the report")
    axes.set_ylabel(f"percent not yet {event}")
    axes.yaxis.grid(visible=True, color=drawing.PALE)
    _at_risk(below, followed, days)
    note = (
        "Turnbull's estimate. Areas: the end lies between two releases, nobody knows where. A curve ends where fewer "
        f"than {plan.limits.least_at_risk} are followed."
    )
    return marks.finish(figure, axes, table, note, title=f"{event} of all in the group")


def _members(table: Table, name: str) -> Sequence[Row]:
    return [r for r in table.items if str(r[table.definition.group]) == name]


def _followed(rows: Sequence[Row], day: float) -> int:
    return turnbull.followed([float(r["low"]) for r in rows], [r["high"] for r in rows], day)


def _last(rows: Sequence[Row], least: int) -> float:
    """The last day on which so many are still followed."""
    ends = sorted((float(r["low"] if r["high"] is None else r["high"]) for r in rows), reverse=True)
    return ends[min(least, len(ends)) - 1]


def _draw(axes: Any, curve: Turnbull, end: float, colour: str, label: str) -> None:
    """The upper and lower bound of what is left, filled between."""
    moments = sorted({0.0, end, *(s.low for s in curve.spans), *(s.high for s in curve.spans if s.high is not None)})
    moments = [day for day in moments if day <= end]
    bounds = [curve.bounds(day) for day in moments]
    lower, upper = ([100 * pair[side] for pair in bounds] for side in (0, 1))
    axes.step(moments, upper, where="post", color=colour, linewidth=1.4, label=label)
    axes.step([*moments[1:], end], lower[1:] + lower[-1:], where="pre", color=colour, linewidth=0.7)
    axes.fill_between(moments, lower, upper, step="post", color=colour, alpha=0.18, linewidth=0)


def _at_risk(axes: Any, followed: dict[str, Sequence[Row]], days: Sequence[float]) -> None:
    """A small table below the curves: how many of each group are still followed."""
    for line, rows in enumerate(followed.values()):
        for day in days:
            axes.text(day, line, f"{_followed(rows, day)}", ha="center", va="center", fontsize=8)
    axes.set_ylim(len(followed) - 0.4, -0.6)
    axes.set_yticks(range(len(followed)), [captions.name(name) for name in followed], fontsize=8)
    axes.tick_params(length=0, labelbottom=False)
    axes.tick_params(axis="y", pad=12)
    axes.spines[:].set_visible(False)
    axes.set_title("still followed", fontsize=8)
