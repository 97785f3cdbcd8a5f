"""The history of a change as a tree: what reverted, backed out, relanded, replaced, fixed or explained what.

Pure: ``chain`` takes links and facts, ``render`` gives lines of plain text. Strong relations are followed in both
directions. One step along a mention is allowed on each branch, and only to an item that has a strong relation of its
own: people name the change they talk about long before anybody links it formally.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers.escaping import visible
from torch_embers.link import relations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from torch_embers.link.relations import Relation

MAX_NODES = 120
MAX_MENTIONS = 12
"""Mentions followed from one node; a popular thread has hundreds."""
MAX_TITLE = 90
MIN_ROOM = 30
"""Columns that a text keeps however deep its branch is."""
SHORT_SHA = 10
STRONG = "strong"
IDENTITY = "identity"


@dataclass(frozen=True, slots=True, order=True)
class Node:
    """An item (``number``) or a commit (``sha``)."""

    repo: str
    number: int = 0
    sha: str = ""

    def name(self, home: str = "") -> str:
        """``owner/name#1``, or ``#1`` within the repository ``home``; a commit by its short hash."""
        local = f"#{self.number}" if self.number else self.sha[:SHORT_SHA]
        if self.repo == home:
            return local
        return f"{self.repo}{local}" if self.number else f"{self.repo}@{local}"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """``source`` relation ``target``, with the kind of evidence (text, event, catalog ...)."""

    source: Node
    relation: str
    target: Node
    evidence: str


@dataclass(frozen=True, slots=True)
class ChainFacts:
    """What is known of a node for printing; empty where unknown."""

    title: str = ""
    kind: str = ""
    """issue, pull or commit."""
    state: str = ""
    """open, closed, merged ..."""
    date: str = ""
    """Day as ISO text."""


@dataclass(slots=True)
class Tree:
    """A node of the printed tree with the edge by which it was reached."""

    node: Node
    facts: ChainFacts
    words: str = ""
    """How the node above relates to this one: ``reverted by``; empty at the root."""
    evidence: tuple[str, ...] = ()
    repeated: bool = False
    """The node stands elsewhere in the tree; here only the edge is shown."""
    children: list[Tree] = field(default_factory=list)
    cut: int = 0
    """Nodes left out because the tree was full (at the root only)."""

    def address(self) -> str:
        """Where it is on GitHub."""
        place = f"commit/{self.node.sha}" if self.node.sha else f"issues/{self.node.number}"
        if self.facts.kind == "pull":
            place = f"pull/{self.node.number}"
        return f"https://github.com/{self.node.repo}/{place}"

    def nodes(self) -> Iterator[Node]:
        """Every node once, in printed order."""
        if not self.repeated:
            yield self.node
        for child in self.children:
            yield from child.nodes()


class _Edge(NamedTuple):
    other: Node
    relation: Relation
    evidence: tuple[str, ...]
    forward: bool


def chain(start: Node, links: Iterable[Link], facts: Mapping[Node, ChainFacts] | None = None) -> Tree:
    """Build the tree of everything that strong relations connect with ``start``.

    Args:
        start: the root.
        links: candidates in any order, repeated or not; commits that landed a pull request (relation of strength
            identity) count as that pull request.
        facts: titles, states and dates by node.

    Returns:
        The root. Each node stands once; an edge to a node that stands elsewhere is a leaf with ``repeated``.
    """
    graph = _Graph(links, relations.load().relations)
    return _Growth(graph, graph.same(start), facts or {}).tree()


class _Graph:
    """Edges of both directions, with commits folded into the pull requests they landed."""

    def __init__(self, links: Iterable[Link], known: Mapping[str, Relation]) -> None:
        usable = [link for link in links if link.relation in known]
        self._landed = {
            link.source: link.target for link in usable if known[link.relation].strength == IDENTITY and link.source.sha
        }
        evidence: defaultdict[tuple[Node, str, Node], set[str]] = defaultdict(set)
        for link in usable:
            source, target = self.same(link.source), self.same(link.target)
            if source != target and known[link.relation].strength != IDENTITY:
                evidence[source, link.relation, target].add(link.evidence)
        self._edges: defaultdict[Node, list[_Edge]] = defaultdict(list)
        for (source, name, target), kinds in evidence.items():
            proof = tuple(sorted(kinds))
            self._edges[source].append(_Edge(target, known[name], proof, forward=True))
            self._edges[target].append(_Edge(source, known[name], proof, forward=False))
        for edges in self._edges.values():
            edges.sort(key=lambda edge: (-edge.relation.rank, edge.forward, edge.other))

    def same(self, node: Node) -> Node:
        """Return the pull request that a commit landed, or the node itself."""
        return self._landed.get(node, node)

    def strong(self, node: Node) -> list[_Edge]:
        """Edges that a chain follows, strongest first."""
        return [edge for edge in self._edges.get(node, ()) if edge.relation.strength == STRONG]

    def mentions(self, node: Node) -> list[_Edge]:
        """Mentions worth a step: of an item in the history, or by an item that reports a revert, a reland ...."""
        edges = [
            edge
            for edge in self._edges.get(node, ())
            if edge.relation.name == relations.MENTIONS
            and any(edge.forward or strong.relation.turning for strong in self.strong(edge.other))
        ]
        return edges[:MAX_MENTIONS]


