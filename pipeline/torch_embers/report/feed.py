"""The Atom feed: what re-checks announced; where none was made, which bugs occur on the newest release."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import visible
from torch_embers.report import places
from torch_embers.report.rendering import iso, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.report.facts import Facts
    from torch_embers.report.source import Row

FILE = "feed.xml"
SPACE = "http://www.w3.org/2005/Atom"
EPOCH = "2000-01-01T00:00:00Z"
"""The date of a feed without any data: the clock is not asked."""


def feed(facts: Facts, address: str = "") -> bytes:
    """The feed as XML.

    Args:
        facts: of the database.
        address: where the site is on the web; without it, links are to GitHub.
    """
    newest = iso(facts.source.newest) if facts.source.newest else EPOCH
    root = ET.Element("feed", xmlns=SPACE)
    _add(root, "id", "tag:embers,2026:report")
    _add(root, "title", "embers: what changed")
    _add(root, "updated", newest)
    ET.SubElement(_add(root, "author", None), "name").text = "embers"
    if address:
        ET.SubElement(root, "link", rel="self", href=f"{address}/{FILE}")
        ET.SubElement(root, "link", href=f"{address}/index.html")
    for row in _rows(facts)[: facts.rules.limits.feed_entries]:
        key = (row["repo"], row["number"])
        entry = ET.SubElement(root, "entry")
        when = iso(row["when"])
        _add(entry, "id", f"tag:embers,2026:{places.item_slug(*key)}/{row['backend']}/{row['status']}/{when}")
        _add(entry, "title", f"{words(row['status'])}: {facts.name(key)} {facts.title(key)}")
        _add(entry, "updated", when)
        page = f"{address}/{places.item_page(*key)}" if address and key in facts.paged else places.github_item(*key)
        if page:
            ET.SubElement(entry, "link", href=page)
        _add(entry, "summary", f"torch {row['reference']}, {row['backend']}. {row['text'] or ''}")
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _rows(facts: Facts) -> Sequence[Row]:
    if facts.source.announcements:
        return [row | {"status": row["kind"], "when": row["announced_at"]} for row in facts.source.announcements]
    known = facts.with_status("regressed", "closed_but_occurs", "open_but_absent", "open_and_occurs")
    known = sorted(known, key=lambda row: (row["decided_at"], row["number"], row["repo"]), reverse=True)
    return [row | {"text": row["evidence"], "when": row["decided_at"]} for row in known]


def _add(parent: ET.Element, name: str, text: str | None) -> Any:
    made = ET.SubElement(parent, name)
    made.text = None if text is None else xml_text(text)
    return made


def xml_text(text: str) -> str:
    """Text without what XML 1.0 cannot hold, and without what nobody sees."""
    return "".join(c for c in visible(text) if c in "\t\n" or 0x20 <= ord(c) < 0xD800 or 0xE000 <= ord(c) < 0xFFFE)
