"""What follows from how completely a page holds an item: which old rows go, and which items wait to be read again.

A reader adds to its records one ``Reading`` per item and part (the item itself, its comments, its files ...). Pages of
one reading share ``Reading.reading``. In the transaction that writes these pages, and in the same way on a replay:

- a part that was **read whole** replaces what is stored of it: rows of any source that were fetched before this reading
  began and that it does not have are deleted. Rows fetched later stay. Nothing is deleted where the source counts
  another number of rows than it shows, or hides some: what is unknown is not absent;
- an item of which a part is **not whole** gets a row in ``incomplete_items``; a later reading that is whole removes it.

Several readings of one part in a transaction act one after the other, as if each had a transaction of its own.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from torch_embers.store.tables import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import duckdb
    import pyarrow as pa

    from torch_embers.store.records import Reading

ITEM = "item"
"""The part that stands for the item itself: a source adds it where its reading covers every part of the item."""
FIELDS = "fields"
"""The part that stands for what an item says of itself beyond its columns: reactions, checks, its parent."""

TIMELINE = "timeline"
"""The part that stands for the comments of an item where they come with its events, by REST."""
TIMELINE_REACTIONS = "timeline_reactions"
"""The same for the reactions to these comments."""


@dataclass(frozen=True, slots=True)
class Part:
    """The rows of a table that belong to an item."""

    table: str
    where: str = "true"
    """Which of them the part covers, as a condition on the row ``c`` and the reading ``w``."""
    owner: tuple[str, str] = ("repo", "number")
    """Columns that name the item."""
    text: str = ""
    """Where the link stage parses a text of these rows: its name for them in ``link_scans.origin``."""
    read_with: tuple[str, ...] = ()
    """Readings that decide about these rows, where it is not the one of the part's own name alone."""


PARTS: dict[str, Part] = {
    "comments": Part("comments", text="comment", read_with=("comments", TIMELINE)),
    "pull_files": Part("pull_files"),
    # the kinds of events that every whole reading asks for, of issues and of pull requests alike
    "events": Part(
        "events",
        "c.type IN ('labeled', 'unlabeled', 'closed', 'reopened', 'renamed', 'marked_as_duplicate', "
        "'cross_referenced', 'merged')",
    ),
    "closing_references": Part("stated_links", "c.evidence = 'closing_reference'"),
    "closed_by": Part("stated_links", "c.evidence = 'closing_reference'", owner=("target_repo", "target_number")),
    "parent": Part("stated_links", "c.evidence = 'sub_issue'", read_with=(FIELDS, "parent")),
    "sub_issues": Part("stated_links", "c.evidence = 'sub_issue'", owner=("target_repo", "target_number")),
    "assignees": Part("item_people", "c.role = 'assignee'"),
    "reviewers": Part("item_people", "c.role = 'reviewer'"),
    "checks": Part("checks", read_with=(FIELDS,)),
    "reviews": Part("reviews"),
    "pull_commits": Part("pull_commits", read_with=("reviews",)),
    "review_comments": Part("review_comments"),
    "reactions": Part(
        "reactions",
        "c.subject = CASE WHEN w.part IN ('comments', 'timeline_reactions') THEN 'comment' "
        "WHEN w.part = 'reviews' THEN 'review' WHEN w.part = 'review_comments' THEN 'review_comment' ELSE 'item' END",
        read_with=(FIELDS, "reactions", "comments", TIMELINE_REACTIONS, "reviews", "review_comments"),
    ),
}
"""Parts of an item by name; a new child table needs one line here and a ``Reading`` of its reader."""


@cache
def _schema() -> pa.Schema:
    import pyarrow as pa  # brings numpy, and a mine with nothing new does without

    return pa.schema(
        {
            "repo": pa.string(),
            "place": pa.string(),
            "number": pa.int64(),
            "part": pa.string(),
            "whole": pa.bool_(),
            "replaces": pa.bool_(),
            "reason": pa.string(),
            "began": pa.string(),
            "fetched_at": pa.string(),
            "source": pa.string(),
            "page_id": pa.string(),
            "pages": pa.list_(pa.string()),
            "later": pa.list_(pa.string()),
        }
    )


def rounds(readings: Iterable[Reading]) -> list[list[dict[str, Any]]]:
    """What the readings of each part came to, as rows of ``_SCHEMA``. Pure.

    The last list has the last reading of every part, the one before it the readings before these, and so on.
    """
    groups: dict[tuple[str, str, str, str], list[Reading]] = defaultdict(list)
    for reading in readings:
        place = reading.place if reading.place is not None else f"#{reading.number}"
        key = (reading.repo, place, reading.part, reading.reading)
        groups[key] = [*groups.pop(key, []), reading]  # a group stands where its last page came
    found: list[list[dict[str, Any]]] = []
    behind: dict[tuple[str, str, str], list[list[str]]] = defaultdict(list)
    for (repo, place, part, _), pages in reversed(groups.items()):
        later = behind[repo, place, part]
        if len(later) == len(found):
            found.insert(0, [])
        row = _outcome(repo, place, part, pages)
        found[-1 - len(later)].append(row | {"later": [page for reading in later for page in reading]})
        later.append(row["pages"])
    return [list(reversed(rows)) for rows in found]


