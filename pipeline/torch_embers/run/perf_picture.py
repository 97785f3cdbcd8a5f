"""A picture of what changed: time over the builds, against the oldest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import drawing

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.run.perf import Timed

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
