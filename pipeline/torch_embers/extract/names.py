"""What a script binds, uses and leaves undefined: Python's own symbol tables, read without running anything."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__spec__", "__builtins__", "__annotations__"}


_KEPT = 8
"""Trees whose nodes are kept: a script is looked at many times while it is completed, and trees are never changed."""


@lru_cache(maxsize=_KEPT)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, as ``ast.walk`` gives them."""
    return tuple(ast.walk(tree))


def undefined(text: str, tree: ast.Module) -> dict[str, bool]:
    """Names that are used somewhere and bound nowhere, in order of their first use.

    The order of statements is not looked at: a name bound anywhere at module level counts as bound.

    Returns:
        Whether something is taken from the name: ``x.attribute``.

    Raises:
        SyntaxError: the text parses but has no symbol table (a ``return`` outside of a function, for instance).
    """
    if _outside(tree):
        raise SyntaxError("return, yield or await outside of a function")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = symtable.symtable(text, "script", "exec")
        free = _free(table) - bound(tree) - _KNOWN
    except (RecursionError, ValueError, MemoryError) as error:
        raise SyntaxError(str(error)) from error
    if not free:
        return {}
    uses = [node for node in nodes(tree) if isinstance(node, ast.Name) and node.id in free]
    owners = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Attribute)}
    taken: dict[str, bool] = {}
    for use in sorted(uses, key=lambda node: node.lineno):
        taken[use.id] = taken.get(use.id, False) or id(use) in owners
    return taken


def too_early(tree: ast.Module) -> list[str]:
    """Names that a statement at module level reads before any statement binds them, in that order.

    Blocks of a report that were joined, or a piece that was never meant to stand alone, show it.
    """
    later = bound(tree)
    so_far = set(_KNOWN)
    early: dict[str, None] = {}
    for statement in tree.body:
        body = ast.Module(body=[statement], type_ignores=[])
        so_far |= bound(body)
        own = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        loaded = [n.id for n in module_level(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        early |= {name: None for name in loaded if name in later and name not in so_far and name not in own}
    return list(early)


def _free(table: symtable.SymbolTable) -> set[str]:
    free: set[str] = set()
    waiting = [table]
    while waiting:
        scope = waiting.pop()
        module = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (module or symbol.is_global()):
                free.add(symbol.get_name())
        waiting.extend(scope.get_children())
    return free


@lru_cache(maxsize=_KEPT)
def bound(tree: ast.Module) -> frozenset[str]:
    """Names bound at module level, inside its loops, conditions and so on, and by ``global`` in functions."""
    bound_names: set[str] = set()
    for node in module_level(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound_names.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound_names.update((alias.asname or alias.name.partition(".")[0]) for alias in names)
            case ast.Name(id=name, ctx=ast.Store()) | ast.ExceptHandler(name=str(name)):
                bound_names.add(name)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound_names.add(name)
            case _:
                continue
    for node in nodes(tree):
        if isinstance(node, ast.Global):
            bound_names.update(node.names)
    return frozenset(bound_names)


def module_level(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes that run when the script runs, whatever is called: functions and classes are not entered."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting.extend(node.decorator_list)
        elif isinstance(node, ast.comprehension):
            waiting += [node.iter, *node.ifs]
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _outside(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith)
        for node in module_level(tree)
        if not isinstance(node, ast.Lambda)
    )


@lru_cache(maxsize=_KEPT)
def aliases(tree: ast.Module) -> Mapping[str, str]:
    """Full dotted name by bound name, from all imports: ``nn`` -> ``torch.nn``."""
    full: dict[str, str] = {}
    for node in nodes(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    root = alias.name.partition(".")[0]
                    full[alias.asname or root] = alias.name if alias.asname else root
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    if alias.name != "*":
                        full[alias.asname or alias.name] = f"{module}.{alias.name}"
            case _:
                continue
    return full


def dotted(node: ast.AST, known: Mapping[str, str]) -> str:
    """Full dotted name of a name or attribute; with a leading dot where it begins with another expression.

    ``torch.cuda.synchronize`` for ``th.cuda.synchronize`` under ``import torch as th``; ``.cuda`` for ``f(x).cuda``.
    """
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(known.get(node.id, node.id))
    else:
        parts = [*parts[:1], ""]
    return ".".join(reversed(parts))


def last_name(call: ast.Call) -> str:
    """Last part of the name of what is called: ``relu`` for ``torch.relu(x)``; empty for a call of a call."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))
