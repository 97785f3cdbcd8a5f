"""Announcements as an Atom feed (RFC 4287): for the report's site, and beside the files of a re-check."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from torch_embers.escaping import xml_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

SPACE = "http://www.w3.org/2005/Atom"
EPOCH = "2000-01-01T00:00:00Z"
"""The date of a feed without any data: the clock is not asked."""
AUTHORITY = "tag:embers,2026"
"""How every id begins (RFC 4151)."""


@dataclass(frozen=True, slots=True)
class Announced:
    """One entry of a feed.

    Attributes:
        repo: repository as owner/name.
        number: of the item.
        kind: status that was announced, or `flapping`.
        reference: release that it speaks of.
        text: the evidence.
        when: when it was announced (UTC).
    """

    repo: str
    number: int
    title: str
    backend: str
    kind: str
    reference: str
    text: str
    when: datetime

    @property
    def identity(self) -> str:
        """Stable: the same announcement has the same id in every feed, and no other announcement has it."""
        item = quote(f"{self.repo.replace('/', '--')}-{self.number}", safe="")
        moment = self.when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return f"{AUTHORITY}:{item}/{quote(self.backend, safe='')}/{quote(self.kind, safe='')}/{moment}"

    @property
    def headline(self) -> str:
        """Kind and item in one line."""
        return f"{self.kind.replace('_', ' ')}: {self.repo}#{self.number} {self.title}"


def iso(moment: datetime) -> str:
    """A time as Atom and HTML have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def feed(
    name: str, title: str, updated: str, entries: Iterable[tuple[Announced, str]], links: Iterable[dict[str, str]] = ()
) -> bytes:
    """The feed as XML; texts are escaped, and what XML cannot hold is left out.

    Args:
        name: the last part of its id, which never changes.
        title: of the feed.
        updated: when it last changed, as ``iso`` writes it.
        entries: each with the address of its page; empty for none.
        links: attributes of the feed's own links.
    """
    root = ET.Element("feed", xmlns=SPACE)
    _add(root, "id", f"{AUTHORITY}:{name}")
    _add(root, "title", title)
    _add(root, "updated", updated)
    _add(_add(root, "author"), "name", "embers")
    for link in links:
        ET.SubElement(root, "link", link)
    for announced, page in entries:
        entry = _add(root, "entry")
        _add(entry, "id", announced.identity)
        _add(entry, "title", announced.headline)
        _add(entry, "updated", iso(announced.when))
        if page:
            ET.SubElement(entry, "link", href=page)
        _add(entry, "summary", f"torch {announced.reference}, {announced.backend}. {announced.text}")
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made + b"\n"


def _add(parent: ET.Element, name: str, text: str | None = None) -> Any:
    made = ET.SubElement(parent, name)
    made.text = None if text is None else xml_text(text)
    return made
