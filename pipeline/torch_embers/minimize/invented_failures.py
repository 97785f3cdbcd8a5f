"""Shortcuts: what a reducer invents to reach the same symptom in a shorter way than the bug does. Pure.

A failing comparison becomes ``False``, an assertion ``assert 0``, a tensor that is read out of bounds an empty one, an
index some uninitialised number, a name one that nothing binds any more. The run looks the same, so the text must tell:
each of these is counted, and a candidate may have no more of any than the whole script.
"""

from __future__ import annotations

import ast
import builtins
from collections import Counter
from typing import TYPE_CHECKING

from torch_embers.extract.names import last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

UNINITIALISED = frozenset({"empty", "empty_like", "empty_strided", "new_empty"})
"""Functions whose values are whatever was in memory, like those of ``torch.FloatTensor(3)``."""


def invents(original: str, candidate: str) -> bool:
    """Whether a candidate has a shortcut that the original lacks.

    Args:
        original: the whole script.
        candidate: a smaller text; one that is no Python counts as invented.
    """
    try:
        had, has = Counter(_shortcuts(ast.parse(original))), Counter(_shortcuts(ast.parse(candidate)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    return any(has[what] > had[what] for what in has)


def _shortcuts(tree: ast.Module) -> Iterator[str]:
    seeds = {id(part) for node in ast.walk(tree) if _is_seed(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=bool(value)):
                yield str(value)
            case ast.Constant(value=0 | 0.0) if id(node) not in seeds:
                yield "zero"
            case ast.List(elts=[]) | ast.Tuple(elts=[]):
                yield "empty"
            case ast.Raise():
                yield "raise"
            case ast.Call(args=[], keywords=[]) if _is_seed(node):
                yield "seed without a number"
            case ast.Call() if _is_uninitialised(node):
                yield "uninitialised"
    yield from _assertions(tree)
    yield from (f"unbound {name}" for name in _unbound(tree))


def _unbound(tree: ast.Module) -> set[str]:
    """Names that are read, annotations included, and bound nowhere: an error about them would be the script's own."""
    read, bound = set(), set(dir(builtins))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound.add(node.name)
            case ast.alias():
                bound.add(node.asname or node.name.partition(".")[0])
            case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                bound.add(name)
    return read - bound


def _assertions(tree: ast.Module) -> Iterator[str]:
    """Assertions word by word, with the functions of the script that they call: they say what is right."""
    asserted = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    called = {part.id for node in asserted for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    yield from (ast.unparse(node.test) for node in asserted)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in called:
            yield ast.unparse(node)


def _is_seed(node: ast.AST) -> bool:
    """Whether a node is ``manual_seed(0)``: its zero is no size and allows no other zero."""
    return isinstance(node, ast.Call) and "seed" in last_name(node)


def _is_uninitialised(call: ast.Call) -> bool:
    """Whether a call makes a tensor with whatever was in memory."""
    sized = bool(call.args) and all(isinstance(a, ast.Constant) and type(a.value) is int for a in call.args)
    return last_name(call) in UNINITIALISED or (last_name(call).endswith("Tensor") and sized)
