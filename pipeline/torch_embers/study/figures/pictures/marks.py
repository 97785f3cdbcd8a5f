"""Marks, places and frames that several pictures share."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.samples import StudyPlan


def blank(table: Table, *why: str) -> Any:
    """A picture with text alone, where there is nothing to draw: the heading, the reasons, the notes."""
    lines = [line for text in (*why, *table.notes) for line in captions.wrapped(text)]
    figure, axes = drawing.new(7.2, 0.5 + 0.17 * len(lines))
    axes.set_axis_off()
    axes.text(0, 1, "\n".join(lines), fontsize=8, color=drawing.GREY, transform=axes.transAxes, va="top")
    axes.set_title(table.definition.heading)
    return figure


def finish(figure: Any, axes: Any, table: Table, note: str, **legend: Any) -> Any:
    """The figure with its legend to the right, its heading, and one line below."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), **legend)
    axes.set_title(table.definition.heading)
    drawing.note(figure, captions.under(table, note))
    return figure


def finish_panels(figure: Any, table: Table, note: str) -> Any:
    """A figure of several panels with its heading above and one line below."""
    figure.suptitle(table.definition.heading, x=0.01, ha="left", fontsize=10)
    drawing.note(figure, captions.under(table, note))
    return figure


def in_printed_order(rows: Sequence[Row], column: str, printed: Mapping[str, float]) -> list[str]:
    """Classes in the paper's order, those with the largest printed share first, then the others by their counts."""
    ranked = sorted(printed, key=lambda c: -printed[c])
    return [*ranked, *(c for c in order(rows, column, list(printed)) if c not in printed)]


def order(rows: Sequence[Row], column: str, first: Sequence[str] = ()) -> list[str]:
    """Classes, the most frequent first; those of ``first`` are there even where no row has them."""
    counts = Counter(dict.fromkeys(first, 0))
    for row in rows:
        counts[row[column]] += row["k"]
    return sorted(counts, key=lambda c: (c in ("other", "not_a_bug"), -counts[c], c))


def end_of_study(axes: Any, place: float, plan: StudyPlan) -> None:
    """A dashed line where the paper's own time ends; none where the study of today ends there or before."""
    if plan.paper.last >= plan.today.last:
        return
    axes.axvline(place, color="black", linestyle=(0, (4, 2)), linewidth=0.9)
    where = {"xycoords": ("data", "axes fraction"), "xytext": (3, 1), "textcoords": "offset points"}
    axes.annotate("end of the study", (place, 1), ha="left", va="bottom", fontsize=7, **where)


def printed(axes: Any, shares: Mapping[str, float], classes: Sequence[str]) -> bool:
    """Diamonds at the shares that the paper prints of the classes drawn; whether there are any."""
    places = [(value, classes.index(c)) for c, value in shares.items() if c in classes]
    if places:
        axes.plot(*zip(*places, strict=True), "D", color="black", markersize=5, label="printed in the paper", zorder=5)
    return bool(places)


def half_years(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Year and half of every half year from the first to the last of the rows."""
    seen = sorted({(row["year"], row["half"]) for row in rows})
    years = range(seen[0][0], seen[-1][0] + 1)
    return [(y, h) for y in years for h in (1, 2) if seen[0] <= (y, h) <= seen[-1]]
