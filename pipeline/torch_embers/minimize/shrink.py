"""Torch-aware reduction steps: smaller tensors, fewer iterations, plainer types. Pure: proposals for a test to judge.

They come before the general reducer, because they make each of its tests cheaper, and because a general reducer does
not know that the 64 of one layer and the 64 of another must shrink together.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

SMALL = (1, 2, 3, 4, 5, 8, 16)
"""Sizes to try, smallest first."""
PLAIN_KEYWORDS = frozenset({"dtype", "device", "layout", "pin_memory", "non_blocking", "memory_format"})
"""Keywords of torch's functions that have a plain default."""
CONVERSIONS = frozenset({"to", "cuda", "cpu", "half", "double", "float", "bfloat16", "contiguous", "clone", "detach"})
"""Methods that give the same tensor again, in another form."""


def sizes_together(tree: ast.Module) -> Iterator[ast.Module]:
    """Every place of one number replaced at once, the largest number first."""
    sizes = {place: size for place, node in enumerate(ast.walk(tree)) if (size := _size(node))}
    for value in sorted(set(sizes.values()), reverse=True):
        for smaller in (s for s in SMALL if s < value):
            yield _resized(tree, {place for place, size in sizes.items() if size == value}, smaller)


def sizes_alone(tree: ast.Module) -> Iterator[ast.Module]:
    """One place at a time."""
    for place, node in enumerate(ast.walk(tree)):
        for smaller in (s for s in SMALL if s < _size(node)):
            yield _resized(tree, {place}, smaller)


def loops(tree: ast.Module) -> Iterator[ast.Module]:
    """``range(n)`` with one or two turns, and loops that are replaced by one turn of their body."""
    ranges = [place for place, node in enumerate(ast.walk(tree)) if _is_range(node)]
    for place in ranges:
        for turns in (1, 2):
            made = copy.deepcopy(tree)
            node = list(ast.walk(made))[place]
            if isinstance(node, ast.Call) and not _is_at_most(node, turns):
                node.args = [ast.Constant(turns)]
                yield made


def plain_types(tree: ast.Module) -> Iterator[ast.Module]:
    """Without one keyword such as ``dtype=``, or without one conversion such as ``.half()``."""
    for place, node in enumerate(ast.walk(tree)):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg in PLAIN_KEYWORDS:
                made = copy.deepcopy(tree)
                call = list(ast.walk(made))[place]
                if isinstance(call, ast.Call):
                    call.keywords = [k for k in call.keywords if k.arg != keyword.arg]
                    yield made
        if isinstance(node.func, ast.Attribute) and node.func.attr in CONVERSIONS:
            yield _without_call(tree, place)


PASSES: dict[str, Callable[[ast.Module], Iterator[ast.Module]]] = {
    "sizes_together": sizes_together,
    "sizes_alone": sizes_alone,
    "loops": loops,
    "plain_types": plain_types,
}
"""Name -> pass, in the order in which they are tried."""


def apply(code: str, name: str, is_interesting: Callable[[str], bool]) -> str:
    """Run one pass until none of its proposals is accepted.

    Args:
        code: a script that is interesting.
        name: of ``PASSES``.
        is_interesting: the test; a proposal that passes it takes the script's place.

    Returns:
        The last accepted text, ``code`` itself where none was.
    """
    accepted = True
    while accepted:
        accepted = False
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return code
        for made in PASSES[name](tree):
            text = ast.unparse(ast.fix_missing_locations(made)) + "\n"
            if text != code and is_interesting(text):
                code, accepted = text, True
                break
    return code


def _size(node: ast.AST) -> int:
    """A number that could be a size; 0 for everything else."""
    if isinstance(node, ast.Constant) and type(node.value) is int and node.value > 1:
        return node.value
    return 0


def _is_at_most(call: ast.Call, turns: int) -> bool:
    """Whether a range is so short already: a proposal must be smaller, or two of them would take turns for ever."""
    [*_, last] = call.args
    return len(call.args) == 1 and isinstance(last, ast.Constant) and type(last.value) is int and last.value <= turns


def _is_range(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range" and bool(node.args)
    )


def _resized(tree: ast.Module, places: Collection[int], size: int) -> ast.Module:
    """The tree with another number at these places of the walk."""
    resized = copy.deepcopy(tree)
    for place, node in enumerate(ast.walk(resized)):
        if place in places and isinstance(node, ast.Constant):
            node.value = size
    return resized


def _without_call(tree: ast.Module, place: int) -> ast.Module:
    """The tree with ``x.method(...)`` at this place of the walk replaced by ``x``."""
    made = copy.deepcopy(tree)
    target = list(ast.walk(made))[place]

    class Unwrap(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            return node.func.value if node is target and isinstance(node.func, ast.Attribute) else node

    unwrapped: ast.Module = Unwrap().visit(made)
    return unwrapped
