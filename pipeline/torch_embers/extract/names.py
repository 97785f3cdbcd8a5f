"""What a script binds, uses and leaves undefined: Python's own symbol tables, read without running anything."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__spec__", "__builtins__", "__annotations__"}


_KEPT = 8
"""Trees whose nodes are kept: a script is looked at many times while it is completed, and trees are never changed."""


@lru_cache(maxsize=_KEPT)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree, as ``ast.walk`` gives them."""
    return tuple(ast.walk(tree))


def undefined(text: str, tree: ast.Module) -> list[str]:
    """Names that are used somewhere and bound nowhere, in order of their first use.

    The order of statements is not looked at: a name bound anywhere at module level counts as bound.

    Raises:
        SyntaxError: the text parses but cannot run (a ``return`` outside of a function), or is nested too deeply.
    """
    if _outside(tree):
        raise SyntaxError("return, yield or await outside of a function")
    module, *inner = _scopes(text)
    free = {one.get_name() for one in module.get_symbols() if one.is_referenced()}
    free |= {
        one.get_name() for scope in inner for one in scope.get_symbols() if one.is_referenced() and one.is_global()
    }
    free -= bound(text) | _KNOWN
    uses = [node for node in nodes(tree) if isinstance(node, ast.Name) and node.id in free]
    return list(dict.fromkeys(use.id for use in sorted(uses, key=lambda node: node.lineno)))


def bound(text: str) -> frozenset[str]:
    """Names bound at module level, inside its loops, conditions and so on, and by ``global`` in functions.

    Raises:
        SyntaxError: as ``undefined``.
    """
    module, *inner = _scopes(text)
    own = {one.get_name() for one in module.get_symbols() if one.is_local()}
    declared = {one.get_name() for scope in inner for one in scope.get_symbols() if one.is_declared_global()}
    return frozenset(own | declared)


@lru_cache(maxsize=_KEPT)
def _scopes(text: str) -> tuple[symtable.SymbolTable, ...]:
    """The symbol tables of a text, that of the module first."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [symtable.symtable(text, "script", "exec")]
    except (RecursionError, ValueError, MemoryError) as error:
        raise SyntaxError(str(error)) from error
    for scope in found:  # grows while it is read
        found += scope.get_children()
    return tuple(found)


def _outside(tree: ast.Module) -> bool:
    """Whether what only a function may do stands at module level."""
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return | ast.Yield | ast.YieldFrom | ast.Await | ast.AsyncFor | ast.AsyncWith):
            return True
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting.extend(node.decorator_list)
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))
    return False


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
