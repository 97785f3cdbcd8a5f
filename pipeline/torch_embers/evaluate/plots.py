"""Pictures of an evaluation: calibration, coverage against accuracy, confusion matrix.

Each is written as SVG and PNG in the style of ``drawing.py``.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers import drawing
from torch_embers.errors import InputError
from torch_embers.escaping import csv_text
from torch_embers.statistics.intervals import wilson

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.evaluate.compare import Report, Score

LEAST_IN_BIN = 5
"""A share of fewer answers is not drawn: it would jump from 0 to 1."""


def write(report: Report, folder: Path) -> list[Path]:
    """Write the pictures of a report, and its confusion matrix as CSV, into ``folder`` (made if missing).

    Returns:
        The files.

    Raises:
        InputError: Matplotlib is not installed, or the folder cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9_]+", "-", report.task).strip("-") or "evaluation"
    made: list[Path] = []
    for what, draw in (("reliability", _reliability), ("coverage", _coverage), ("confusion", _confusion)):
        with drawing.styled():
            picture, axes = drawing.new(*_size(report, what))
            draw(axes, report)
        made += drawing.save(picture, folder, f"{name}-{what}")
    try:
        made.append(_confusion_csv(report, folder / f"{name}-confusion.csv"))
    except OSError as error:
        raise InputError(f"--plots {folder}: {error.strerror}") from error
    return made


def _size(report: Report, what: str) -> tuple[float, float]:
    """Inches."""
    if what == "confusion":
        side = 2.6 + 0.36 * len(report.classes)
        return side + 0.6, side
    return 4.6, 5.0


def _shown(report: Report) -> list[tuple[Score, str, Any, str]]:
    """Learners with probabilities, the last one first, each with its colour, dashes and shape."""
    scores = [score for score in reversed(report.scores) if score.name != "majority"]
    return list(zip(scores, drawing.colours(), drawing.DASHES, drawing.SHAPES, strict=False))


def _legend(axes: Any) -> None:
    """Below the picture, where it hides nothing."""
    axes.figure.legend(loc="outside lower center", ncols=1, frameon=False, fontsize=8)


def _title(axes: Any, report: Report, text: str) -> None:
    axes.set_title(f"{report.task}: {text}\n{report.texts:,} texts, answered by models that had not seen them", size=9)
    axes.spines[["top", "right"]].set_visible(False)


def _reliability(axes: Any, report: Report) -> None:
    """Share of right answers over the predicted probability; on the diagonal the learner is calibrated."""
    axes.plot([0, 1], [0, 1], color=drawing.GREY, linewidth=1, linestyle=(0, (1, 2)))
    for place, (score, colour, dashes, shape) in enumerate(_shown(report)):
        bins = [bar for bar in score.reliability if bar.count >= LEAST_IN_BIN * report.rounds]
        sure, right = [bar.confidence for bar in bins], [bar.accuracy for bar in bins]
        label = f"{score.name} (ECE {score.calibration_error:.3f})"
        axes.plot(sure, right, color=colour, linestyle=dashes, marker=shape, markersize=4, linewidth=1.4, label=label)
        if place == 0:
            counts = [bar.count / report.rounds for bar in bins]
            ends = [wilson(min(1.0, share) * count, count) for share, count in zip(right, counts, strict=True)]
            low, high = zip(*ends, strict=True) if ends else ((), ())
            axes.fill_between(sure, low, high, color=colour, alpha=0.15, linewidth=0)
            for bar in bins:
                below = {"xytext": (5, -11), "textcoords": "offset points"}
                axes.annotate(
                    f"{bar.count / report.rounds:.0f}", (bar.confidence, bar.accuracy), size=7, color=colour, **below
                )
    axes.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="mean probability of the answer", ylabel="share of right answers")
    _legend(axes)
    _title(axes, report, "are the probabilities calibrated?")


def _coverage(axes: Any, report: Report) -> None:
    """Share of right answers over the share of texts answered, the surest first."""
    lowest = 1.0
    for score, colour, dashes, shape in _shown(report):
        points = [point for point in score.curve if point.coverage * report.texts >= LEAST_IN_BIN]
        shares, right = [point.coverage for point in points], [point.accuracy for point in points]
        lowest = min(lowest, *right)
        axes.plot(shares, right, color=colour, linestyle=dashes, linewidth=1.6, label=score.name)
        if score is report.scores[-1] and score.precision is not None and score.coverage < 1:
            said = f"{score.name} at its threshold: {score.precision:.0%} of {score.coverage:.0%}"
            look = {"marker": shape, "markersize": 7, "color": colour, "linestyle": "none"}
            axes.plot(score.coverage, score.precision, label=said, **look)
    axes.set(xlim=(0, 1.01), ylim=(max(0, lowest - 0.05), 1.01))
    axes.set(xlabel="share of texts answered, the surest first", ylabel="share of right answers")
    _legend(axes)
    _title(axes, report, "what is the benefit of abstaining?")


def _confusion(axes: Any, report: Report) -> None:
    """Counts; the shade is the share of the true class."""
    score, names = report.scores[-1], list(report.classes)
    counts = np.array(score.confusion) / report.rounds
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap=drawing.shades(), vmin=0, vmax=1)
    for row, column in np.argwhere(counts >= 0.5):
        ink = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, f"{counts[row, column]:.0f}", ha="center", va="center", size=8, color=ink)
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), [f"{name} ({report.classes[name]})" for name in names])
    axes.set(xlabel=f"answer of {score.name}", ylabel="truth (texts)")
    axes.tick_params(length=0)
    axes.set_title(f"{report.task}: confusion matrix", size=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _confusion_csv(report: Report, path: Path) -> Path:
    names = list(report.classes)
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(["truth", *map(csv_text, names)])
        rows.writerows([csv_text(name), *row] for name, row in zip(names, report.scores[-1].confusion, strict=True))
    return path
