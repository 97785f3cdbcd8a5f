"""Marks and places that several pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.study.figures.table import Row
    from torch_embers.study.samples import Plan


def end_of_study(axes: Any, place: float, plan: Plan) -> None:
    """A dashed line where the paper's own time ends; none where the study of today ends there or before."""
    if plan.paper.last >= plan.today.last:
        return
    axes.axvline(place, color="black", linestyle=(0, (4, 2)), linewidth=0.9)
    where = {"xycoords": ("data", "axes fraction"), "xytext": (3, 1), "textcoords": "offset points"}
    axes.annotate("end of the study", (place, 1), ha="left", va="bottom", fontsize=7, **where)


def printed(axes: Any, shares: Mapping[str, float], order: Sequence[str]) -> bool:
    """Diamonds at the shares that the paper prints of the classes in ``order``; whether there are any."""
    places = [(value, order.index(c)) for c, value in shares.items() if c in order]
    if places:
        axes.plot(*zip(*places, strict=True), "D", color="black", markersize=5, label="printed in the paper", zorder=5)
    return bool(places)


def half_years(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Year and half of every half year from the first to the last of the rows."""
    seen = sorted({(row["year"], row["half"]) for row in rows})
    years = range(seen[0][0], seen[-1][0] + 1)
    return [(y, h) for y in years for h in (1, 2) if seen[0] <= (y, h) <= seen[-1]]
