"""What follows from how completely a page holds an item: which old rows go, and which items wait to be read again.

A reader adds to its records one ``Reading`` per item and part (the item itself, its comments, its files ...). Pages of
one reading share ``Reading.reading``. In the transaction that writes these pages, and in the same way on a replay:

- a part that was **read whole** replaces what is stored of it: rows of any source that were fetched before this reading
  began and that it does not have are deleted. Rows fetched later stay;
- an item of which a part is **not whole** gets a row in ``incomplete_items``; a later reading that is whole removes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.store.tables import KEYS

if TYPE_CHECKING:
    from collections.abc import Collection

ITEM = "item"
"""The part that stands for the item itself: a source adds it where its reading covers every part of the item."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a table that belong to an item."""

    table: str
    where: str = "true"
    """Which of them the part covers, as a condition on the row ``c``."""
    owner: tuple[str, str] = ("repo", "number")
    """Columns that name the item."""
    text: str = ""
    """Where the link stage parses a text of these rows: its name for them in ``link_scans.origin``."""


PARTS: dict[str, Part] = {
    "comments": Part("comments", text="comment"),
    "pull_files": Part("pull_files"),
    # the kinds of events that every whole reading asks for, of issues and of pull requests alike
    "events": Part(
        "events",
        "c.type IN ('labeled', 'unlabeled', 'closed', 'reopened', 'renamed', 'marked_as_duplicate', "
        "'cross_referenced', 'merged')",
    ),
    "closing_references": Part("stated_links", "c.evidence = 'closing_reference'"),
    "closed_by": Part("stated_links", "c.evidence = 'closing_reference'", owner=("target_repo", "target_number")),
}
"""Parts of an item by name; a new child table needs one line here and a ``Reading`` of its reader."""

_LATEST = """
CREATE OR REPLACE TEMP TABLE latest AS
WITH known AS (
    SELECT repo, number, part, reading, coalesce(place, '#' || number) AS place,
           bool_and(sound) AND bool_or(ends) AND coalesce(sum(nodes) = max(total), true) AS whole,
           min(try_cast(fetched_at AS TIMESTAMP)) AS began, max(try_cast(fetched_at AS TIMESTAMP)) AS fetched_at,
           list(page_id) AS pages, max(position) AS position, arg_max(source, position) AS source,
           arg_max(page_id, position) AS page_id,
           coalesce(string_agg(DISTINCT reason, '; ' ORDER BY reason), part || ' are incomplete') AS reason
    FROM readings GROUP BY repo, number, part, reading, place
)
FROM known QUALIFY row_number() OVER (PARTITION BY repo, place, part ORDER BY position DESC) = 1
"""
_QUEUE = (
    """CREATE OR REPLACE TEMP TABLE waiting AS
       SELECT l.repo, l.place, any_value(l.number) AS number, bool_and(l.whole) AS whole,
              bool_or(l.part = 'item') AS covered,
              string_agg(l.reason, '; ' ORDER BY l.part) FILTER (NOT l.whole) AS reason,
              coalesce(any_value(i.tries), 0) + 1 AS tries, coalesce(any_value(i.since), min(l.began)) AS since,
              arg_max(l.source, l.position) AS source, max(l.fetched_at) AS fetched_at,
              arg_max(l.page_id, l.position) AS page_id
       FROM latest l LEFT JOIN incomplete_items i USING (repo, place) GROUP BY l.repo, l.place""",
    """DELETE FROM incomplete_items i USING waiting w
       WHERE i.repo = w.repo AND i.place = w.place AND (NOT w.whole OR w.covered)""",
    "INSERT INTO incomplete_items BY NAME SELECT * EXCLUDE (whole, covered) FROM waiting WHERE NOT whole",
    "DROP TABLE waiting",
)
_FORGET_TEXTS = (
    """DELETE FROM links USING gone g WHERE links.evidence = 'text' AND links.found_in = '{origin}'
       AND links.found_id = g.{id} AND (links.repo = g.repo OR links.target_repo = g.repo)""",
    """DELETE FROM link_scans USING gone g
       WHERE link_scans.repo = g.repo AND link_scans.origin = '{origin}' AND link_scans.id = g.{id}""",
)


def _replace(name: str, part: Part, staged: bool) -> list[str]:
    """Statements that delete what a whole reading of a part no longer has."""
    key = KEYS[part.table]
    owner = " AND ".join(f"c.{own} = w.{column}" for own, column in zip(part.owner, ("repo", "number"), strict=True))
    same = " AND ".join(f"s.{k} = c.{k}" for k in key)
    # a row of the store can be newer than the one of this reading, and then stays under its own page
    kept = f"AND NOT EXISTS (FROM staged_{part.table} s WHERE {same} AND list_contains(w.pages, s.page_id))"
    statements = [
        f"CREATE OR REPLACE TEMP TABLE gone AS SELECT DISTINCT {', '.join(f'c.{k}' for k in key)} "
        f"FROM {part.table} c JOIN latest w ON {owner} WHERE w.part = '{name}' AND w.whole AND {part.where} "
        "AND NOT list_contains(w.pages, c.page_id) AND coalesce(c.fetched_at <= w.began, true) "
        f"{kept if staged else ''}",
        f"DELETE FROM {part.table} c USING gone g WHERE {' AND '.join(f'c.{k} = g.{k}' for k in key)}",
    ]
    if part.text:
        statements += [text.format(origin=part.text, id=key[-1]) for text in _FORGET_TEXTS]
    return [*statements, "DROP TABLE gone"]


def statements(staged: Collection[str], parts: Collection[str]) -> list[str]:
    """What to run behind the rows of a transaction.

    Args:
        staged: tables that it writes, each registered as ``staged_<table>``; the readings are ``readings``.
        parts: names of the parts that its readings speak of.
    """
    replacing = [s for n, part in PARTS.items() if n in parts for s in _replace(n, part, part.table in staged)]
    return [_LATEST, *replacing, *_QUEUE, "DROP TABLE latest"]
