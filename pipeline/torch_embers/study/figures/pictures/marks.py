"""Marks that several pictures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch_embers.study.samples import Plan


def end_of_study(axes: Any, place: float, plan: Plan) -> None:
    """A dashed line where the paper's own time ends; none where the study of today ends there or before."""
    if plan.paper.last >= plan.today.last:
        return
    axes.axvline(place, color="black", linestyle=(0, (4, 2)), linewidth=0.9)
    where = {"xycoords": ("data", "axes fraction"), "xytext": (3, 1), "textcoords": "offset points"}
    axes.annotate("end of the study", (place, 1), ha="left", va="bottom", fontsize=7, **where)
