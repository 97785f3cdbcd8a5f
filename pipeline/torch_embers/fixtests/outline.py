"""A test file as a list of statements with the names that they give and need. Pure; texts are parsed, never run.

Scripts are cut out of the text by whole lines, so that comments that mean something (types for TorchScript) stay.
"""

from __future__ import annotations

import ast
import textwrap
import tokenize
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING

from torch_embers.extract.names import dotted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.ClassDef, ast.Lambda)


@dataclass(slots=True)
class Outline:
    """A parsed file.

    Attributes:
        lines: its text, by line.
        body: its statements.
        gives: for each name of the module, the positions in ``body`` that bind it.
        classes: classes of the module by name, those within ``if`` and ``try`` too.
    """

    lines: list[str]
    body: list[ast.stmt]
    gives: dict[str, list[int]] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)

    def text(self, first: int, last: int) -> str:
        """Lines ``first`` to ``last``, from 1, both included."""
        return "\n".join(self.lines[first - 1 : last])

    def method(self, node: Function) -> str:
        """The text of a method, decorators included, without the indent of its class."""
        return textwrap.dedent(self.text(first_line(node), last_line(node)))


def source_text(content: bytes) -> str:
    """The text of a file as Python reads it: in the encoding that it declares, lines end as on Linux.

    Raises:
        SyntaxError, ValueError: it declares none that is known, or is not written in it.
    """
    encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
    try:
        text = content.decode(encoding)
    except LookupError as error:  # a codec that gives no text: rot13, hex, zlib
        raise ValueError(f"{encoding} is no encoding of text") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read(text: str, parsed: str | None = None) -> Outline:
    """Parse a file.

    Args:
        text: the file.
        parsed: the text that is parsed instead, with the same lines; scripts are cut out of ``text`` all the same.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the parser cannot read it.
    """
    tree = ast.parse(text if parsed is None else parsed)
    found = Outline(text.split("\n"), tree.body)
    for place, statement in enumerate(tree.body):
        for name in bound(statement):
            found.gives.setdefault(name, []).append(place)
        for inner in _statements(statement):
            if isinstance(inner, ast.ClassDef):
                found.classes[inner.name] = inner
    return found


def first_line(node: ast.stmt) -> int:
    """Its first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt) -> int:
    """Its last line."""
    return node.end_lineno or node.lineno


def bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds in its scope."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield statement.name
        return
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)) or (isinstance(node, ast.ExceptHandler) and node.name):
            yield str(node.name)
        if not isinstance(node, _SCOPES):
            todo += ast.iter_child_nodes(node)


def needed(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that are read anywhere in these nodes; names of their own variables are among them."""
    return {node.id for root in nodes for node in ast.walk(root) if isinstance(node, ast.Name) and node.id != "self"}


def called(node: ast.AST) -> str:
    """``a.b.c`` of a name, an attribute, or a call of either."""
    return dotted(node.func if isinstance(node, ast.Call) else node, {})


def named_tests(outline: Outline) -> dict[tuple[str, str], Function]:
    """The test methods of a file by class and name."""
    return {
        (name, member.name): member
        for name, owner in outline.classes.items()
        for member in owner.body
        if isinstance(member, FUNCTIONS) and member.name.startswith("test")
    }


def _statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, and those within it that belong to the same scope."""
    yield statement
    if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
        for part in ("body", "orelse", "finalbody"):
            for inner in getattr(statement, part, ()):
                yield from _statements(inner)
        for handler in getattr(statement, "handlers", ()):
            for inner in handler.body:
                yield from _statements(inner)
