"""Draw figures 8 and 9 from measured times: ``python analysis/draw_figures_8_and_9.py FOLDER``.

``analysis/figures_8_and_9.py`` measures, and calls this at its end. The tables follow from the raw times of the folder
by the queries in analysis/experiments, the pictures and the sentences from the tables. analysis/results holds the times
of November 2026.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
from matplotlib.ticker import LogLocator

from torch_embers import drawing, resources
from torch_embers.errors import EmbersError, InputError
from torch_embers.study import result_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FACTS = "experiments.json"
TABLES = ("figure_8", "figure_8_steps", "figure_9", "figure_9_explained")
"""Queries of analysis/experiments; each is asked of the raw times of its figure."""
PRINTED = 40 / 23
"""Section VI.A: 40 s for the default chain, 23 s for the contiguity-aware one."""
ALIKE = ("to tensor", "colour jitter", "crop")
"""Operations that get a contiguous tensor in the default arm, too, so that both arms do the same in them."""
DISTURBED = 1.5
"""Operations that take so many times the chain's time, or the other way round, were not timed under like conditions."""
REPEATABLE = 0.7
"""Agreement of two halves of the repeats without which no explanation is given."""
ALL_MOVING = 119
"""Orders that move a real dimension. For a sample of them no share of variance is printed."""
PLACES = ("last", "2nd last", "3rd last", "4th last", "5th last")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """The tables of both figures, and what stands beside the raw times: day, machine, images, settings."""

    facts: dict[str, Any]
    tables: dict[str, list[Row]]

    @property
    def where(self) -> str:
        """Day and machine in words."""
        machine = self.facts["machine"]
        return (
            f"Measured on {self.facts['measured_on']} on {machine.get('cuda') or machine['processor']}, "
            f"{machine['cores']} cores, {machine['threads']} threads unless said otherwise, {machine['memory_gb']} GB, "
            f"torch {machine['torch']} ({machine['capability']})."
        )


def read(folder: Path) -> Measured:
    """The measurements of a folder.

    Raises:
        InputError: there are none, they are not finished, or the files are damaged.
    """
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        with duckdb.connect() as connection:
            tables = {name: _asked(connection, name, folder) for name in TABLES}
    except (OSError, ValueError, duckdb.Error) as error:
        told = str(error).partition("\n")[0]
        raise InputError(f"{folder}: {told}: finish the measurement by python analysis/figures_8_and_9.py") from error
    return Measured(facts, tables)


def _asked(connection: duckdb.DuckDBPyConnection, name: str, home: Path) -> list[Row]:
    """The rows of a query; a later query can read them as a table of this name."""
    raw = home / f"{'_'.join(name.split('_')[:2])}_raw.csv"
    query = resources.analysis_text("experiments", f"{name}.sql").rstrip().rstrip(";")
    connection.execute(f"CREATE TEMP TABLE {name} AS {query}", {"raw": str(raw)})
    found = connection.table(name)
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def write(folder: Path) -> list[str]:
    """Write tables, facts and pictures beside the raw times of a folder, and return the sentences.

    Raises:
        InputError: the folder cannot be written to, or its measurement is not finished.
    """
    found = read(folder)
    texts = {f"{name}.csv": result_files.as_csv(rows, _cell) for name, rows in found.tables.items()}
    texts[FACTS] = result_files.as_json(found.facts | {"finding": findings(found)}, indent=2)
    for name, text in texts.items():
        result_files.write(folder / name, text)
    for name, draw in FIGURES.items():
        with drawing.styled():
            figure = draw(found)
        drawing.save(figure, folder, name)
    return findings(found)


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def findings(found: Measured) -> list[str]:
    """What the times say about the paper's two figures, in sentences that begin with the figure."""
    return [_on_arms(found), *_on_steps(found), _on_orders(found)]


def _on_arms(found: Measured) -> str:
    arms = found.tables["figure_8"]
    unclear = sum(a["ratio_low"] <= 1 and a["ratio_high"] >= PRINTED for a in arms)
    faster, slower = sum(a["ratio_low"] > 1 for a in arms), sum(a["ratio_high"] < 1 for a in arms)
    around = sum(a["ratio_low"] <= PRINTED <= a["ratio_high"] for a in arms)
    return (
        f"Figure 8: of {len(arms)} series, {faster} show staying contiguous to be faster than the default, {slower} "
        f"slower, {len(arms) - faster - slower - unclear} no difference{f', {unclear} unclear' if unclear else ''}. "
        f"The printed {100 * (PRINTED - 1):.1f} % lies within the interval of {around}."
    )