def _outcome(repo: str, place: str, part: str, pages: Sequence[Reading]) -> dict[str, Any]:
    """What one reading of a part came to."""
    total = next((page.total for page in pages if page.total is not None), None)
    counted = total is None or sum(page.nodes or 0 for page in pages) == total
    read = all(page.sound for page in pages) and any(page.ends for page in pages)
    reasons = sorted({page.reason for page in pages if page.reason})
    times = [page.fetched_at for page in pages if page.fetched_at]
    return {
        "repo": repo,
        "place": place,
        "number": pages[0].number,
        "part": part,
        "whole": read and (counted or any(page.excused for page in pages)),
        "replaces": read and counted and not any(page.hidden for page in pages),
        "reason": "; ".join(reasons) or f"{part}: fewer than the source counts, or no end",
        "began": min(times, default=None),
        "fetched_at": max(times, default=None),
        "source": pages[-1].source,
        "page_id": pages[-1].page_id,
        "pages": [page.page_id for page in pages],
    }


_CANDIDATES = """
SELECT DISTINCT '{name}' FROM {table} c JOIN latest w ON {owner}
WHERE w.part IN ({readings}) AND w.replaces AND {where}
  AND NOT list_contains(w.pages || w.later, c.page_id)
  AND coalesce(c.fetched_at <= try_cast(w.began AS TIMESTAMP), true)
"""
_FORGET_TEXTS = (
    """DELETE FROM links USING gone g WHERE links.evidence = 'text' AND links.found_in = '{origin}'
       AND links.found_id = g.{id} AND (links.repo = g.repo OR links.target_repo = g.repo)""",
    """DELETE FROM link_scans USING gone g
       WHERE link_scans.repo = g.repo AND link_scans.origin = '{origin}' AND link_scans.id = g.{id}""",
)
_QUEUE = (
    """CREATE OR REPLACE TEMP TABLE waiting AS
       SELECT l.repo, l.place, any_value(l.number) AS number, bool_and(l.whole) AS whole,
              bool_or(l.part = 'item') AS covered,
              string_agg(l.reason, '; ' ORDER BY l.part) FILTER (NOT l.whole) AS reason,
              coalesce(any_value(i.tries), 0) + 1 AS tries,
              coalesce(any_value(i.since), min(try_cast(l.began AS TIMESTAMP))) AS since,
              any_value(l.source) AS source, max(try_cast(l.fetched_at AS TIMESTAMP)) AS fetched_at,
              arg_max(l.page_id, l.fetched_at) AS page_id
       FROM latest l LEFT JOIN incomplete_items i USING (repo, place) GROUP BY l.repo, l.place""",
    """DELETE FROM incomplete_items i USING waiting w
       WHERE i.repo = w.repo AND i.place = w.place AND (NOT w.whole OR w.covered)""",
    "INSERT INTO incomplete_items BY NAME SELECT * EXCLUDE (whole, covered) FROM waiting WHERE NOT whole",
    "DROP TABLE waiting",
)


def _clauses(name: str) -> dict[str, str]:
    part = PARTS[name]
    owner = " AND ".join(f"c.{own} = w.{column}" for own, column in zip(part.owner, ("repo", "number"), strict=True))
    readings = ", ".join(f"'{one}'" for one in part.read_with or (name,))
    return {"name": name, "readings": readings, "table": part.table, "owner": owner, "where": part.where}


def _replace(name: str, *, staged: bool) -> list[str]:
    """Statements that delete what a whole reading of a part no longer has."""
    part = PARTS[name]
    key = KEYS[part.table]
    found = _CANDIDATES.format(**_clauses(name)).replace(f"'{name}'", ", ".join(f"c.{k}" for k in key), 1)
    if staged:  # a row of the store can be newer than the one of this reading, and then stays under its own page
        same = " AND ".join(f"s.{k} = c.{k}" for k in key)
        kept = f"{same} AND list_contains(w.pages || w.later, s.page_id)"
        found += f" AND NOT EXISTS (FROM staged_{part.table} s WHERE {kept})"
    texts = [text.format(origin=part.text, id=key[-1]) for text in _FORGET_TEXTS] if part.text else []
    return [
        f"CREATE OR REPLACE TEMP TABLE gone AS {found}",
        f"DELETE FROM {part.table} c USING gone g WHERE {' AND '.join(f'c.{k} = g.{k}' for k in key)}",
        *texts,
        "DROP TABLE gone",
    ]


def settle(connection: duckdb.DuckDBPyConnection, readings: Sequence[Reading], staged: Mapping[str, pa.Table]) -> None:
    """Act on the readings of a transaction, behind its rows.

    Args:
        connection: inside the transaction.
        readings: what its pages say, in order of arrival.
        staged: the rows that it wrote, by table.
    """
    for rows in rounds(readings):
        _act(connection, rows, staged)


def _act(
    connection: duckdb.DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], staged: Mapping[str, pa.Table]
) -> None:
    """Act on one reading of each part."""
    import pyarrow as pa

    connection.register("latest", pa.Table.from_pylist(rows, _schema()))
    for name in _with_candidates(connection, {row["part"] for row in rows if row["replaces"]}):
        table = PARTS[name].table
        if table in staged:
            connection.register(f"staged_{table}", staged[table])
        for statement in _replace(name, staged=table in staged):
            connection.execute(statement)
    [(waits,)] = connection.execute("SELECT count(*) FROM incomplete_items").fetchall()
    if waits or not all(row["whole"] for row in rows):
        for statement in _QUEUE:
            connection.execute(statement)
    connection.unregister("latest")


def _with_candidates(connection: duckdb.DuckDBPyConnection, parts: set[str]) -> list[str]:
    """Parts of which the store may have a row too many; usually none, and that is one query to find out."""
    queries = [
        _CANDIDATES.format(**_clauses(name)) for name, part in PARTS.items() if parts & {*(part.read_with or (name,))}
    ]
    if not queries:
        return []
    return [name for (name,) in connection.execute(" UNION ALL ".join(queries)).fetchall()]
