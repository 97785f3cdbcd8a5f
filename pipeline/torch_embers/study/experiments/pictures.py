"""Figures 8 and 9, drawn from the results in the style of all pictures."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers import drawing
from torch_embers.errors import InputError
from torch_embers.study.experiments import orders, sentences
from torch_embers.study.experiments.measured import AWARE, CHAIN, DEFAULT, FRESH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.study.experiments.measured import Facts, Measured
    from torch_embers.study.experiments.results import Results
    from torch_embers.study.experiments.summary import Compared, OrderTime, StepTime

ARMS = (DEFAULT, AWARE)
CUT = 1.6
"""Times beyond this many medians are drawn at the edge: a disturbed pass would flatten all the others."""
SPREAD = 0.16
"""Half the width over which points of one column are spread."""
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
            paths += _save(_figure_8(arms, measured, results, facts), out, f"figure_8{tail}")
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


def _figure_8(arms: Sequence[Compared], measured: Sequence[Measured], results: Results, facts: Facts) -> Any:
    figure, axes = drawing.new(
        1.6 + 2.2 * len(arms), 5.6, rows=2, columns=len(arms), squeeze=False, gridspec_kw={"height_ratios": [2, 3]}
    )
    for place, one in enumerate(arms):
        _draw_passes(axes[0][place], one, measured)
        steps = [s for s in results.steps if (s.device, s.series) == (one.device, one.series)]
        _draw_steps(axes[1][place], steps, named=place == 0)
    axes[0][0].set_ylabel("time per image (µs)")
    figure.legend(*axes[1][0].get_legend_handles_labels(), loc="outside upper left", ncols=3, frameon=False)
    worst = max((d for (device, _), d in facts.differences.items() if device == arms[0].device), default=0.0)
    counts = sorted({one.pairs for one in arms})
    pairs = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else str(counts[0])
    lines = (
        f"{facts.images}. Above: each point is one pass, bars are medians, triangles lie further up;",
        f"the numbers are the ratio default : contiguity-aware with its interval of at least "
        f"{facts.settings.confidence:.0%}, from {pairs} pairs of passes.",
        f"Below: each operation by itself, least of its times. The arms' results differ by at most {worst:.1g}.",
        _on(arms[0].device, facts),
    )
    drawing.note(figure, lines)
    return figure


def _draw_passes(axes: Any, one: Compared, measured: Sequence[Measured]) -> None:
    limit = CUT * 1e6 * max(one.default.value, one.aware.value)
    for place, (arm, median) in enumerate(zip(ARMS, (one.default, one.aware), strict=True)):
        times = [
            1e6 * row.seconds / row.amount
            for row in measured
            if (row.device, row.series, row.variant, row.step) == (one.device, one.series, arm, CHAIN)
        ]
        across = place + np.linspace(-SPREAD, SPREAD, len(times))
        for shape, shown in ((drawing.SHAPES[place], True), ("^", False)):
            chosen = [(x, min(y, limit)) for x, y in zip(across, times, strict=True) if (y <= limit) == shown]
            if chosen:
                axes.plot(*zip(*chosen, strict=True), shape, color=drawing.look(arm).colour, alpha=0.6, markersize=3)
        axes.hlines(1e6 * median.value, place - 0.3, place + 0.3, color="black", linewidth=1.2)
    ratio = one.ratio
    axes.set_title(f"{one.series}\n{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]", fontsize=8.5)
    axes.set_xticks(range(len(ARMS)), [arm.replace("-", "-\n") for arm in ARMS])
    axes.set_xlim(-0.5, len(ARMS) - 0.5)
    axes.set_ylim(0, limit * 1.03)


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
