"""Figures 8 and 9, drawn from the results in the style of all pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers import drawing
from torch_embers.errors import InputError
from torch_embers.study.experiments import orders, plan, sentences
from torch_embers.study.experiments.measured import AWARE, DEFAULT, FRESH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.study.experiments.measured import Facts, Measured
    from torch_embers.study.experiments.results import Results
    from torch_embers.study.experiments.summary import Compared, OrderTime, StepTime

PLACES = ("last", "2nd last", "3rd last", "4th last", "5th last")


def write(out: Path, measured: Sequence[Measured], results: Results, facts: Facts) -> tuple[Path, ...]:
    """Draw what there are results for: figure_8 and figure_9, of the CPU, and figure_8_cuda and so on of others.

    Raises:
        InputError: the folder cannot be written to, or Matplotlib is not installed.
    """
    paths: list[Path] = []
    for device in dict.fromkeys(one.device for one in measured):
        tail = "" if device == "cpu" else f"_{device}"
        if arms := [one for one in results.compared if one.device == device]:
            paths += _save(_figure_8(arms, results, facts), out, f"figure_8{tail}")
        if times := [one for one in results.orders if one.device == device]:
            paths += _save(_figure_9(times, results, facts), out, f"figure_9{tail}")
    return tuple(paths)


def _save(figure: Any, out: Path, name: str) -> list[Path]:
    """Draw aside and move into place, so that an interruption leaves whole pictures."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".drawing-", dir=out) as aside:
            drafts = drawing.save(figure, Path(aside), name)
            return [draft.replace(out / draft.name) for draft in drafts]
    except OSError as error:
        raise InputError(f"{out}: cannot write there: {error.strerror}; choose another folder with --out") from error


def _figure_8(arms: Sequence[Compared], results: Results, facts: Facts) -> Any:
    """Above the ratios of all series beside the printed one; below the operations, of one series for each batch."""
    stepped = list({one.series.partition(",")[0]: one for one in reversed(arms)}.values())[::-1]
    figure = drawing.new(7.6, 2.6 + 0.24 * len(arms) + 2.6)[0]
    figure.clear()
    above, below = figure.subfigures(2, 1, height_ratios=[0.9 + 0.24 * len(arms), 3])
    _draw_ratios(above.subplots(), arms)
    panels = below.subplots(1, len(stepped), squeeze=False)[0]
    for place, one in enumerate(stepped):
        steps = [s for s in results.steps if (s.device, s.series) == (one.device, one.series)]
        _draw_steps(panels[place], steps, named=place == 0)
        panels[place].set_title(one.series, fontsize=9.5)
    below.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=3, fontsize=8.5)
    worst = max((d for (device, _), d in facts.differences.items() if device == arms[0].device), default=0.0)
    lines = (
        f"{facts.images}. Above: intervals of at least {facts.settings.confidence:.0%} from pairs of passes; times of",
        f"each pass are in figure_8_raw.csv. Below: least times. The arms' results differ by at most {worst:.1g}.",
        _on(arms[0].device, facts),
    )
    drawing.note(below, lines)
    return figure


def _draw_ratios(axes: Any, arms: Sequence[Compared]) -> None:
    """One line for each series: the ratio of the default's time to that of the other arm, with its interval."""
    for place, one in enumerate(arms):
        ratio = one.ratio
        ends = [[ratio.value - ratio.low], [ratio.high - ratio.value]]
        axes.errorbar([ratio.value], [place], xerr=ends, fmt="o", color="black", capsize=3, markersize=5)
        text = f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
        axes.annotate(text, (ratio.high, place), xytext=(8, 0), textcoords="offset points", va="center", fontsize=8.5)
    printed = plan.printed()
    theirs = printed.default_seconds / printed.aware_seconds
    axes.plot([theirs], [(len(arms) - 1) / 2], "D", color="black", markersize=7, markerfacecolor="white")
    axes.annotate(f"printed: {theirs:.2f}", (theirs, (len(arms) - 1) / 2), xytext=(0, -16), textcoords="offset points",
                  ha="center", fontsize=8.5)  # fmt: skip
    axes.axvline(1, color=drawing.GREY, linewidth=0.9, linestyle="--")
    axes.set_yticks(range(len(arms)), [one.series for one in arms], fontsize=9.5)
    axes.set_ylim(len(arms) - 0.4, -0.6)
    axes.set_xlim(min(0.85, *(one.ratio.low for one in arms)), 1.08 * theirs)
    axes.set_xlabel("time of the default by time of the contiguity-aware arm (1: no difference)")
    axes.set_title("Figure 8: what staying contiguous is worth", fontsize=10)


