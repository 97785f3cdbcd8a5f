"""The Atom feed: what re-checks announced; where none was made, which bugs occur on the newest release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers import atom_output
from torch_embers.atom_output import EPOCH, Announced, iso
from torch_embers.report import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.report.joined_facts import ReportFacts
    from torch_embers.report.source import Row

FILE = "feed.xml"


def feed(facts: ReportFacts, address: str = "") -> bytes:
    """The feed as XML.

    Args:
        facts: of the database.
        address: where the site is on the web; without it, links are to GitHub.
    """
    newest = iso(facts.source.newest) if facts.source.newest else EPOCH
    links = [{"rel": "self", "href": f"{address}/{FILE}"}, {"href": f"{address}/index.html"}] if address else []
    shown = _rows(facts)[: facts.rules.limits.feed_entries]
    entries = [(_entry(facts, row), _page(facts, row, address)) for row in shown]
    return atom_output.feed("report", "embers: what changed", newest, entries, links)


def _entry(facts: ReportFacts, row: Row) -> Announced:
    return Announced(
        repo=row["repo"],
        number=row["number"],
        title=facts.title((row["repo"], row["number"])),
        backend=row["backend"],
        kind=row["status"],
        reference=row["reference"],
        text=row["text"] or "",
        when=row["when"],
    )


def _page(facts: ReportFacts, row: Row, address: str) -> str:
    """The address of an item's page."""
    key = (row["repo"], row["number"])
    return f"{address}/{places.item_page(*key)}" if address and key in facts.paged else places.github_item(*key)


def _rows(facts: ReportFacts) -> Sequence[Row]:
    if facts.source.announcements:
        return [row | {"status": row["kind"], "when": row["announced_at"]} for row in facts.source.announcements]
    known = facts.with_status("regressed", "closed_but_occurs", "open_but_absent", "open_and_occurs")
    known = sorted(known, key=lambda row: (row["decided_at"], row["number"], row["repo"]), reverse=True)
    return [row | {"text": row["evidence"], "when": row["decided_at"]} for row in known]
