"""A test file as a list of statements with the names that they give, and the tests that a commit changes in it. Pure.

Texts are parsed, never run. Scripts are cut out of the text by whole lines, so that comments that mean something (types
for TorchScript) stay.
"""

from __future__ import annotations

import ast
import textwrap
import tokenize
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Literal, NamedTuple

from torch_embers.extract.names import dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser says of a text that it cannot read, and a walk of one that is nested too deeply."""


@dataclass(slots=True)
class ParsedFile:
    """A parsed file.

    Attributes:
        lines: its text, by line.
        body: its statements.
        gives: for each name of the module, the positions in ``body`` that bind it.
        classes: classes of the module by name, those within ``if`` and ``try`` too.
        tests: test methods by class and name.
    """

    lines: list[str]
    body: list[ast.stmt]
    gives: dict[str, list[int]] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    tests: dict[tuple[str, str], Function] = field(default_factory=dict)

    def text(self, node: ast.stmt) -> str:
        """The lines of a statement, decorators included."""
        return "\n".join(self.lines[first_line(node) - 1 : last_line(node)])

    def method(self, node: Function | ast.ClassDef) -> str:
        """The text of a method or class without its indent."""
        return textwrap.dedent(self.text(node))


class ChangedTest(NamedTuple):
    """A test that differs from the one in the parent; ``shape`` is its syntax tree without its name."""

    owner: str
    name: str
    change: Literal["added", "changed"]
    shape: str


def read(content: bytes) -> ParsedFile:
    """Parse a file in the encoding that it declares; its lines end as on Linux.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the parser cannot read it.
    """
    encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
    try:
        text = content.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except LookupError as error:  # a codec that gives no text: rot13, hex, zlib
        raise ValueError(f"{encoding} is no encoding of text") from error
    found = ParsedFile(text.split("\n"), ast.parse(text).body)
    for place, statement in enumerate(found.body):
        for node in _own_nodes(statement):
            for name in _bound(node):
                found.gives.setdefault(name, []).append(place)
            if isinstance(node, ast.ClassDef):
                found.classes[node.name] = node
    for owner, node in found.classes.items():
        found.tests |= {
            (owner, member.name): member
            for member in node.body
            if isinstance(member, Function) and member.name.startswith("test")
        }
    return found


def changed_tests(before: ParsedFile | None, after: ParsedFile) -> list[ChangedTest]:
    """The tests of a file that are not in its parent, or differ there; white space and comments are no change.

    A helper that changes does not count for the tests that call it.

    Args:
        before: the file in the parent; None where it is new.
        after: the file in the commit.

    Raises:
        RecursionError: a test is nested too deeply.
    """
    found = []
    for key, node in after.tests.items():
        old = before.tests.get(key) if before else None
        if before is None or old is None:
            found.append(ChangedTest(*key, "added", _shape(node)))
        elif after.text(node) != before.text(old) and (shape := _shape(node)) != _shape(old):
            found.append(ChangedTest(*key, "changed", shape))
    return found


def gone_tests(before: ParsedFile | None, after: ParsedFile) -> set[str]:
    """The tests that a file has no more, as syntax trees without their names.

    Raises:
        RecursionError: a test is nested too deeply.
    """
    return {_shape(node) for key, node in (before.tests if before else {}).items() if key not in after.tests}


def first_line(node: ast.stmt) -> int:
    """Its first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.stmt) -> int:
    """Its last line."""
    return node.end_lineno or node.lineno


def called(node: ast.AST) -> str:
    """``a.b.c`` of a name, an attribute, or a call of either."""
    return dotted(node.func if isinstance(node, ast.Call) else node, {})


def given_name(alias: ast.alias) -> str:
    """The name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that belong to its scope, in their order: of a function or a class the head alone."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo += reversed(list(ast.iter_child_nodes(node)))


def _bound(node: ast.AST) -> Iterator[str]:
    """Names that a node binds in its scope."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, Import):
        yield from map(given_name, node.names)
    elif isinstance(node, Function | ast.ClassDef) or (isinstance(node, ast.ExceptHandler) and node.name):
        yield str(node.name)


def _shape(node: Function) -> str:
    parts: list[ast.AST] = [*node.decorator_list, node.args, *node.body]
    return "\n".join(map(ast.dump, parts))
