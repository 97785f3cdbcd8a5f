"""The picture of the releases: a bar per release, of the cases that occur, are gone, or cannot be told. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 760, 260, 40, 46, 10
STACK = (
    ("occurs", ("occurs",)),
    ("absent", ("absent", "not_seen")),
    ("other", ("changed", "inconclusive", "control_failed")),
)
"""Parts of a bar from below: a name, and the verdicts that it counts. Untestable cases are left out."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    count: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One release."""

    release: str
    middle: float
    parts: Sequence[Part]


@dataclass(frozen=True, slots=True)
class Picture:
    """Bars, and the lines of the scale with their numbers."""

    bars: Sequence[Bar]
    scale: Sequence[tuple[float, int]]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    base: int = HEIGHT - BOTTOM


def releases(counts: Mapping[str, Mapping[str, int]]) -> Picture | None:
    """Draw the verdicts by release.

    Args:
        counts: by release, oldest first, the number of cases by verdict.
    """
    totals = [sum(by[v] for _, verdicts in STACK for v in verdicts) for by in counts.values()]
    if not totals or not max(totals):
        return None
    step = _step(max(totals))
    top = -(-max(totals) // step) * step
    room = HEIGHT - BOTTOM - TOP
    each = (WIDTH - LEFT) / len(counts)
    bars = []
    for place, (release, by) in enumerate(counts.items()):
        x, y, parts = LEFT + each * (place + 0.15), float(HEIGHT - BOTTOM), []
        for kind, verdicts in STACK:
            count = sum(by[v] for v in verdicts)
            height = room * count / top
            y -= height
            if count:
                parts.append(Part(kind, round(x, 1), round(y, 1), round(each * 0.7, 1), round(height, 1), count))
        bars.append(Bar(release, round(x + each * 0.35, 1), parts))
    scale = [(round(HEIGHT - BOTTOM - room * n / top, 1), n) for n in range(0, top + 1, step)]
    return Picture(bars, scale)


def _step(most: int) -> int:
    """A round distance of about five lines."""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000):
        if most / step <= 6:
            return step
    return most
