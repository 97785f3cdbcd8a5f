"""Whether a case takes just any exception for right behaviour.

A call that must not be made is rightly refused by an exception of the expected type with the expected words. Any other
exception (no memory, a missing interface, an internal error) says nothing, and the case is to end with 125. The rule is
read from the syntax tree, no case is run: every handler either looks at the message, raises again, or ends with 125.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch_embers.repro.case import Case

FILE = "refusals.toml"
HELPER = "is_refusal"
"""Function of a case that tells the due refusal from other exceptions, by type and words."""
_SKIP = 125
_ABSENT = ("ImportError", "ModuleNotFoundError")
"""A release without the module: that refuses no call."""
_ANY = ("", "Exception", "BaseException")


@dataclass(frozen=True, slots=True, order=True)
class Handler:
    """A handler that takes exceptions without looking at their message.

    Attributes:
        line: of the file, from 1.
        caught: what stands behind ``except``; empty where nothing does.
    """

    case: str
    line: int
    caught: str

    def __str__(self) -> str:
        """The handler in one line, with what to do."""
        return (
            f"{self.case}: line {self.line}: `except {self.caught}` takes any message; "
            f"test type and words ({HELPER}), raise the others again"
        )


class Exemption(Entry):
    """A handler that may stay as it is."""

    case: str
    caught: str
    reason: str


class _File(Entry):
    exception: tuple[Exemption, ...]


def exemptions() -> tuple[Exemption, ...]:
    """The handlers of data/refusals.toml.

    Raises:
        InputError: the file is missing or an entry is wrong.
    """
    return load(_File, FILE).exception


def unnamed(case: Case) -> list[Handler]:
    """Handlers of a case that take exceptions whose message they do not look at, in the order of their lines."""
    tree = ast.parse(case.code)
    helpers = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and _names_type_and_words(node)
    }
    handlers = sorted((h for h in ast.walk(tree) if isinstance(h, ast.ExceptHandler)), key=lambda h: h.lineno)
    found = []
    for handler in handlers:
        caught = ast.unparse(handler.type) if handler.type else ""
        if not (caught in _ABSENT or _looks_at_message(handler, helpers) or _decides_nothing(handler, caught)):
            found.append(Handler(case.name, handler.lineno, caught))
    return found


def check(cases: Iterable[Case]) -> list[Handler]:
    """Unnamed refusals of cases, without those of data/refusals.toml.

    Raises:
        InputError: the file is missing or wrong, or names a handler that does not exist.
    """
    allowed = {(e.case, e.caught) for e in exemptions()}
    found = [handler for case in cases for handler in unnamed(case)]
    if stale := sorted(allowed - {(handler.case, handler.caught) for handler in found}):
        raise InputError(f"data/{FILE}: {stale[0][0]} has no unnamed `except {stale[0][1]}`: take the entry out")
    return [handler for handler in found if (handler.case, handler.caught) not in allowed]


def _looks_at_message(handler: ast.ExceptHandler, helpers: set[str]) -> bool:
    """Whether a test in the handler asks for words of the exception's message."""
    tests = [node.test for node in ast.walk(handler) if isinstance(node, ast.If | ast.IfExp)]
    return any(_asks(node, handler.name, helpers) for test in tests for node in ast.walk(test))


def _asks(node: ast.AST, name: str | None, helpers: set[str]) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in helpers
    return isinstance(node, ast.Compare) and any(_is_message(part, name) for part in node.comparators)


def _is_message(node: ast.AST, name: str | None) -> bool:
    """``str(error)``, where ``error`` is this name; any name where none is given."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "str"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in (name or node.args[0].id,)
    )


def _names_type_and_words(function: ast.FunctionDef) -> bool:
    """Whether a function asks for the type of an exception and for words of its message."""
    calls = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    compared = (part for node in ast.walk(function) if isinstance(node, ast.Compare) for part in node.comparators)
    return "isinstance" in calls and any(_is_message(part, None) for part in compared)


def _decides_nothing(handler: ast.ExceptHandler, caught: str) -> bool:
    """Whether it ends with 125, or raises again whatever comes."""
    if any(_gives(node, _SKIP) for node in handler.body):
        return True
    return caught not in _ANY and isinstance(handler.body[-1], ast.Raise) and len(handler.body) == 1


def _gives(node: ast.stmt, code: int) -> bool:
    """Whether a statement returns, or puts into names, a pair that begins with an exit code."""
    value = node.value if isinstance(node, ast.Return | ast.Assign) else None
    if not isinstance(value, ast.Tuple) or not value.elts:
        return False
    return isinstance(value.elts[0], ast.Constant) and value.elts[0].value == code
