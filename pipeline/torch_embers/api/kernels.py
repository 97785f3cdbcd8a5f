"""Checking a kernel or function of one's own: ``check_kernel``, a picture of its report, oracles that compare."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import packages
from torch_embers.oracles.compiled import CompiledOracle
from torch_embers.oracles.device import DeviceOracle
from torch_embers.oracles.growth import EXCESS, series
from torch_embers.oracles.kernel import KernelReport, check_kernel
from torch_embers.oracles.precision import PrecisionOracle
from torch_embers.oracles.timing import TimingOracle

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.oracles.growth import Point

__all__ = [
    "CompiledOracle",
    "DeviceOracle",
    "KernelReport",
    "PrecisionOracle",
    "TimingOracle",
    "check_kernel",
    "plot_growth",
]


def plot_growth(report: KernelReport, folder: Path, name: str, place: str = "result") -> tuple[Path, ...]:
    """Draw error against the number of terms: one line per distribution, and the limit of what is honest.

    Args:
        report: from ``check_kernel``.
        folder: where the picture goes.
        name: of the files, without their ending.
        place: which result or gradient.

    Returns:
        The written files, SVG and PNG.

    Raises:
        MissingPackageError: the extra ``study`` (Matplotlib) is not installed.
    """
    packages.require("study", "a picture needs")
    from torch_embers import drawing

    with drawing.styled():
        figure, axis = drawing.new(6.4, 3.8)
        lines = series(point for point in report.points if point.place == place)
        for number, (distribution, points) in enumerate(lines.items()):
            merged = _merged(points)
            axis.plot(
                list(merged),
                list(merged.values()),
                label=distribution,
                color=drawing.colours()[number % len(drawing.colours())],
                linestyle=drawing.DASHES[number % len(drawing.DASHES)],
                marker=drawing.SHAPES[number % len(drawing.SHAPES)],
                markersize=4,
            )
        axis.axhline(EXCESS, color=drawing.GREY, linewidth=0.8)
        axis.annotate(
            f"limit: {EXCESS:g}", (1, EXCESS), (2, 3), textcoords="offset points", color=drawing.GREY, fontsize=7
        )
        axis.set(xscale="log", yscale="log", xlabel="terms per element", ylabel="error / honest error")
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter("{x:g}")
        axis.legend(title="inputs", ncols=2)
        drawing.note(
            figure, ["honest: fp32 sums, one rounding at the end; root mean square over elements with as many terms"]
        )
        return drawing.save(figure, folder, name)


def _merged(points: list[Point]) -> dict[float, float]:
    """Largest excess by count; counts in bins of a factor of two."""
    found: dict[float, float] = {}
    for point in points:
        count = float(2 ** max(0, round(point.count).bit_length() - 1))
        found[count] = max(found.get(count, 0.0), point.excess)
    return dict(sorted(found.items()))
