"""What a case must look like so that its verdicts mean something, read from the syntax tree; no case is run.

**The injected fault** is one line, ``x = spoil(x)`` behind the call under test, or ``spoil(None)`` where the fault ends
the process. ``spoil`` stands in the header in one form. A fault before the call, or in its place, would show that a
branch exists; it would show nothing about the check of the real result.

**A refusal** is right behaviour by its type and its words: a handler that takes any message would call a missing
interface or a full memory right.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints

from torch_embers.repro.case import FAULT, SPOIL, is_fault
from torch_embers.repro.names import last_name
from torch_embers.toml_models import Entry, load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.repro.case import Case

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
    constants = [(node.lineno, str(node.value)) for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [(line, text) for line, text in constants if FAULT in text]
    programs = [(line, text) for line, text in texts if f"def {SPOIL}(" in text]
    for first, program in programs:  # that the case gives to a process of its own
        for line, text in _of_fault(ast.parse(program)):
            yield first + line - 1, text
    if programs:
        return
    lines = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and is_fault(node)]
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == SPOIL]
    header = next((node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == SPOIL), None)
    if header is None or not _has_form(header) or len(texts) - (FAULT in (ast.get_docstring(header) or "")) != 1:
        yield 1, f"`{SPOIL}` is missing or has not the form of docs/cases.md, or {FAULT} is read elsewhere"
    elif len(lines) != 1 or len(named) != 1:
        yield 1, f"the fault needs one line `x = {SPOIL}(x)` or `{SPOIL}(None)`, and no other use of `{SPOIL}`"
    else:
        yield from _of_line(tree, lines[0])


def _has_form(header: ast.FunctionDef) -> bool:
    body = header.body[1:] if ast.get_docstring(header) else header.body
    if len(body) != 2 or not isinstance(body[0], ast.If):
        return False
    plain = ast.If(body[0].test, [ast.Pass()], body[0].orelse)
    return (
        ast.unparse(ast.FunctionDef(SPOIL, header.args, [plain, body[1]], [], lineno=1)) + "\n"
        == ast.unparse(ast.parse(_HEADER)) + "\n"
    )


def _of_line(tree: ast.Module, line: ast.stmt) -> Iterator[tuple[int, str]]:
    statements = _statements_around(tree, line)
    before = _Flow([one for one in statements if one.lineno < line.lineno])
    behind = _Flow([one for one in statements if one.lineno > line.lineno])
    if isinstance(line, ast.Expr):
        late = _Flow(_block(tree, line)).works
        if not before.works:
            yield line.lineno, "no call comes before the fault: put it behind the call under test"
        elif late and late[-1].lineno > line.lineno:
            yield line.lineno, "the fault leaves before the call behind it: put it behind the call under test"
        return
    name = line.targets[0].id  # type: ignore[attr-defined]
    if name in _rules().references:
        yield line.lineno, f"the fault spoils {name}: spoil what the call under test gave"
    elif name not in before.gave | before.arranged:
        yield line.lineno, f"no call before the fault gave {name} or wrote to it: spoil what the call under test gave"
    elif name not in before.gave and name in behind.taken:
        yield line.lineno, f"the fault changes {name}, an input of a later call: spoil what that call gives"
    elif name not in behind.read:
        yield line.lineno, f"nothing looks at {name} after the fault"


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
        works: statements with a call, an operator or an index that could be what is tested.
        gave: names that such a call gave or wrote to, or that were made of these.
        arranged: names of inputs that were only transposed or converted.
        read: names that are looked at.
        taken: names that such a call takes.
    """

    statements: list[ast.stmt]
    works: list[ast.stmt] = field(default_factory=list)
    gave: set[str] = field(default_factory=set)
    arranged: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        for statement in self.statements:
            parts = [part for top in _parts(statement) for part in ast.walk(top)]
            names = [part for part in parts if isinstance(part, ast.Name)]
            loaded = {part.id for part in names if isinstance(part.ctx, ast.Load | ast.Del)}
            stored = {part.id for part in names if isinstance(part.ctx, ast.Store)}
            called = {last_name(part) for part in parts if isinstance(part, ast.Call)}
            self.read |= loaded
            rules = _rules()
            if called - rules.making - rules.looking - rules.arranging or any(map(_is_operator, parts)):
                self.works.append(statement)
                self.gave |= stored | loaded
                self.taken |= loaded
            elif loaded & self.gave:
                self.gave |= stored
            elif called & rules.arranging or loaded & self.arranged:
                self.arranged |= stored | loaded


def _parts(statement: ast.stmt) -> list[ast.AST]:
    """What a statement itself runs: of one around others its head, of a definition nothing."""
    if isinstance(statement, ast.FunctionDef | ast.Import | ast.ImportFrom):
        return []
    return [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt | ast.ExceptHandler)]


def _is_operator(node: ast.AST) -> bool:
    """Whether an operator or an index could be what is tested; putting values into a text is none."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant | ast.BinOp):
        return False
    is_sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert | ast.USub)
    return is_sign or isinstance(node, ast.BinOp | ast.Subscript)


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
