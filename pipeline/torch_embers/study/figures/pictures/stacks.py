"""Stacked bars by half year: classes of two samples, and parts of the data path by folder and by topic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers import drawing
from torch_embers.study.figures.pictures import captions, marks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import date

    from torch_embers.study.figures.table import Row, Table
    from torch_embers.study.samples import StudyPlan

LEAST_SHARE = 0.04
"""Share of a panel's items from which a class has a colour of its own; the others are one grey part."""
MOST_PARTS = 7
"""Parts of the data path with a colour of their own, beside those that the paper names."""
NAMED = ("nested", "dtensor")
"""Parts that the paper says most patches go to: shown by name however few they are."""
HEADROOM = 1.08
HATCHES = ("", "////", "....")
BASES = {"folder": "by the folders that patches change", "topic": "by what labels and words of the issues name"}


def stacked(table: Table, plan: StudyPlan) -> Any:
    """Counts by half year, one panel for patched bugs until today and one for all candidates."""
    patched = "today" if table.of(sample="today") else "paper"
    panels = [name for name in (patched, "candidates") if table.of(sample=name)]
    group = table.definition.group
    widest = [r for r in table.rows if r["sample"] == panels[-1]]
    total = sum(r["k"] for r in widest)
    order = marks.order(widest, group)
    shown = [c for c in order if c != "other" and sum(r["k"] for r in widest if r[group] == c) >= LEAST_SHARE * total]
    halves = marks.half_years(table.rows)
    figure, grid = drawing.new(7.2, 1.2 + 2.0 * len(panels), rows=len(panels), sharex=True, squeeze=False)
    every = [axes for (axes,) in grid]
    for axes, sample in zip(every, panels, strict=True):
        rows = [row for row in table.rows if row["sample"] == sample]
        looks = {c: (drawing.look(c, place).colour, drawing.look(c, place).hatch) for place, c in enumerate(shown)}
        count = _stack(axes, rows, group, shown, halves, looks)
        marks.end_of_study(axes, _place(plan.paper.last, halves[0]), plan)
        axes.set_ylabel("items in half a year")
        axes.set_title(f"{plan.sample(sample).label}: {count:,} items", fontsize=9)
    _years(every[-1], halves)
    every[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.02))
    rare = [captions.name(c) for c in order if c not in shown and c != "other"]
    note = "Heights follow what was collected." + (f" Others: {', '.join(rare)}." if rare else "")
    return marks.finish_panels(figure, table, note)


def parts(table: Table, plan: StudyPlan) -> Any:
    """Patches by part of the data path and half year: a panel by folders, one by topics, each with its own parts."""
    sample = "candidates" if table.of(sample="candidates") else str(table.rows[0]["sample"])
    rows = table.of(sample=sample)
    bases = [basis for basis in BASES if any(row["basis"] == basis for row in rows)]
    halves = marks.half_years(rows)
    figure, grid = drawing.new(7.8, 1.2 + 2.3 * len(bases), rows=len(bases), sharex=True, squeeze=False)
    every = [axes for (axes,) in grid]
    own = {basis: [row for row in rows if row["basis"] == basis] for basis in bases}
    shown = {
        basis: [*NAMED, *[c for c in marks.order(own[basis], "subcomponent") if c not in NAMED][:MOST_PARTS]]
        for basis in bases
    }
    colours = drawing.colours()
    looks = {
        c: (colours[at % len(colours)], HATCHES[at // len(colours) % len(HATCHES)])
        for at, c in enumerate(dict.fromkeys(c for parts in shown.values() for c in parts))
    }
    for axes, basis in zip(every, bases, strict=True):
        counts = {c: sum(row["k"] for row in own[basis] if row["subcomponent"] == c) for c in shown[basis]}
        labels = {c: f"{captions.name(c)} ({count})" for c, count in counts.items()}
        _stack(axes, own[basis], "subcomponent", shown[basis], halves, looks, labels)
        axes.set_ylabel("patches in half a year")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02))
        marks.end_of_study(axes, _place(plan.paper.last, halves[0]), plan)
        axes.set_title(f"{BASES[basis]}; {plan.sample(sample).label}", fontsize=9)
    _years(every[-1], halves)
    return marks.finish_panels(figure, table, "A patch counts once for each part.")


def _stack(
    axes: Any,
    rows: Sequence[Row],
    group: str,
    shown: Sequence[str],
    halves: Sequence[tuple[int, int]],
    looks: dict[str, tuple[str, str]],
    labels: dict[str, str] | None = None,
) -> int:
    """Draw the shown classes and the others as one grey part; returns how many items there are."""
    rest = {row[group] for row in rows} - set(shown)
    bottom = [0] * len(halves)
    for c in [*shown, *(["rest"] if rest else [])]:
        counts = _counts(rows, group, rest if c == "rest" else {c}, halves)
        colour, hatch = looks.get(c, (drawing.look("rest").colour, ""))
        label = (labels or {}).get(c) or captions.name(c)
        axes.bar(range(len(halves)), counts, 0.85, bottom, color=colour, hatch=hatch, label=label, edgecolor="white",
                 linewidth=0.3)  # fmt: skip
        bottom = [b + k for b, k in zip(bottom, counts, strict=True)]
    axes.set_ylim(0, HEADROOM * max([*bottom, 1]))
    axes.yaxis.get_major_locator().set_params(integer=True)
    return sum(bottom)


def _counts(rows: Sequence[Row], group: str, members: Collection[str], halves: Sequence[tuple[int, int]]) -> list[int]:
    return [sum(r["k"] for r in rows if (r["year"], r["half"]) == at and r[group] in members) for at in halves]


def _years(axes: Any, halves: Sequence[tuple[int, int]]) -> None:
    axes.set_xticks([i for i, (_, half) in enumerate(halves) if half == 1], [str(y) for y, half in halves if half == 1])


def _place(day: date, first: tuple[int, int]) -> float:
    """Where the end of a month lies among bars of half years, the first of which stands around 0."""
    return 2 * (day.year - first[0]) + day.month / 6 - (first[1] - 1) - 0.5