def _draw_steps(axes: Any, steps: Sequence[StepTime], *, named: bool) -> None:
    places = np.arange(len(steps))
    height = 0.38
    axes.barh(places - height / 2, [1e6 * s.default for s in steps], height, label=DEFAULT, color=_colour(DEFAULT))
    aware = np.array([1e6 * s.aware for s in steps])
    axes.barh(places + height / 2, aware, height, label=AWARE, color=_colour(AWARE))
    axes.barh(
        places + height / 2,
        [1e6 * s.copying for s in steps],
        height,
        left=aware,
        label="contiguous() behind it",
        facecolor="white",
        edgecolor=_colour(AWARE),
        hatch="//////",
        linewidth=0.6,
    )
    axes.set_yticks(places, [s.step for s in steps] if named else [""] * len(steps))
    axes.invert_yaxis()
    axes.set_xlabel("time per image (µs)")


def _colour(arm: str) -> str:
    return drawing.look(arm).colour


def _figure_9(times: Sequence[OrderTime], results: Results, facts: Facts) -> Any:
    series = list(dict.fromkeys(one.series for one in times))
    figure, axes = drawing.new(7.6, 1.2 + 2.3 * len(series), rows=len(series), columns=2, squeeze=False, sharey="row")
    for row, name in enumerate(series):
        here = [one for one in times if one.series == name]
        plain = next(y for y in results.yardsticks if (y.device, y.series) == (here[0].device, name))
        explained = [e for e in results.explained if (e.device, e.series, e.step) == (here[0].device, name, FRESH)]
        moving = sum(one.placed is not None for one in here)
        axes[row][0].set_title(
            f"{name}, {sentences.bytes_text(plain.bytes)}, {moving} orders", loc="left", fontsize=9.5
        )
        for column, description in enumerate(("moved", "place")):
            _draw_orders(axes[row][column], here, description, plain.fresh)
            share = next(e.share for e in explained if e.description == description)
            if moving >= orders.ALL_MOVING:
                axes[row][column].set_title(f"explains {share:.0%} (R²)", loc="right", fontsize=9)
        axes[row][0].set_ylabel("permute() and contiguous() (ms)")
        if row == len(series) - 1:
            axes[row][0].set_xlabel("dimensions that were moved")
            axes[row][1].set_xlabel(
                "place of the source's last dimension in the copy;\nbelow it, memory read between two uses of a line"
            )
    handles, labels = axes[0][1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=3, frameon=False, fontsize=7.5)
    drawing.note(figure, _notes_9(times, facts))
    return figure


def _draw_orders(axes: Any, times: Sequence[OrderTime], description: str, plain: float) -> None:
    from matplotlib.ticker import LogLocator

    moving = [one for one in times if one.placed is not None]
    for place in sorted({one.geometry.place for one in moving}):
        chosen = [one for one in moving if one.geometry.place == place]
        columns: dict[int, list[float]] = {}
        for one in chosen:
            columns.setdefault(getattr(one.geometry, description), []).append(1e3 * one.fresh)
        across, up = [], []
        for column, values in columns.items():
            shift = 0.11 * (place - 2) if description == "moved" else 0.0
            across += list(
                column + shift + np.linspace(-0.04, 0.04, len(values)) * (1 if description == "moved" else 4)
            )
            up += values
        axes.plot(
            across,
            up,
            drawing.SHAPES[place],
            color=drawing.colours()[place],
            alpha=0.75,
            markersize=4,
            label=f"source's last dimension is {PLACES[place]}",
        )
    axes.axhline(1e3 * plain, color=drawing.GREY, linestyle="--", linewidth=1, label="plain clone()")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("")
    _label_groups(axes, moving, description)


def _label_groups(axes: Any, moving: Sequence[OrderTime], description: str) -> None:
    places = sorted({getattr(one.geometry, description) for one in moving})
    if description == "moved":
        axes.set_xticks(places)
    else:
        reuse = {one.geometry.place: one.geometry.reuse for one in moving}
        axes.set_xticks(places, [f"{PLACES[p]}\n{sentences.bytes_text(reuse[p]) if p else 'none'}" for p in places])
    axes.set_xlim(places[0] - 0.5, places[-1] + 0.5)


def _notes_9(times: Sequence[OrderTime], facts: Facts) -> list[str]:
    counts = ", ".join(f"{one.repeats} at {one.series}" for one in {t.series: t for t in times}.values())
    lines = [
        f"Each point one order of dimensions, least of its times ({counts}); float32, the first dimension is of size 1."
    ]
    still = [one for one in times if one.geometry.untouched and one.geometry.moved]
    if still:
        lines.append(
            f"Not shown: {len(still)} orders that only move the dimension of size 1; they copy nothing and take "
            f"{sentences.time_text(sorted(one.fresh for one in still)[len(still) // 2])}."
        )
    return [*lines, _on(times[0].device, facts)]


def _on(device: str, facts: Facts) -> str:
    machine = facts.machine
    processor = machine["cuda"] if device == "cuda" else machine["processor"]
    return (
        f"Measured on {processor}, {machine['cores']} cores, {machine['threads']} threads unless said otherwise, "
        f"{machine['memory_gb']} GB, torch {machine['torch']} ({machine['capability']}); settings: {facts.profile}."
    )
