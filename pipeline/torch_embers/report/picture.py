"""The picture of the releases: a bar per release, of the cases that occur, are gone, or cannot be told. Pure.

Bars are SVG of the templates, and not of a charting library: their parts take the page's colours in light and dark,
places in percent fit every window, and the page's policy forbids the inline styles that such libraries write. The
figures of the study are drawn by matplotlib (`drawing.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

STACK = {
    "occurs": (("occurs",), "occur"),
    "absent": (("absent",), "absent"),
    "other": (("not_seen", "changed", "inconclusive", "control_failed"), "undecided"),
}
"""Parts of a bar from the left: the verdicts that each counts, and words. Untestable cases are left out."""
NARROWEST = 9.0
"""Percent of the width from which on a part has room for its number, also on a phone."""


def releases(counts: Mapping[str, Mapping[str, int]]) -> list[dict[str, Any]]:
    """Draw the verdicts by release; empty without any.

    Args:
        counts: by release, oldest first, the number of cases by verdict.

    Returns:
        Bars, the newest release first: ``release``, its numbers in ``words``, and ``parts`` with their ``kind``, places
        in percent of the widest bar (``x``, ``width``, ``middle``), and as ``label`` the number where it has room.
    """
    sizes = {
        release: {kind: sum(by[verdict] for verdict in verdicts) for kind, (verdicts, _) in STACK.items()}
        for release, by in counts.items()
    }
    most = max((sum(of_kind.values()) for of_kind in sizes.values()), default=0)
    return [_bar(release, of_kind, most) for release, of_kind in reversed(sizes.items())] if most else []


def _bar(release: str, sizes: Mapping[str, int], most: int) -> dict[str, Any]:
    x, parts = 0.0, []
    for kind, count in sizes.items():
        width = 100 * count / most
        if count:
            label = str(count) if width >= NARROWEST else ""
            place = {"x": round(x, 2), "width": round(width, 2), "middle": round(x + width / 2, 2)}
            parts.append({"kind": kind, "label": label} | place)
        x += width
    words = ", ".join(f"{count} {STACK[kind][1]}" for kind, count in sizes.items() if count)
    return {"release": release, "parts": parts, "words": words or "none could be told"}
