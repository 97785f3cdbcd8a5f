"""Reading syntax trees: order, and the names that code binds and reads."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


def following(block: Sequence[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    """The statements behind one of a block."""
    return list(block[block.index(statement) + 1 :])


def in_order(node: ast.AST, skip: Callable[[ast.AST], bool] = lambda _: False) -> Iterator[ast.AST]:
    """A node and all below it, in the order of the text, but for what is to be skipped."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        if not skip(here):
            yield here
            waiting.extend(reversed(list(ast.iter_child_nodes(here))))


def stored(node: ast.AST) -> Iterator[str]:
    """Names that a statement binds, or whose parts it sets."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name | ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store):
            root: ast.AST = part
            while isinstance(root, ast.Attribute | ast.Subscript):
                root = root.value
            if isinstance(root, ast.Name):
                yield root.id
        elif isinstance(part, ast.MatchAs | ast.MatchStar) and part.name:
            yield part.name
        elif isinstance(part, ast.MatchMapping) and part.rest:
            yield part.rest


def loaded(node: ast.AST) -> Iterator[str]:
    """Names that a piece of code reads."""
    return (part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load))


def shown(node: ast.expr | ast.stmt) -> str:
    """A call by its name, any other expression as it is, cut to fit a line."""
    try:
        text = ast.unparse(node.func if isinstance(node, ast.Call) else node).partition("\n")[0]
    except RecursionError:  # nested too deeply
        return f"the call of line {node.lineno}"
    return f"`{text}`" if len(text) <= 50 else f"`{text[:50]}...`"
