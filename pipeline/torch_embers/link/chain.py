"""The history of a change as a tree: what reverted, backed out, relanded, replaced, fixed or explained what.

Pure: ``chain`` takes links and facts, ``render`` gives lines of plain text. Strong relations are followed in both
directions. One step along a mention is allowed on each branch, and only to an item that has a strong relation of its
own: people name the change they talk about long before anybody links it formally.
"""

from __future__ import annotations

import textwrap
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers.escaping import visible
from torch_embers.link import relations as rulebook

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


@dataclass(frozen=True, slots=True)
class Link:
    """``source`` relation ``target``, with the kind of evidence (text, event, catalog ...)."""

    source: Node
    relation: str
    target: Node
    evidence: str


@dataclass(frozen=True, slots=True)
class Facts:
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
    facts: Facts
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


@dataclass(frozen=True, slots=True)
class _Edge:
    other: Node
    relation: Relation
    evidence: tuple[str, ...]
    forward: bool

    @property
    def words(self) -> str:
        return self.relation.forward if self.forward else self.relation.backward

    def order(self) -> tuple[int, bool, Node]:
        return (-self.relation.rank, self.forward, self.other)


def chain(
    start: Node,
    links: Iterable[Link],
    facts: Mapping[Node, Facts] | None = None,
    relations: Mapping[str, Relation] | None = None,
) -> Tree:
    """Build the tree of everything that strong relations connect with ``start``.

    Args:
        start: the root.
        links: candidates in any order, repeated or not; commits that landed a pull request (relation of strength
            identity) count as that pull request.
        facts: titles, states and dates by node.
        relations: by name; the shipped ones by default.

    Returns:
        The root. Each node stands once; an edge to a node that stands elsewhere is a leaf with ``repeated``.
    """
    known = relations or rulebook.load().relations
    graph = _Graph(links, known)
    start = graph.same(start)
    return _grow(start, graph, facts or {})


class _Graph:
    """Edges of both directions, with commits folded into the pull requests they landed."""

    def __init__(self, links: Iterable[Link], known: Mapping[str, Relation]) -> None:
        usable = [link for link in links if link.relation in known]
        self._landed = {
            link.source: link.target for link in usable if known[link.relation].strength == IDENTITY and link.source.sha
        }
        evidence: dict[tuple[Node, str, Node], list[str]] = {}
        for link in usable:
            source, target = self.same(link.source), self.same(link.target)
            if source != target and known[link.relation].strength != IDENTITY:
                kinds = evidence.setdefault((source, link.relation, target), [])
                if link.evidence not in kinds:
                    kinds.append(link.evidence)
        self._edges: dict[Node, list[_Edge]] = {}
        for (source, name, target), kinds in evidence.items():
            proof = tuple(sorted(kinds))
            self._edges.setdefault(source, []).append(_Edge(target, known[name], proof, forward=True))
            self._edges.setdefault(target, []).append(_Edge(source, known[name], proof, forward=False))
        for edges in self._edges.values():
            edges.sort(key=_Edge.order)

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
            if edge.relation.name == rulebook.MENTIONS
            and any(edge.forward or strong.relation.turning for strong in self.strong(edge.other))
        ]
        return edges[:MAX_MENTIONS]


def _grow(start: Node, graph: _Graph, facts: Mapping[Node, Facts]) -> Tree:
    """Breadth first: all strong edges, then one round of mentions, then strong edges from there."""
    root = Tree(start, facts.get(start, Facts()))
    trees = {start: root}
    shown: set[tuple[Node, Node]] = set()
    _follow(deque([root]), graph, facts, trees, shown, root)
    for tree in list(trees.values()):
        for edge in graph.mentions(tree.node):
            if edge.other not in trees:
                # followed at once: a later mention is better described by the strong relation found on the way
                new = _attach(tree, edge, facts, trees, shown, root)
                _follow(deque(new), graph, facts, trees, shown, root)
    return root


def _follow(
    queue: deque[Tree],
    graph: _Graph,
    facts: Mapping[Node, Facts],
    trees: dict[Node, Tree],
    shown: set[tuple[Node, Node]],
    root: Tree,
) -> None:
    while queue:
        tree = queue.popleft()
        for edge in graph.strong(tree.node):
            queue += _attach(tree, edge, facts, trees, shown, root)


def _attach(
    tree: Tree,
    edge: _Edge,
    facts: Mapping[Node, Facts],
    trees: dict[Node, Tree],
    shown: set[tuple[Node, Node]],
    root: Tree,
) -> list[Tree]:
    """Add the other end of an edge below ``tree``; return it when it is new."""
    other = edge.other
    pair = (min(tree.node, other), max(tree.node, other))
    if pair in shown:
        return []
    shown.add(pair)
    if other not in trees and len(trees) >= MAX_NODES:
        root.cut += 1
        return []
    repeated = other in trees
    child = Tree(other, facts.get(other, Facts()), edge.words, edge.evidence, repeated)
    tree.children.append(child)
    if repeated:
        return []
    trees[other] = child
    return [child]


def render(tree: Tree, width: int | None = None) -> list[str]:
    """Lines of text with box characters, each node with its address; longer lines are folded below their branch.

    Titles are cleaned of anything that could steer a terminal.
    """
    home = tree.node.repo
    lines = _folded("", "", f"{tree.node.name()}{_about(tree.facts)} {tree.address()}", width)
    stack = _below(tree, "")
    while stack:
        child, indent, last = stack.pop()
        deeper = indent + ("   " if last else "│  ")
        lines += _folded(f"{indent}{'└─ ' if last else '├─ '}", deeper, _line(child, home), width)
        stack += _below(child, deeper)
    if tree.cut:
        lines.append(f"… {tree.cut} more left out")
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


def _below(tree: Tree, indent: str) -> list[tuple[Tree, str, bool]]:
    """Children in reverse, for a stack."""
    final = len(tree.children) - 1
    return [(child, indent, at == final) for at, child in enumerate(tree.children)][::-1]


def _line(tree: Tree, home: str) -> str:
    about = " (see elsewhere in this tree)" if tree.repeated else _about(tree.facts)
    address = "" if tree.repeated else f" {tree.address()}"
    return f"{tree.words} {tree.node.name(home)}{about} [{', '.join(tree.evidence)}]{address}"


def _about(facts: Facts) -> str:
    title = printable(facts.title)
    parts = [part for part in (facts.kind, facts.state, facts.date) if part]
    return (f" {title}" if title else "") + (f" ({', '.join(parts)})" if parts else "")


def printable(text: str) -> str:
    """One line without control or direction characters, shortened to ``MAX_TITLE``."""
    line = " ".join(visible(text[: 4 * MAX_TITLE]).split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1].rstrip() + "…"
