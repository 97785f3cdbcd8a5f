"""Pictures of what changed: time over the builds, against the oldest; cases beside their workarounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import drawing

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.perf.measure import Timed

MOST = 8
"""Lines of a picture: as many changes, the largest first."""


def draw(timed: Timed, path: Path) -> tuple[Path, ...]:
    """Write ``path`` as SVG and PNG: a line with its interval for each call that changed for good.

    Raises:
        InputError: the folder cannot be written to.
    """
    steps = sorted(timed.steps(), key=lambda step: -abs(step.report.ratio - 1))
    names = list(dict.fromkeys(step.name for step in steps))[:MOST]
    rows = timed.rows()
    with drawing.styled():
        figure, axes = drawing.new(7.2, 4.0)
        for place, name in enumerate(names):
            own = [row for row in rows if row["call"] == name]
            across = [timed.builds.index(row["build"]) for row in own]
            colour = drawing.look(name, place).colour
            style = drawing.DASHES[place % len(drawing.DASHES)]
            axes.plot(across, [row["ratio"] for row in own], color=colour, linestyle=style, label=name)
            axes.fill_between(
                across, [row["low"] for row in own], [row["high"] for row in own], color=colour, alpha=0.2, linewidth=0
            )
        axes.axhline(1, color=drawing.GREY, linewidth=0.8)
        axes.set_xticks(range(len(timed.builds)), timed.builds, rotation=45, ha="right")
        axes.set_ylabel("time, oldest build = 1")
        axes.set_title("Calls whose time changed and stayed so")
        if names:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        count = max(len(rounds) for by_build in timed.times.values() for rounds in by_build.values())
        drawing.note(
            figure,
            [
                f"{len(names)} of {len(timed.times)} calls; {count} fresh processes per build, in turn; "
                "bands: 95 % intervals of the ratio"
            ],
        )
        return drawing.save(figure, path.parent, path.stem)


def draw_cases(timed: Timed, path: Path) -> tuple[Path, ...]:
    """Write ``path`` as SVG and PNG: for each case how much longer it takes than its workaround, on each build.

    Raises:
        InputError: the folder cannot be written to.
    """
    rows = timed.rows()
    names = list(timed.times)
    height = -(-len(names) // 2)
    with drawing.styled():
        figure, grid = drawing.new(7.2, 1.4 + 1.3 * height, rows=height, columns=2, sharex=True, squeeze=False)
        for place, axes in enumerate(grid.flat):
            if place >= len(names):
                axes.axis("off")
                continue
            own = [row for row in rows if row["case"] == names[place]]
            across = [timed.builds.index(row["build"]) for row in own]
            colour = drawing.colours()[0]
            axes.plot(across, [row["ratio"] for row in own], color=colour, marker="o", markersize=3)
            axes.vlines(across, [row["low"] for row in own], [row["high"] for row in own], color=colour, alpha=0.5)
            axes.axhline(1, color=drawing.GREY, linewidth=0.8)
            axes.set_yscale("log")
            axes.set_ylim(0.1, max(110, 1.2 * max(row["high"] for row in rows)))  # the same for all, to compare them
            axes.set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
            axes.set_title(names[place], fontsize="x-small")
            axes.set_xticks(range(len(timed.builds)), timed.builds, rotation=90, fontsize="small")
        count = max(len(rounds) for by_build in timed.times.values() for rounds in by_build.values())
        figure.supylabel("time with the bug, workaround = 1 (logarithmic)", fontsize="small")
        drawing.note(
            figure,
            [f"{count} fresh processes per build, in turn; lines: 95 % intervals of the ratio; no dot: not testable"],
        )
        return drawing.save(figure, path.parent, path.stem)