def _on_steps(found: Measured) -> list[str]:
    """How much could be saved at most; nothing where something else was running while the operations were timed."""
    steps, alike = _by("series", found.tables["figure_8_steps"]), []
    for arm in found.tables["figure_8"]:
        whole = sum(s["default"] for s in steps[arm["series"]])
        if not 1 / DISTURBED < whole / arm["least"] < DISTURBED:
            return []
        alike.append(sum(s["default"] for s in steps[arm["series"]] if s["step"] in ALIKE) / whole)
    return [
        f"Figure 8: {', '.join(ALIKE[:-1])} and {ALIKE[-1]} do the same in both arms and take {min(alike):.0%} to "
        f"{max(alike):.0%} of the default's time. Were all the rest free, staying contiguous could save at most "
        f"{1 - min(alike):.0%}; the paper prints {100 * (1 - 1 / PRINTED):.1f} %."
    ]


def _on_orders(found: Measured) -> str:
    first, *_ = _by("series", found.tables["figure_9"]).values()
    moving = [row for row in first if not row["geometry_untouched"]]
    ratios = {n: _widest([row["fresh"] for row in of]) for n, of in _by("geometry_moved", moving).items()}
    most = max(ratios, key=lambda n: ratios[n])
    share = _shares(found, first[0]["series"])
    repeatable = found.tables["figure_9_explained"][0]["repeatable"]
    if repeatable < REPEATABLE:
        return (
            f"Figure 9 ({first[0]['series']}): two halves of the repeats agree by {repeatable:.0%} only (share of the "
            "variance between orders): the machine was too busy to explain anything."
        )
    return (
        f"Figure 9 ({first[0]['series']}): among orders that move {most} dimensions the slowest takes "
        f"{ratios[most]:.2g} times as long as the quickest. Of the differences in time between {len(moving)} orders (R "
        f"squared of the logarithm) the place of the source's last dimension explains {share['place']:.0%}, the number "
        f"of moved dimensions {share['moved']:.0%}."
    )


def _by(column: str, rows: Sequence[Row]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return dict(groups)


def _widest(times: Sequence[float]) -> float:
    return max(times) / min(times)


def _shares(found: Measured, series: str) -> dict[str, float]:
    """How much each description explains of the times into fresh memory."""
    rows = found.tables["figure_9_explained"]
    return {row["description"]: row["share"] for row in rows if (row["series"], row["step"]) == (series, "fresh")}


def figure_8(found: Measured) -> Any:
    """Above the ratios of all series beside the printed one; below the operations, of one series for each batch."""
    arms, steps = found.tables["figure_8"], _by("series", found.tables["figure_8_steps"])
    stepped = list({series.partition(",")[0]: series for series in reversed(steps)}.values())[::-1]
    figure = drawing.new(7.6, 2.6 + 0.24 * len(arms) + 2.6)[0]
    figure.clear()
    above, below = figure.subfigures(2, 1, height_ratios=[0.9 + 0.24 * len(arms), 3])
    _draw_ratios(above.subplots(), arms)
    panels = below.subplots(1, len(stepped), squeeze=False)[0]
    for place, series in enumerate(stepped):
        _draw_steps(panels[place], steps[series], named=place == 0)
        panels[place].set_title(series, fontsize=9.5)
    below.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=8.5)
    worst = max(found.facts["arms_differ_by"].values())
    lines = (
        f"{found.facts['images']}. Above: intervals of at least 95% from pairs of passes; times of",
        f"each pass are in figure_8_raw.csv. Below: least times. The arms' results differ by at most {worst:.1g}.",
        found.where,
    )
    drawing.note(below, lines)
    return figure


def _draw_ratios(axes: Any, arms: Sequence[Row]) -> None:
    """One line for each series: the ratio of the default's time to that of the other arm, with its interval."""
    small: Any = {"textcoords": "offset points", "fontsize": 8.5}
    for place, one in enumerate(arms):
        ratio, low, high = (one[f"ratio_{part}"] for part in ("value", "low", "high"))
        ends = [[ratio - low], [high - ratio]]
        axes.errorbar([ratio], [place], xerr=ends, fmt="o", color="black", capsize=3, markersize=5)
        text = f"{ratio:.3f} [{low:.3f}, {high:.3f}]"
        axes.annotate(text, (high, place), xytext=(8, 0), va="center", **small)
    middle = (len(arms) - 1) / 2
    axes.plot([PRINTED], [middle], "D", color="black", markersize=7, markerfacecolor="white")
    axes.annotate(f"printed: {PRINTED:.2f}", (PRINTED, middle), xytext=(0, -16), ha="center", **small)
    axes.axvline(1, color=drawing.GREY, linewidth=0.9, linestyle="--")
    axes.set_yticks(range(len(arms)), [one["series"] for one in arms], fontsize=9.5)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_xlim(min(0.85, *(one["ratio_low"] for one in arms)), 1.08 * PRINTED)
    axes.set_xlabel("time of the default by time of the contiguity-aware arm (1: no difference)")
    axes.set_title("Figure 8: what staying contiguous is worth", fontsize=10)


