"""The ways of an exception through a handler, and whether one of them takes it whatever its words are."""

from __future__ import annotations

import ast
from enum import Enum, auto
from typing import TYPE_CHECKING

from torch_embers.repro.names import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.repro.checks.words import Words

_SKIP = 125
_LEAVING = ("os._exit", "sys.exit", "exit", "quit")
_ASSERTING = ("assertIn", "assertRegex")


class _Way(Enum):
    """What becomes of an exception with unknown words."""

    TAKEN = auto()
    """A statement decides by it."""
    ENDED = auto()
    """It is raised again, ends with 125, or its words are known from here on."""
    OPEN = auto()
    """It comes out behind the statements."""


def lets_through(body: Sequence[ast.stmt], words: Words) -> bool:
    """Whether an exception with any words is taken for right or wrong by a handler with these statements."""
    return _way(body, words) is not _Way.ENDED


def asks_anywhere(node: ast.AST, words: Words) -> bool:
    """Whether any test or value below a node tells that the words are there."""
    for part in ast.walk(node):
        words.note(part)
        tests = [part.test] if isinstance(part, ast.If | ast.IfExp | ast.Assert) else []
        if isinstance(part, ast.Return) and part.value:
            tests = [part.value]
        answers = [words.answer(test) for test in tests]
        if any(answer.if_true or answer.if_false for answer in answers):
            return True
        if isinstance(part, ast.Expr) and _asserts(part, words):
            return True
    return False


def _way(body: Sequence[ast.stmt], words: Words) -> _Way:
    for statement in body:
        words.note(statement)
        way = _of_statement(statement, words)
        if way is not _Way.OPEN:
            return way
    return _Way.OPEN


def _of_statement(statement: ast.stmt, words: Words) -> _Way:
    if isinstance(statement, ast.If):
        answer = words.answer(statement.test)
        branches = ((statement.body, answer.if_true), (statement.orelse, answer.if_false))
        return _joined([_way(branch, words) for branch, is_known in branches if not is_known])
    if isinstance(statement, ast.Match):
        return _of_match(statement, words)
    if isinstance(statement, ast.With | ast.AsyncWith):
        return _way(statement.body, words)
    if isinstance(statement, ast.Try | ast.TryStar):
        return _way([*statement.body, *statement.orelse, *statement.finalbody], words)
    if isinstance(statement, ast.For | ast.AsyncFor | ast.While):  # perhaps not run at all
        return _Way.TAKEN if _way(statement.body, words) is _Way.TAKEN else _Way.OPEN
    if _chooses(statement, words) or _asserts(statement, words) or _skips(statement):
        return _Way.ENDED
    if isinstance(statement, ast.Raise):
        return _Way.TAKEN if "SystemExit" in map(last_name, _calls(statement)) else _Way.ENDED
    leaves = isinstance(statement, ast.Expr) and any(dotted(call.func, {}) in _LEAVING for call in _calls(statement))
    return _Way.TAKEN if leaves or isinstance(statement, ast.Return | ast.Continue | ast.Break) else _Way.OPEN


def _of_match(match: ast.Match, words: Words) -> _Way:
    """A `match` over the words knows them in each case but the last one, which takes all."""
    is_asked = words.is_message(match.subject)
    ways = [_way(case.body, words) for case in match.cases if not is_asked or _takes_all(case)]
    is_whole = any(_takes_all(case) for case in match.cases)
    return _joined(ways if is_whole else [*ways, _Way.OPEN])


def _takes_all(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None


def _joined(ways: Sequence[_Way]) -> _Way:
    if _Way.TAKEN in ways:
        return _Way.TAKEN
    return _Way.OPEN if _Way.OPEN in ways else _Way.ENDED


def _chooses(statement: ast.stmt, words: Words) -> bool:
    """Whether a value is chosen by the words."""
    choices = (node for node in ast.walk(statement) if isinstance(node, ast.IfExp))
    return any(answer.if_true or answer.if_false for answer in (words.answer(choice.test) for choice in choices))


def _asserts(statement: ast.stmt, words: Words) -> bool:
    if isinstance(statement, ast.Assert):
        return words.answer(statement.test).if_true
    calls = _calls(statement) if isinstance(statement, ast.Expr) else ()
    return any(last_name(call) in _ASSERTING and any(map(words.is_message, call.args)) for call in calls)


def _skips(statement: ast.stmt) -> bool:
    """Whether a statement returns 125, puts it into names, or leaves with it."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        is_end = dotted(statement.value.func, {}) in _LEAVING
        return is_end and any(_is_skip(argument) for argument in statement.value.args)
    value = statement.value if isinstance(statement, ast.Return | ast.Assign) else None
    return isinstance(value, ast.Tuple) and bool(value.elts) and _is_skip(value.elts[0])


def _is_skip(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == _SKIP


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    return (node for node in ast.walk(statement) if isinstance(node, ast.Call))
