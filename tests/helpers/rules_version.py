"""What the tests in test_rules_version.py share."""

from __future__ import annotations

import ast
from hashlib import blake2b
from typing import Any

FORM = {"annotation", "returns", "type_comment", "type_params", "kind", "ctx"}
"""Fields of the syntax tree that change nothing of what is done, or are not the same in every Python."""


def is_prose(node: Any) -> bool:
    """Docstrings, and imports for type checkers."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return True
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def normal(node: Any) -> Any:
    """A syntax tree as plain lists, without places, prose and annotations."""
    if isinstance(node, ast.AST):
        fields = [(name, normal(value)) for name, value in ast.iter_fields(node) if name not in FORM]
        return [type(node).__name__, *((name, value) for name, value in fields if value not in ("None", []))]
    if isinstance(node, list):
        return [normal(part) for part in node if not is_prose(part)]
    return repr(node)


def digest(sources: list[str]) -> str:
    found = blake2b(digest_size=8)
    for source in sources:
        found.update(repr(normal(ast.parse(source))).encode())
    return found.hexdigest()
