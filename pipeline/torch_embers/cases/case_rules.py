"""What a case must look like so that its verdicts mean something, read from the syntax tree; no case is run.

**The injected fault** is one line, ``x = spoil(x)`` behind the call under test, or ``spoil(None)`` where the fault ends
the process. ``spoil`` stands in the header in one form. A fault before the call, or in its place, would show that a
branch exists; it would show nothing about the check of the real result.

**A refusal** is right behaviour by its type and its words: a handler that takes any message would call a missing
interface or a full memory right.
"""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints

from torch_embers.cases.case import FAULT, SPOIL, is_fault
from torch_embers.extract.names import last_name
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import UnionType

    from torch_embers.cases.case import Case

FILE = "case_rules.toml"
_HEADER = f'''def {SPOIL}(observed):
    if os.environ.get("{FAULT}") == "1":
        pass
    return observed
'''
"""The form of the function: what stands in place of ``pass`` is the fault of the case."""
_ABSENT = ("ImportError", "ModuleNotFoundError")
"""A release without the module: that refuses no call."""
_SKIP = 125
_ENDING = frozenset({"exit", "_exit", "quit", "print", "write"})
"""Calls that would state a verdict in place of what is observed."""

Stated = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Allowed(Entry):
    case: Stated
    caught: Stated
    reason: Stated


class _Rules(Entry):
    making: frozenset[str]
    making_reason: Stated
    arranging: frozenset[str]
    arranging_reason: Stated
    looking: frozenset[str]
    looking_reason: Stated
    references: frozenset[str]
    references_reason: Stated
    allowed: tuple[_Allowed, ...]


@cache
def _rules() -> _Rules:
    return load(_Rules, FILE)


def breaches(code: str, name: str) -> list[str]:
    """What is wrong with a case, each with its line and what to do; empty where nothing is.

    Args:
        code: the whole file; it must be Python.
        name: of the case: data/case_rules.toml allows single handlers of some.
    """
    try:
        tree = ast.parse(code)
        allowed = {entry.caught for entry in _rules().allowed if entry.case == name}
        handlers = [(line, text) for line, caught, text in _open_handlers(tree) if caught not in allowed]
        return [f"line {line}: {text}" for line, text in sorted({*_of_fault(tree), *handlers})]
    except (RecursionError, MemoryError):
        return ["line 1: an expression is nested too deeply to be read: split it"]


def needless(bank: Sequence[Case]) -> list[str]:
    """Entries of data/case_rules.toml that allow a handler which no case has, or which needs no leave."""
    found = {(case.name, caught) for case in bank for _, caught, _ in _open_handlers(ast.parse(case.code))}
    stale = [entry for entry in _rules().allowed if (entry.case, entry.caught) not in found]
    return [f"data/{FILE}: {entry.case} has no such `except {entry.caught}`: take the entry out" for entry in stale]


def _of_fault(tree: ast.Module) -> Iterator[tuple[int, str]]:
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in prose]
    texts = [(node.lineno, str(node.value)) for node in constants if FAULT in str(node.value)]
    programs = [(line, program) for line, text in texts if (program := _program(text)) is not None]
    for first, program in programs:  # that the case gives to a process of its own
        for line, text in _of_fault(program):
            yield first + line - 1, text
    if programs:
        return
    header = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == SPOIL), None)
    if header is None:
        line = texts[0][0] if texts else 1
        yield line, f"no function `{SPOIL}` puts in the fault: docs/cases.md, `How a fault is injected`, has its form"
        return
    if not _has_form(header):
        yield header.lineno, f"`{SPOIL}` has not the form of docs/cases.md, `How a fault is injected`"
    inside = range(header.lineno, (header.end_lineno or 0) + 1)
    yield from ((line, f"{FAULT} is read outside of `{SPOIL}`") for line, _ in texts if line not in inside)
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and is_fault(node)]
    named = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == SPOIL]
    if len(lines) == 1 and len(named) == 1:
        yield from _of_line(tree, lines[0])
    else:
        wanted = f"one line `x = {SPOIL}(x)` or `{SPOIL}(None)` is wanted, and no other use"
        yield max(named, default=header.lineno), wanted


def _program(text: str) -> ast.Module | None:
    """A program with a fault of its own in a text; None where the text is none."""
    try:
        return ast.parse(textwrap.dedent(text)) if f"def {SPOIL}(" in text else None
    except SyntaxError:
        return None


def _has_form(header: ast.FunctionDef) -> bool:
    body = header.body[1:] if ast.get_docstring(header) else header.body
    if len(body) != 2 or not isinstance(body[0], ast.If):
        return False
    fault = [node for statement in body[0].body for node in ast.walk(statement)]
    ends = [node for node in fault if isinstance(node, ast.Call) and last_name(node) in _ENDING]
    if ends or any(isinstance(node, ast.Return) for node in fault):
        return False  # it would state the verdict
    frame = [ast.If(body[0].test, [ast.Pass()], body[0].orelse), body[1]]
    plain = ast.FunctionDef(SPOIL, header.args, frame, [], lineno=1)
    return ast.unparse(plain).strip() == ast.unparse(ast.parse(_HEADER)).strip()


