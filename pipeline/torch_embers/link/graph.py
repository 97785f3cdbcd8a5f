"""Read from the store what ``chain`` needs: the links around an item, and the facts of what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.link import relations
from torch_embers.link.chain import IDENTITY, STRONG, Facts, Link, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb

MAX_ROUNDS = 12
MAX_NODES = 2_000
"""Nodes at which the search stops widening; the tree shows far fewer."""

_TOUCHING = """
WITH wanted AS (SELECT repo, number, sha FROM frontier),
     ends AS (
    SELECT repo, coalesce(number, 0) AS number, CASE WHEN number IS NULL THEN sha ELSE '' END AS sha, relation,
           target_repo, coalesce(target_number, 0) AS target_number,
           CASE WHEN target_number IS NULL THEN target_sha ELSE '' END AS target_sha, evidence
    FROM links WHERE relation IN (SELECT unnest(?))
)
SELECT DISTINCT e.* FROM ends e SEMI JOIN wanted w ON w.repo = e.repo AND w.number = e.number AND w.sha = e.sha
UNION
SELECT DISTINCT e.* FROM ends e SEMI JOIN wanted w
  ON w.repo = e.target_repo AND w.number = e.target_number AND w.sha = e.target_sha
ORDER BY ALL
"""

_ITEM_FACTS = """
SELECT i.repo, i.number, i.title, i.kind,
       CASE WHEN i.merged_at IS NOT NULL OR i.state_reason = 'merged' THEN 'merged'
            WHEN i.state = 'closed' AND i.state_reason IN ('not_planned', 'duplicate')
            THEN 'closed as ' || replace(i.state_reason, '_', ' ') ELSE i.state END,
       strftime(coalesce(i.merged_at, i.closed_at, i.created_at), '%Y-%m-%d')
FROM items i SEMI JOIN frontier f ON f.repo = i.repo AND f.number = i.number
"""

_COMMIT_FACTS = """
SELECT c.repo, c.sha, c.subject, strftime(c.committed_at, '%Y-%m-%d')
FROM commits c SEMI JOIN frontier f ON f.repo = c.repo AND f.sha = c.sha
"""


def around(base: duckdb.DuckDBPyConnection, start: Node) -> tuple[list[Link], dict[Node, Facts]]:
    """Links and facts of everything that a chain from ``start`` can show.

    Strong links are followed round by round; then the mentions of these nodes, and strong links from there.
    """
    connection = base.cursor()  # its own temporary view, and no result left open by the caller
    book = relations.load().relations
    strong = [name for name, relation in book.items() if relation.strength in (STRONG, IDENTITY)]
    links: set[Link] = set()
    connected = _close(connection, {start}, {start}, strong, links)
    mentioned = _touching(connection, connected, [relations.MENTIONS])
    links |= mentioned
    _close(connection, {end for link in mentioned for end in (link.source, link.target)}, connected, strong, links)
    nodes = {start} | {end for link in links for end in (link.source, link.target)}
    return sorted(links, key=_order), _facts(connection, nodes)


def _order(link: Link) -> tuple[Node, str, Node, str]:
    return (link.source, link.relation, link.target, link.evidence)


def _close(
    connection: duckdb.DuckDBPyConnection,
    frontier: set[Node],
    seen: Iterable[Node],
    names: list[str],
    links: set[Link],
) -> set[Node]:
    """Follow the named relations from ``frontier`` until nothing new comes; adds to ``links``, returns all nodes."""
    nodes = set(seen) | frontier
    for _ in range(MAX_ROUNDS):
        if not frontier or len(nodes) > MAX_NODES:
            break
        touching = _touching(connection, frontier, names)
        links |= touching
        frontier = {end for link in touching for end in (link.source, link.target)} - nodes
        nodes |= frontier
    return nodes


def _register(connection: duckdb.DuckDBPyConnection, nodes: Iterable[Node]) -> None:
    rows = sorted(nodes)
    arrays = [
        pa.array([node.repo for node in rows], pa.string()),
        pa.array([node.number for node in rows], pa.int32()),
        pa.array([node.sha for node in rows], pa.string()),
    ]
    connection.register("frontier", pa.table(arrays, names=["repo", "number", "sha"]))


def _touching(connection: duckdb.DuckDBPyConnection, nodes: Iterable[Node], names: list[str]) -> set[Link]:
    _register(connection, nodes)
    return {_link(row) for row in connection.execute(_TOUCHING, [names]).fetchall()}


def _link(row: tuple[Any, ...]) -> Link:
    repo, number, sha, relation, target_repo, target_number, target_sha, evidence = row
    return Link(Node(repo, number, sha or ""), relation, Node(target_repo, target_number, target_sha or ""), evidence)


def _facts(connection: duckdb.DuckDBPyConnection, nodes: Iterable[Node]) -> dict[Node, Facts]:
    _register(connection, nodes)
    facts = {
        Node(repo, number): Facts(title or "", kind or "", state or "", date or "")
        for repo, number, title, kind, state, date in connection.execute(_ITEM_FACTS).fetchall()
    }
    for repo, sha, subject, date in connection.execute(_COMMIT_FACTS).fetchall():
        facts[Node(repo, 0, sha)] = Facts(subject or "", "commit", "", date or "")
    return facts
