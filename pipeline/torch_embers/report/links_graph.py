"""The links around an item as a drawing: boxes in columns, one column per step away from the item. Pure."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.link import relations as rulebook
from torch_embers.link.chain import IDENTITY, STRONG, Facts, Link, Node, Tree, chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH, HEIGHT = 168, 40
"""Of a box, in pixels."""
GAP_X, GAP_Y = 136, 14
LONGEST = 20
"""Characters of a title in a box."""


@dataclass(frozen=True, slots=True)
class Box:
    """An item or commit in the drawing."""

    node: Node
    facts: Facts
    x: float
    y: float
    is_start: bool
    is_repeated: bool


@dataclass(frozen=True, slots=True)
class Line:
    """From one box to the next, with the words of the relation."""

    x1: float
    y1: float
    x2: float
    y2: float
    words: str

    @property
    def path(self) -> str:
        """As a path of SVG: out, across, in."""
        half = (self.x1 + self.x2) / 2
        return f"M{self.x1:g} {self.y1:g}C{half:g} {self.y1:g} {half:g} {self.y2:g} {self.x2:g} {self.y2:g}"


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes, lines and the size of the whole."""

    boxes: Sequence[Box]
    lines: Sequence[Line]
    width: float
    height: float
    left_out: int


class Neighbours:
    """Strong links by the nodes at their ends."""

    def __init__(self, links: Iterable[Link]) -> None:
        book = rulebook.load().relations
        self._at: dict[Node, list[Link]] = defaultdict(list)
        for link in links:
            relation = book.get(link.relation)
            if relation and relation.strength in (STRONG, IDENTITY):
                self._at[link.source].append(link)
                self._at[link.target].append(link)

    def around(self, start: Node, most: int) -> tuple[list[Link], int]:
        """Links between ``start`` and the ``most`` nodes nearest to it, and how many nodes beside them are left out."""
        seen, queue, left_out = {start}, deque([start]), set()
        links: dict[Link, None] = {}
        while queue:
            node = queue.popleft()
            for link in self._at.get(node, ()):
                other = link.target if link.source == node else link.source
                if other not in seen:
                    if len(seen) >= most:
                        left_out.add(other)
                        continue
                    seen.add(other)
                    queue.append(other)
                links[link] = None
        return list(links), len(left_out)


def draw(start: Node, neighbours: Neighbours, facts: Mapping[Node, Facts], most: int) -> Drawing | None:
    """The drawing around an item; None where no strong link touches it."""
    links, left_out = neighbours.around(start, most)
    if not links:
        return None
    tree = chain(start, links, facts)
    if not tree.children:
        return None
    boxes: list[Box] = []
    lines: list[Line] = []
    rows = _place(tree, 0, 0, boxes, lines)[0]
    width = max(box.x for box in boxes) + WIDTH + 2
    return Drawing(boxes, lines, width, rows * (HEIGHT + GAP_Y) - GAP_Y + 2, left_out + tree.cut)


def _place(tree: Tree, depth: int, row: int, boxes: list[Box], lines: list[Line]) -> tuple[int, float]:
    """Place a tree from a row on; returns the next free row, and the middle of its box."""
    x, first, middles = 1 + depth * (WIDTH + GAP_X), row, []
    for child in tree.children:
        row, middle = _place(child, depth + 1, row, boxes, lines)
        middles.append((middle, child.words))
    row = max(row, first + 1)
    own = sum(m for m, _ in middles) / len(middles) if middles else 1 + first * (HEIGHT + GAP_Y) + HEIGHT / 2
    boxes.append(Box(tree.node, tree.facts, x, own - HEIGHT / 2, depth == 0, tree.repeated))
    lines += [Line(x + WIDTH, own, x + WIDTH + GAP_X, middle, words) for middle, words in middles]
    return row, own
