"""Chains from the store: the links around an item, and the facts of what they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.link import relations
from torch_embers.link.chain import IDENTITY, STRONG, ChainFacts, Link, Node, Tree, chain

if TYPE_CHECKING:
    from collections.abc import Collection

    import duckdb

    from torch_embers.store.store import Store

MAX_ROUNDS = 12
MAX_NODES = 2_000
"""Nodes at which the search stops widening; the tree shows far fewer."""

_FRONTIER = """
WITH frontier AS (
    SELECT unnest($repos::VARCHAR[]) AS repo, unnest($numbers::INTEGER[]) AS number, unnest($shas::VARCHAR[]) AS sha
)
"""
_TOUCHING = f"""{_FRONTIER},
ends AS (
    SELECT repo, coalesce(number, 0) AS number, if(number IS NULL, sha, '') AS sha, relation,
           target_repo, coalesce(target_number, 0) AS target_number,
           if(target_number IS NULL, target_sha, '') AS target_sha, evidence
    FROM links WHERE list_contains($relations::VARCHAR[], relation)
)
SELECT DISTINCT * FROM ends
WHERE (repo, number, sha) IN (FROM frontier) OR (target_repo, target_number, target_sha) IN (FROM frontier)
"""
_FACTS = f"""{_FRONTIER}
SELECT i.repo, i.number, '', i.title, i.kind,
       CASE WHEN i.merged_at IS NOT NULL OR i.state_reason = 'merged' THEN 'merged'
            WHEN i.state = 'closed' AND i.state_reason IN ('not_planned', 'duplicate')
            THEN 'closed as ' || replace(i.state_reason, '_', ' ') ELSE i.state END,
       strftime(coalesce(i.merged_at, i.closed_at, i.created_at), '%Y-%m-%d')
FROM items i SEMI JOIN frontier f ON f.repo = i.repo AND f.number = i.number
UNION ALL
SELECT c.repo, 0, c.sha, c.subject, 'commit', '', strftime(c.committed_at, '%Y-%m-%d')
FROM commits c SEMI JOIN frontier f ON f.repo = c.repo AND f.sha = c.sha
"""


def chain_of(store: Store, repo: str, number: int) -> Tree:
    """The chain around one item.

    Raises:
        InputError: the database knows neither the item nor a link to it.
        StoreError: the database cannot be read.
    """
    start = Node(repo, number)
    with store.read() as connection:
        links, facts = around(connection, start)
    if start not in facts and not links:
        raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
    return chain(start, links, facts)


def around(connection: duckdb.DuckDBPyConnection, start: Node) -> tuple[list[Link], dict[Node, ChainFacts]]:
    """Links and facts of everything that a chain from ``start`` can show.

    Strong links are followed round by round; then the mentions of these nodes, and strong links from there.
    """
    book = relations.load().relations
    strong = [name for name, relation in book.items() if relation.strength in (STRONG, IDENTITY)]
    links: set[Link] = set()
    connected = _close(connection, {start}, set(), strong, links)
    mentioned = _touching(connection, connected, [relations.MENTIONS])
    links |= mentioned
    _close(connection, _ends(mentioned), connected, strong, links)
    rows = connection.execute(_FACTS, _frontier({start} | _ends(links))).fetchall()
    facts = {Node(repo, number, sha): ChainFacts(*(text or "" for text in texts)) for repo, number, sha, *texts in rows}
    return sorted(links), facts


def _close(
    connection: duckdb.DuckDBPyConnection, frontier: set[Node], seen: set[Node], names: list[str], links: set[Link]
) -> set[Node]:
    """Follow the named relations from ``frontier`` until nothing new comes; adds to ``links``, returns all nodes."""
    nodes = seen | frontier
    for _ in range(MAX_ROUNDS):
        if not frontier or len(nodes) > MAX_NODES:
            break
        touching = _touching(connection, frontier, names)
        links |= touching
        frontier = _ends(touching) - nodes
        nodes |= frontier
    return nodes


def _ends(links: set[Link]) -> set[Node]:
    return {end for link in links for end in (link.source, link.target)}


def _touching(connection: duckdb.DuckDBPyConnection, nodes: Collection[Node], names: list[str]) -> set[Link]:
    rows = connection.execute(_TOUCHING, {**_frontier(nodes), "relations": names}).fetchall()
    return {
        Link(Node(repo, number, sha or ""), relation, Node(target_repo, target_number, target_sha or ""), evidence)
        for repo, number, sha, relation, target_repo, target_number, target_sha, evidence in rows
    }


def _frontier(nodes: Collection[Node]) -> dict[str, Any]:
    return {
        "repos": [node.repo for node in nodes],
        "numbers": [node.number for node in nodes],
        "shas": [node.sha for node in nodes],
    }
