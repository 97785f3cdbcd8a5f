"""What a re-check hands to other services: an Atom feed of all it ever announced, annotations of what is new."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from torch_embers import atom_output
from torch_embers.atom_output import EPOCH, Announced, iso
from torch_embers.escaping import github_data, github_property
from torch_embers.recheck.reports import HEADINGS, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.recheck.recheck import Recheck
    from torch_embers.store.store import Store

WARNINGS = ("regressed", "closed_but_occurs")
"""Kinds that annotations call warnings; the others are notices."""
_ANNOUNCED = """
SELECT a.repo, a.number, coalesce(i.title, ''), a.backend, a.kind,
       split_part(split_part(a.reference, '@', 1), '+', 1), a.text, a.announced_at
FROM announcements a LEFT JOIN items i USING (repo, number)
ORDER BY a.written DESC NULLS LAST, a.announced_at DESC, a.repo, a.number, a.backend, a.kind LIMIT ?
"""


def announced(store: Store, most: int) -> list[Announced]:
    """The newest announcements of all re-checks of this database, the newest first."""
    with store.read() as connection:
        return [Announced(*row) for row in connection.execute(_ANNOUNCED, [most]).fetchall()]


def feed(known: Sequence[Announced]) -> bytes:
    """Announcements as an Atom feed; the id of each is that of the report's feed."""
    newest = iso(known[0].when) if known else EPOCH
    entries = [(one, f"https://github.com/{quote(one.repo)}/issues/{one.number}") for one in known]
    return atom_output.feed("recheck", "embers: what re-checks announced", newest, entries)


def as_annotations(result: Recheck, most: int) -> list[str]:
    """Workflow commands of GitHub Actions, one for each announcement; nothing in a text ends a command or begins one.

    Args:
        result: of a re-check.
        most: annotations of a level; GitHub drops those above ten without a word, so one more says how many there are.
    """
    lines = []
    for level in ("warning", "notice"):
        own = [change for change in result.news if (change.kind in WARNINGS) == (level == "warning")]
        for change in own[:most]:
            head = github_property(HEADINGS[change.kind or ""])
            what = f"{change.repo}#{change.number} ({change.backend}) {change.title}"
            lines.append(f"::{level} title={head}::{github_data(' | '.join((what, *change.evidence)))}")
        if len(own) > most:
            lines.append(f"::{level} title=More changes::and {len(own) - most} more: see the summary of this run")
    if result.left_out:  # a level of its own, because warnings may be ten already
        lines.append(f"::error title=Build left out::{github_data(' | '.join(left_out(result)))}")
    return lines
