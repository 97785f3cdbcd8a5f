"""Badges as SVG files: of an item, and of a release."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from torch_embers.report import places
from torch_embers.report.joined_facts import counted

if TYPE_CHECKING:
    from torch_embers.report.joined_facts import ReportFacts
    from torch_embers.report.source import Key

RED, GREEN, GREY, AMBER = "#b0300f", "#00694a", "#555555", "#7a5600"
COUNT = "#1f4e79"
"""Of a release: each has bugs that occur, so that red would say nothing; the count is what differs."""
COLOURS = {"occurs": RED, "changed": AMBER, "absent": GREEN, "not_seen": GREY}
EACH = 6.6
"""Width of a character at 11 pixels, with room to spare."""
ITEM = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{text}">'
    "<title>{text}</title>"
    '<rect width="{left}" height="20" fill="#333333"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
    '<g fill="#ffffff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
    '<text x="6" y="14">{name}</text><text x="{at}" y="14">{said}</text></g></svg>\n'
)


def item_file(key: Key) -> str:
    """Where the badge of an item is."""
    return f"badges/items/{places.item_slug(*key)}.svg"


def release_file(slug: str) -> str:
    """Where the badge of a release is."""
    return f"badges/releases/{slug}.svg"


def item(facts: ReportFacts, key: Key) -> tuple[str, str]:
    """What the badge of an item says, and its file's content."""
    name = f"embers {facts.name(key)}"
    if (decided := facts.verdict(key)) is None:
        said = "script: {}, {}".format(*behaviour) if (behaviour := facts.behaviour(key)) else "no verdict"
        return f"{name}: {said}", svg(name, said, GREY)
    entry = decided.entry
    said = f"{entry.verdict.replace('_', ' ')} on {entry.build}" + (f" ({decided.mark})" if decided.mark else "")
    colour = GREY if decided.mark else COLOURS.get(entry.verdict, GREY)  # a colour speaks of the report
    return f"{name}: {said}", svg(name, said, colour)


def release(facts: ReportFacts, build: str) -> tuple[str, str]:
    """What the badge of a release says, and its file's content."""
    counts = counted(facts.by_release[build])
    decided = counts["occurs"] + counts["absent"]
    said = f"{counts['occurs']} of {decided} cases occur" if decided else "nothing decided"
    return f"torch {build}: {said}", svg(f"torch {build}", said, COUNT if decided else GREY)


def svg(name: str, said: str, colour: str) -> str:
    """A badge of two fields."""
    left, right = round(len(name) * EACH + 12), round(len(said) * EACH + 12)
    return ITEM.format(
        width=left + right,
        left=left,
        right=right,
        at=left + 6,
        colour=colour,
        name=escape(name),
        said=escape(said),
        text=escape(f"{name}: {said}"),
    )