def _draw_steps(axes: Any, steps: Sequence[Row], *, named: bool) -> None:
    places, height = np.arange(len(steps)), 0.38
    default, aware, copying = (np.array([1e6 * s[arm] for s in steps]) for arm in ("default", "aware", "copying"))
    ours, theirs = drawing.look("contiguity-aware").colour, drawing.look("default").colour
    axes.barh(places - height / 2, default, height, label="default", color=theirs)
    axes.barh(places + height / 2, aware, height, label="contiguity-aware", color=ours)
    axes.barh(
        places + height / 2,
        copying,
        height,
        left=aware,
        label="contiguous() behind it",
        facecolor="white",
        edgecolor=ours,
        hatch="//////",
        linewidth=0.6,
    )
    axes.set_yticks(places, [s["step"] for s in steps] if named else [""] * len(steps))
    axes.invert_yaxis()
    axes.set_xlabel("time per image (µs)")


def figure_9(found: Measured) -> Any:
    """A row of two panels for each size: the times by the number of moved dimensions, and by the place."""
    times = _by("series", found.tables["figure_9"])
    figure, axes = drawing.new(7.6, 1.2 + 2.3 * len(times), rows=len(times), columns=2, squeeze=False, sharey="row")
    for row, (series, here) in enumerate(times.items()):
        moving = [one for one in here if not one["geometry_untouched"]]
        share = _shares(found, series)
        size = bytes_text(4 * here[0]["side"] ** 5)
        axes[row][0].set_title(f"{series}, {size}, {len(moving)} orders", loc="left", fontsize=9.5)
        for panel, description in zip(axes[row], ("moved", "place"), strict=True):
            _draw_orders(panel, moving, description)
            if len(moving) >= ALL_MOVING:
                panel.set_title(f"explains {share[description]:.0%} (R²)", loc="right", fontsize=9)
        axes[row][0].set_ylabel("permute() and contiguous() (ms)")
    axes[-1][0].set_xlabel("dimensions that were moved")
    axes[-1][1].set_xlabel(
        "place of the source's last dimension in the copy;\nbelow it, memory read between two uses of a line"
    )
    handles, labels = axes[0][1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=7.5)
    drawing.note(figure, _notes_9(times, found))
    return figure


def _draw_orders(axes: Any, moving: Sequence[Row], description: str) -> None:
    column = f"geometry_{description}"
    for place, chosen in sorted(_by("geometry_place", moving).items()):
        across: list[float] = []
        up: list[float] = []
        for at, rows in _by(column, chosen).items():
            shift, width = (0.11 * (place - 2), 0.04) if description == "moved" else (0.0, 0.16)
            across += list(at + shift + np.linspace(-width, width, len(rows)))
            up += [1e3 * row["fresh"] for row in rows]
        axes.plot(
            across,
            up,
            drawing.SHAPES[place],
            color=drawing.colours()[place],
            alpha=0.75,
            markersize=4,
            label=f"source's last dimension is {PLACES[place]}",
        )
    plain = moving[0]["share_fresh"] * moving[0]["fresh"]
    axes.axhline(1e3 * plain, color=drawing.GREY, linestyle="--", linewidth=1, label="plain clone()")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    there = sorted({row[column] for row in moving})
    if description == "moved":
        axes.set_xticks(there)
    else:
        reuse = {row["geometry_place"]: row["geometry_reuse"] for row in moving}
        axes.set_xticks(there, [f"{PLACES[p]}\n{bytes_text(reuse[p]) if p else 'none'}" for p in there])
    axes.set_xlim(there[0] - 0.5, there[-1] + 0.5)


def _notes_9(times: dict[str, list[Row]], found: Measured) -> list[str]:
    counts = ", ".join(f"{rows[0]['repeats']} at {series}" for series, rows in times.items())
    still = sorted(
        row["fresh"] for rows in times.values() for row in rows if row["geometry_untouched"] and row["geometry_moved"]
    )
    return [
        f"Each point one order of dimensions, least of its times ({counts}); float32, the first dimension is of size "
        "1.",
        f"Not shown: {len(still)} orders that only move the dimension of size 1; they copy nothing and take "
        f"{1e6 * still[len(still) // 2]:.3g} µs.",
        found.where,
    ]


FIGURES: dict[str, Callable[[Measured], Any]] = {"figure_8": figure_8, "figure_9": figure_9}


def bytes_text(count: float) -> str:
    """Bytes with two figures or three in a readable unit of thousands."""
    place = 0
    while count >= 999.5:
        count, place = count / 1000, place + 1
    return f"{count:.3g} {('B', 'kB', 'MB', 'GB', 'TB')[place]}"


if __name__ == "__main__":
    try:
        print(*write(Path(sys.argv[1])), sep="\n")
    except EmbersError as error:
        sys.exit(str(error))