def _of_line(tree: ast.Module, line: ast.stmt) -> Iterator[tuple[int, str]]:
    statements = _statements_around(tree, line)
    own = frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    before = _Flow([one for one in statements if one.lineno < line.lineno], own)
    behind = _Flow([one for one in statements if one.lineno > line.lineno], own)
    if not isinstance(line, ast.Assign):
        late = _Flow(_block(tree, line), own).works
        if not before.works:
            yield line.lineno, "no call comes before the fault: put it behind the call under test"
        elif late and late[-1].lineno > line.lineno:
            yield line.lineno, "the fault leaves before the call behind it: put it behind the call under test"
        return
    name = ast.unparse(line.targets[0])
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While) and line in ast.walk(node)]
    again = _Flow([one for loop in loops for one in _own_statements(loop) if one is not line], own)
    if name in _rules().references:
        yield line.lineno, f"the fault spoils {name}: spoil what the call under test gave"
    elif name not in before.gave | before.made:
        yield line.lineno, f"no call before the fault gave {name} or wrote to it: spoil what the call under test gave"
    elif name in behind.taken or (name not in before.gave and name in behind.computed):
        yield line.lineno, f"a call behind the fault takes {name}: spoil what the call under test gives, behind it"
    elif name not in behind.read | again.read:
        yield line.lineno, f"no test looks at {name} behind the fault"


def _statements_around(tree: ast.Module, line: ast.stmt) -> list[ast.stmt]:
    """All statements of the innermost function with the line, or of the program, in order; none of functions within."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and line in ast.walk(n)]
    inner = functions[-1] if functions else tree
    return sorted(_own_statements(inner), key=lambda one: one.lineno)


def _block(tree: ast.Module, line: ast.stmt) -> list[ast.stmt]:
    """The list of statements that the line stands in."""
    lists = (value for node in ast.walk(tree) for _, value in ast.iter_fields(node) if isinstance(value, list))
    return next(block for block in lists if line in block)


def _own_statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _own_statements(child)


@dataclass
class _Flow:
    """What became of names in statements, in their order.

    Attributes:
        own: functions that the case defines.
        works: statements with a call or an operator that could be what is tested.
        gave: names that such a call or operator gave or wrote to, or that were made of these.
        made: names of plain tensors that were only made.
        read: names that are looked at; what only stands in the message of a verdict is not.
        taken: names that a call takes which could be what is tested.
        computed: names that an operator takes.
    """

    statements: list[ast.stmt]
    own: frozenset[str]
    works: list[ast.stmt] = field(default_factory=list)
    gave: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)
    computed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        rules = _rules()
        for statement in self.statements:
            parts = [part for top in _parts(statement) for part in ast.walk(top)]
            calls = {part: last_name(part) for part in parts if isinstance(part, ast.Call)}
            tested = [
                call for call, name in calls.items() if name not in rules.making | rules.looking | rules.arranging
            ]
            operators = [part for part in parts if _is_operator(part)]
            loaded, stored = _names(parts, ast.Load | ast.Del), _names(parts, ast.Store)
            if not _is_message(statement):
                self.read |= loaded
            self.taken |= _names(
                [part for one in tested if calls[one] not in self.own for part in ast.walk(one)], ast.Load
            )
            self.computed |= _names([part for one in operators for part in ast.walk(one)], ast.Load)
            if tested or operators:
                self.works.append(statement)
            if tested or operators or set(calls.values()) - rules.making or loaded & self.gave:
                self.gave |= stored | (loaded if calls or operators else set())
            elif calls or loaded & self.made:
                self.made |= stored | loaded


def _names(parts: Iterable[ast.AST], context: UnionType | type) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, context)}


def _is_message(statement: ast.stmt) -> bool:
    """Whether a statement returns a verdict that is written out, with a message."""
    value = statement.value if isinstance(statement, ast.Return) else None
    return isinstance(value, ast.Tuple) and isinstance(value.elts[0], ast.Constant)


def _parts(statement: ast.stmt) -> list[ast.AST]:
    """What a statement itself runs: of one around others its head, of a definition nothing."""
    if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom):
        return []
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt | ast.ExceptHandler)]


def _is_operator(node: ast.AST) -> bool:
    """Whether an operator or an index could be what is tested; putting values into a text is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.BinOp):
        return False
    if isinstance(node, ast.Subscript):
        return isinstance(node.ctx, ast.Load)
    is_sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.USub)
    return is_sign or isinstance(node, ast.BinOp)


def _open_handlers(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Line, caught types and what to do, of handlers that take any message."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and last_name(node) == "suppress":
            yield node.lineno, "suppress", "`suppress` takes any message: use `except`, and ask is_refusal(error)"
        if isinstance(node, ast.Try) and any(isinstance(part, ast.Return) for part in node.finalbody):
            yield (
                node.finalbody[0].lineno,
                "finally",
                "a `finally` that returns swallows every exception; return behind it",
            )
        if (
            not isinstance(node, ast.ExceptHandler)
            or (caught := ast.unparse(node.type) if node.type else "") in _ABSENT
        ):
            continue
        inside = list(ast.walk(node))
        calls = {last_name(part) for part in inside if isinstance(part, ast.Call)}
        skips = any(isinstance(part, ast.Constant) and part.value == _SKIP for part in inside)
        if not (skips or "is_refusal" in calls or any(isinstance(part, ast.Raise) and not part.exc for part in inside)):
            yield (
                node.lineno,
                caught,
                f"`except {caught}` takes any message: ask is_refusal(error), raise the others again",
            )
