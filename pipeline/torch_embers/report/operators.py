"""Which operators of torch a script calls, read from its syntax tree; nothing is run."""

from __future__ import annotations

import ast
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROOT = "torch"


def operators(code: str, leave_out: frozenset[str] = frozenset()) -> list[str]:
    """Names below ``torch`` that the code takes, such as ``nn.functional.pad``, sorted; none where it cannot be parsed.

    Args:
        code: a Python script.
        leave_out: names that count as no operators; all names below them are left out, too, but those of ``nn``.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    try:
        aliases = dict(_aliases(tree))
        found = set(_longest(tree, aliases))
    except RecursionError:
        return []
    return sorted(name for name in found if name not in leave_out and name.split(".", 1)[0] not in leave_out - {"nn"})


def _aliases(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What each imported name stands for."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == _ROOT:
                    yield (name.asname, name.name) if name.asname else (_ROOT, _ROOT)
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == _ROOT:
            for name in node.names:
                yield name.asname or name.name, f"{node.module}.{name.name}"


def _longest(tree: ast.AST, aliases: dict[str, str]) -> Iterator[str]:
    """Dotted names, each in full and not its beginnings as well."""
    inner: set[int] = set()
    for node in ast.walk(tree):  # outer attributes come before what they are taken from
        if id(node) in inner:
            continue
        words: list[str] = []
        place: ast.expr | ast.AST = node
        while isinstance(place, ast.Attribute):
            words.insert(0, place.attr)
            place = place.value
            inner.add(id(place))
        if isinstance(place, ast.Name) and place.id in aliases:
            full = ".".join([aliases[place.id], *words])
            if full != _ROOT:
                yield full.removeprefix(f"{_ROOT}.")
