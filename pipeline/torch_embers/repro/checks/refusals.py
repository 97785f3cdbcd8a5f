"""Whether a case takes just any exception for right behaviour.

A call that must not be made is rightly refused by an exception of the expected type with the expected words. Any other
exception (no memory, a missing interface, an internal error) says nothing, and the case is to end with 125. The rule is
read from the syntax tree, no case is run: every way through a handler asks for the words, raises again, or ends with
125. `contextlib.suppress` and `raises(...)` without words are handlers like others.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.repro.checks.flow import asks_anywhere, lets_through
from torch_embers.repro.checks.words import Words
from torch_embers.repro.names import last_name
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_embers.repro.case import Case

FILE = "refusals.toml"
FINALLY = "finally"
"""Stands for what was caught by a `finally` that returns: that swallows every exception."""
HELPER = "is_refusal"
"""Function of a case that tells the due refusal from other exceptions, by type and words."""
_ABSENT = ("ImportError", "ModuleNotFoundError")
"""A release without the module: that refuses no call."""
_RAISES = ("raises", "assertRaises")
"""Contexts that expect an exception and swallow it."""


@dataclass(frozen=True, slots=True, order=True)
class Handler:
    """A handler that takes exceptions without looking at their message.

    Attributes:
        line: of the file, from 1.
        caught: what stands behind ``except``, or in the brackets of ``suppress`` and ``raises``; empty where nothing
            does.
    """

    case: str
    line: int
    caught: str

    def __str__(self) -> str:
        """The handler in one line, with what to do."""
        if self.caught == FINALLY:
            return f"{self.case}: line {self.line}: a `finally` that leaves swallows every exception; leave behind it"
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
    telling: frozenset[str]
    telling_reason: str
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
    telling = load(_File, FILE).telling
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    helpers = frozenset(node.name for node in functions if _names_type_and_words(node))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else ""
            words = Words({node.name} if node.name else set(), helpers, telling)
            if caught not in _ABSENT and lets_through(node.body, words):
                found.append(Handler(case.name, node.lineno, caught))
        elif isinstance(node, ast.Try | ast.TryStar) and any(map(_ends_it, node.finalbody)):
            found.append(Handler(case.name, node.finalbody[0].lineno, FINALLY))
        elif isinstance(node, ast.With | ast.AsyncWith):
            found += [Handler(case.name, node.lineno, caught) for caught in _contexts(node, tree, helpers)]
    return sorted(found, key=lambda handler: handler.line)


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


def _ends_it(statement: ast.stmt) -> bool:
    """Whether a statement of a `finally` leaves it, so that no exception goes on."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    own_loop = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
    if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break | ast.Continue) and not own_loop):
        return True
    return any(_ends_it(part) for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt))


def _contexts(context: ast.With | ast.AsyncWith, tree: ast.Module, helpers: frozenset[str]) -> Iterator[str]:
    """What contexts swallow without a look at the words: those of `suppress`, and of `raises` without words."""
    for item in context.items:
        call = item.context_expr
        if not isinstance(call, ast.Call):
            continue
        caught = ", ".join(ast.unparse(argument) for argument in call.args)
        swallows = last_name(call) == "suppress" and any(ast.unparse(argument) not in _ABSENT for argument in call.args)
        if last_name(call) in _RAISES and not any(key.arg == "match" for key in call.keywords):
            bound = {item.optional_vars.id} if isinstance(item.optional_vars, ast.Name) else set()
            swallows = not asks_anywhere(tree, Words(bound, helpers))
        if swallows:
            yield caught


def _names_type_and_words(function: ast.FunctionDef) -> bool:
    """Whether a function asks for the type of an exception and for words of its message."""
    calls = {last_name(node) for node in ast.walk(function) if isinstance(node, ast.Call)}
    words = Words({argument.arg for argument in function.args.args})
    return bool(calls & {"isinstance", "type"}) and asks_anywhere(function, words)
