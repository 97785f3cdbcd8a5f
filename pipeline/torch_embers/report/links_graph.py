"""The links around an item as a drawing: boxes in columns, one column per step away from the item. Pure.

Each item or commit is one box. The tree of `link/chain.py` gives the places; where it meets a node a second time, the
line goes to the box that is there.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.link import relations as rulebook
from torch_embers.link.chain import IDENTITY, STRONG, Facts, Link, Node, Tree, chain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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


@dataclass(frozen=True, slots=True)
class Line:
    """From one box to another, with the words of the relation.

    Attributes:
        x1, y1: the middle of a side of the first box.
        x2, y2: of the second one.
        words: how the first relates to the second.
        is_back: whether the second box stands in the same column or before: the line leaves and enters on the right.
    """

    x1: float
    y1: float
    x2: float
    y2: float
    words: str
    is_back: bool = False

    @property
    def path(self) -> str:
        """As a path of SVG: out, across, in."""
        turn = max(self.x1, self.x2) + GAP_X / 3 if self.is_back else (self.x1 + self.x2) / 2
        return f"M{self.x1:g} {self.y1:g}C{turn:g} {self.y1:g} {turn:g} {self.y2:g} {self.x2:g} {self.y2:g}"

    @property
    def label(self) -> tuple[float, float, str]:
        """Where the words stand, and which end of them is there: beside the second box."""
        return (self.x2 + 8, self.y2 - 5, "start") if self.is_back else (self.x2 - 8, self.y2 - 5, "end")


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
    boxes: dict[Node, Box] = {}
    rows = _place(tree, 0, 0, boxes)[0]
    lines = list(_lines(tree, boxes))
    right = max(box.x + WIDTH for box in boxes.values())
    if any(line.is_back for line in lines):
        right += GAP_X  # room for lines and words on the right of the last column
    return Drawing(list(boxes.values()), lines, right + 2, rows * (HEIGHT + GAP_Y) - GAP_Y + 2, left_out + tree.cut)


def _place(tree: Tree, depth: int, row: int, boxes: dict[Node, Box]) -> tuple[int, float]:
    """Place the nodes of a tree from a row on; returns the next free row, and the middle of its box."""
    x, first, middles = 1 + depth * (WIDTH + GAP_X), row, []
    for child in tree.children:
        if not child.repeated:
            row, middle = _place(child, depth + 1, row, boxes)
            middles.append(middle)
    row = max(row, first + 1)
    own = sum(middles) / len(middles) if middles else 1 + first * (HEIGHT + GAP_Y) + HEIGHT / 2
    boxes[tree.node] = Box(tree.node, tree.facts, x, own - HEIGHT / 2, depth == 0)
    return row, own


def _lines(tree: Tree, boxes: Mapping[Node, Box]) -> Iterator[Line]:
    """A line per edge of the tree, also to a node that it met before."""
    here = boxes[tree.node]
    for child in tree.children:
        there = boxes[child.node]
        is_back = there.x <= here.x
        ends = (here.x + WIDTH, here.y + HEIGHT / 2, there.x + WIDTH * is_back, there.y + HEIGHT / 2)
        yield Line(*ends, child.words, is_back)
        yield from _lines(child, boxes)
