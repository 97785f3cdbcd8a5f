"""The picture of the releases: a bar per release, of the cases that occur, are gone, or cannot be told. Pure.

Bars are SVG of the templates, and not of a charting library: their parts take the page's colours in light and dark,
places in percent fit every window, and the page's policy forbids the inline styles that such libraries write. The
figures of the study are drawn by matplotlib (`drawing.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STACK = (
    ("occurs", ("occurs",), "occur"),
    ("absent", ("absent",), "absent"),
    ("other", ("not_seen", "changed", "inconclusive", "control_failed"), "undecided"),
)
"""Parts of a bar from the left: a name, the verdicts that it counts, and words. Untestable cases are left out."""
NARROWEST = 9.0
"""Percent of the width from which on a part has room for its number, also on a phone."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar; places are percent of the widest bar, so that it fits every window.

    Attributes:
        label: the number where it has room, else empty.
    """

    kind: str
    x: float
    width: float
    middle: float
    label: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One release, and its numbers in words."""

    release: str
    parts: Sequence[Part]
    words: str


def releases(counts: Mapping[str, Mapping[str, int]]) -> Sequence[Bar]:
    """Draw the verdicts by release; empty without any.

    Args:
        counts: by release, oldest first, the number of cases by verdict.

    Returns:
        Bars, the newest release first.
    """
    most = max((sum(_parts(by)) for by in counts.values()), default=0)
    return [_bar(release, by, most) for release, by in reversed(list(counts.items()))] if most else []


def _bar(release: str, by: Mapping[str, int], most: int) -> Bar:
    x, parts = 0.0, []
    for (kind, _, _), count in zip(STACK, _parts(by), strict=True):
        width = 100 * count / most
        if count:
            label = str(count) if width >= NARROWEST else ""
            parts.append(Part(kind, round(x, 2), round(width, 2), round(x + width / 2, 2), label))
        x += width
    told = ", ".join(f"{count} {words}" for (_, _, words), count in zip(STACK, _parts(by), strict=True) if count)
    return Bar(release, parts, told or "none could be told")


def _parts(by: Mapping[str, int]) -> list[int]:
    return [sum(by[verdict] for verdict in verdicts) for _, verdicts, _ in STACK]