class _Growth:
    """A tree while nodes are attached to it."""

    def __init__(self, graph: _Graph, start: Node, facts: Mapping[Node, ChainFacts]) -> None:
        self._graph = graph
        self._facts = facts
        self._root = Tree(start, facts.get(start, ChainFacts()))
        self._trees = {start: self._root}
        self._shown: set[tuple[Node, Node]] = set()

    def tree(self) -> Tree:
        """Breadth first: all strong edges, then one round of mentions, then strong edges from there."""
        self._follow([self._root])
        for tree in list(self._trees.values()):
            for edge in self._graph.mentions(tree.node):
                if edge.other not in self._trees:
                    # followed at once: a later mention is better described by the strong relation found on the way
                    self._follow(self._attach(tree, edge))
        return self._root

    def _follow(self, trees: Iterable[Tree]) -> None:
        queue = deque(trees)
        while queue:
            tree = queue.popleft()
            for edge in self._graph.strong(tree.node):
                queue += self._attach(tree, edge)

    def _attach(self, tree: Tree, edge: _Edge) -> list[Tree]:
        """Add the other end of an edge below ``tree``; return it when it is new."""
        other = edge.other
        pair = (min(tree.node, other), max(tree.node, other))
        if pair in self._shown:
            return []
        self._shown.add(pair)
        repeated = other in self._trees
        if not repeated and len(self._trees) >= MAX_NODES:
            self._root.cut += 1
            return []
        words = edge.relation.forward if edge.forward else edge.relation.backward
        child = Tree(other, self._facts.get(other, ChainFacts()), words, edge.evidence, repeated)
        tree.children.append(child)
        return [] if repeated else [self._trees.setdefault(other, child)]


def render(tree: Tree, width: int | None = None) -> list[str]:
    """Lines of text with box characters, each node with its address; longer lines are folded below their branch.

    Titles are cleaned of anything that could steer a terminal.
    """
    lines = _folded("", "", f"{tree.node.name()}{_about(tree.facts)} {tree.address()}", width)
    lines += _branches(tree, "", tree.node.repo, width)
    return [*lines, f"… {tree.cut} more left out"] if tree.cut else lines


def _branches(tree: Tree, indent: str, home: str, width: int | None) -> list[str]:
    lines: list[str] = []
    for child in tree.children:
        mark, below = ("└─ ", "   ") if child is tree.children[-1] else ("├─ ", "│  ")
        lines += _folded(indent + mark, indent + below, _line(child, home), width)
        lines += _branches(child, indent + below, home, width)
    return lines


def _folded(first: str, rest: str, text: str, width: int | None) -> list[str]:
    if width is None:
        return [first + text]
    room = max(width, len(first) + MIN_ROOM)
    return textwrap.wrap(
        text, room, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def as_mapping(tree: Tree) -> dict[str, Any]:
    """The tree as nested mappings, for JSON."""
    facts = tree.facts
    return {
        "repo": tree.node.repo,
        "number": tree.node.number or None,
        "commit": tree.node.sha or None,
        "address": tree.address(),
        "title": facts.title,
        "kind": facts.kind,
        "state": facts.state,
        "date": facts.date,
        "relation": tree.words,
        "evidence": list(tree.evidence),
        "repeated": tree.repeated,
        "children": [as_mapping(child) for child in tree.children],
    }


def _line(tree: Tree, home: str) -> str:
    about = " (see elsewhere in this tree)" if tree.repeated else _about(tree.facts)
    address = "" if tree.repeated else f" {tree.address()}"
    return f"{tree.words} {tree.node.name(home)}{about} [{', '.join(tree.evidence)}]{address}"


def _about(facts: ChainFacts) -> str:
    title = printable(facts.title)
    parts = [part for part in (facts.kind, facts.state, facts.date) if part]
    return (f" {title}" if title else "") + (f" ({', '.join(parts)})" if parts else "")


def printable(text: str) -> str:
    """One line without control or direction characters, shortened to ``MAX_TITLE``."""
    line = " ".join(visible(text[: 4 * MAX_TITLE]).split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"
