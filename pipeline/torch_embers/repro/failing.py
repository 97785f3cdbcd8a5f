"""The call that fails in a script: its operator and its arguments, by traceback and syntax tree. Pure.

A reduction that keeps class and message alone slides: an index that is a list of tuples becomes a number, a tensor
loses its axes, and the same words come for another reason. So what a script fails in is described, and a reduction
must keep the description: the operator, and of every argument how it is made. Names are replaced by what they are
bound to. Sizes may shrink, but keep their sign and type, numbers in arithmetic stay; lists may get shorter, but keep
what they hold.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers.extract.names import last_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_FRAME = re.compile(r'^ {2,8}File "(?:[^"\n]{0,300}/)?([^"/\n]{1,200})", line (\d{1,9})')
_MARKS = re.compile(r"^ {4}( *)([~^]{1,400})$")
_USER_CODE = "from user code:"
"""What the compiler writes before the frames of the function that it was given."""
_DEPTH = 8
"""How many names and calls are followed."""
ANY = "?"
"""What is not known: the parameter of a function that nobody calls by its name, the variable of a loop."""
OPERATIONS = (ast.Call, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Attribute)

Shape = Any
"""A description: a text, or a tuple of descriptions that begins with a text."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a script an error came from.

    Attributes:
        line: 1-based.
        start: 0-based column within the line without its indentation; None where only the line is known.
        end: the column behind it.
    """

    line: int
    start: int | None = None
    end: int | None = None


def place_of(stderr: str, file: str) -> Place | None:
    """The innermost place of a script in the traceback, or the dump of a fatal signal, that ended it.

    Args:
        stderr: error output.
        file: name of the script's file, without folder.
    """
    signal = "(most recent call first)" in stderr
    lines = stderr.split("\n")
    if _USER_CODE in stderr:
        lines = lines[max(place for place, line in enumerate(lines) if _USER_CODE in line) :]
    found = None
    for place, line in enumerate(lines):
        frame = _FRAME.match(line)
        if frame is None or frame[1] != file:
            continue
        marks = _MARKS.match(lines[place + 2]) if place + 2 < len(lines) else None
        start, end = (len(marks[1]), len(marks[1]) + len(marks[2])) if marks else (None, None)
        found = Place(int(frame[2]), start, end)
        if signal:
            break
    return found


def failing(code: str, place: Place | None) -> Shape | None:
    """Describe what fails at a place; with no place, what the script prints last.

    Args:
        code: the script.
        place: of the error; None for a script that ends by itself.

    Returns:
        None where nothing can be said.
    """
    try:
        tree = ast.parse(code)
        node = _last_printed(tree) if place is None else _at(tree, code.split("\n"), place)
        return None if node is None else _Describer(tree).shape(node, _scope(tree, node), _DEPTH)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def calls_of(code: str, names: Collection[str]) -> dict[str, tuple[Shape, ...]]:
    """Describe the calls of some functions, by the last part of the function's name.

    Args:
        code: the script.
        names: of functions.
    """
    try:
        tree = ast.parse(code)
        describer = _Describer(tree)
        found: dict[str, tuple[Shape, ...]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := last_name(node)) in names:
                found[name] = (*found.get(name, ()), describer.shape(node, _scope(tree, node), _DEPTH))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return found


def keeps_calls(wanted: Mapping[str, Sequence[Shape]], seen: Mapping[str, Sequence[Shape]]) -> bool:
    """Whether of each function at least one call is kept with its arguments."""
    return all(
        any(keeps(one, other) for one in calls for other in seen.get(name, ())) for name, calls in wanted.items()
    )


def keeps(wanted: Shape, seen: Shape) -> bool:
    """Whether a reduced script fails in the same operator with the same arguments, as far as they are known."""
    if wanted == ANY:
        return True
    if isinstance(wanted, tuple) and isinstance(seen, tuple):
        return len(wanted) == len(seen) and all(keeps(one, other) for one, other in zip(wanted, seen, strict=True))
    return bool(wanted == seen)


# --- which node -----------------------------------------------------------------------------------------------------


def _at(tree: ast.Module, lines: list[str], place: Place) -> ast.AST | None:
    """The operation at a place: the marked one, else the outermost of the statement."""
    statement = _statement(tree, place.line)
    if statement is None or place.line > len(lines):
        return None
    text = lines[place.line - 1]
    indent = len(text) - len(text.lstrip())
    if place.start is not None and place.end is not None:
        start, end = indent + place.start, indent + place.end
        for node in ast.walk(statement):
            same_start = getattr(node, "lineno", 0) == place.line and getattr(node, "col_offset", -1) == start
            if isinstance(node, OPERATIONS) and same_start:
                one_line = node.end_lineno == place.line
                if (node.end_col_offset == end) if one_line else end >= len(text.rstrip()):
                    return node
    return _value(statement, tree)


def _statement(tree: ast.Module, line: int) -> ast.stmt | None:
    """The innermost statement that a line belongs to."""
    around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= line <= (n.end_lineno or n.lineno)]
    return max(around, key=lambda n: (n.lineno, -(n.end_lineno or n.lineno)), default=None)


def _value(statement: ast.stmt, tree: ast.Module) -> ast.AST | None:
    """What a statement computes; of an assertion its test, of a raise the test that led to it."""
    match statement:
        case ast.Expr(value=value) | ast.Assign(value=value) | ast.Return(value=ast.expr() as value):
            return value
        case ast.AugAssign(target=target, op=op, value=value):
            left = ast.parse(ast.unparse(target), mode="eval").body
            return ast.copy_location(ast.BinOp(left, op, value), statement)
        case ast.AnnAssign(value=ast.expr() as value):
            return value
        case ast.Assert(test=test):
            return test
        case ast.For(iter=value) | ast.If(test=value) | ast.While(test=value):
            return value
        case ast.With(items=[ast.withitem(context_expr=value), *_]):
            return value
        case ast.Raise():
            around = [n for n in ast.walk(tree) if isinstance(n, ast.If) and statement in n.body]
            return around[-1].test if around else None
        case _:
            return None


def _last_printed(tree: ast.Module) -> ast.AST | None:
    """The last call of print that shows a value."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    shown = [call for call in calls if not all(isinstance(part, ast.Constant) for part in call.args)]
    return max(shown, key=lambda call: (call.lineno, call.col_offset), default=None)


def _scope(tree: ast.Module, node: ast.AST) -> ast.AST:
    """The innermost function that a node is in, else the module."""
    line = getattr(node, "lineno", 0)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    around = [f for f in functions if f.lineno <= line <= (f.end_lineno or f.lineno)]
    return max(around, key=lambda f: f.lineno, default=tree)


def _constant(node: ast.Constant | ast.UnaryOp) -> Shape:
    """Texts and truth values as they stand; of numbers type and sign."""
    match node:
        case ast.Constant(value=str() | bytes() | bool() | None as value):
            return repr(value)
        case ast.Constant(value=value):
            return type(value).__name__
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            return f"-{type(value).__name__}"
    return ANY


# --- what it is -----------------------------------------------------------------------------------------------------


@dataclass
class _Describer:
    """Describes expressions of one script."""

    tree: ast.Module
    _following: list[tuple[str, int]] = field(default_factory=list)

    def shape(self, node: ast.AST | None, scope: ast.AST, depth: int) -> Shape:
        """Describe an expression; ``depth`` limits how far names are followed."""
        if node is None or depth <= 0:
            return ANY
        match node:
            case ast.Constant() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return _constant(node)
            case ast.Name(id=name):
                return self._named(name, node, scope, depth)
            case ast.Attribute():
                return self._attribute(node, scope, depth)
            case ast.Call():
                return self._call(node, scope, depth)
            case _:
                return self._composed(node, scope, depth)

    def _composed(self, node: ast.AST, scope: ast.AST, depth: int) -> Shape:
        """An expression made of others: a collection or an operation."""
        match node:
            case ast.Tuple(elts=parts):
                return ("tuple", *(self.shape(part, scope, depth - 1) for part in parts))
            case ast.List(elts=parts) | ast.Set(elts=parts):
                return self._sequence([self.shape(part, scope, depth - 1) for part in parts])
            case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.SetComp(elt=elt):
                return self._sequence([self.shape(elt, scope, depth - 1)])
            case ast.BinOp(left=ast.List() as left, op=ast.Mult()):
                return self.shape(left, scope, depth)
            case ast.BinOp(left=left, op=op, right=right):
                return (type(op).__name__, *(self._operand(part, scope, depth) for part in (left, right)))
            case _:
                return self._other(node, scope, depth)

    def _operand(self, node: ast.expr, scope: ast.AST, depth: int) -> Shape:
        """One side of an arithmetic operation: its numbers are no sizes, so they stay as they are."""
        return repr(node.value) if isinstance(node, ast.Constant) else self.shape(node, scope, depth - 1)

    def _other(self, node: ast.AST, scope: ast.AST, depth: int) -> Shape:
        """Any other expression: its kind and its parts."""
        parts = [
            self.shape(part, scope, depth - 1)
            for part in ast.iter_child_nodes(node)
            if isinstance(part, ast.expr | ast.Slice | ast.keyword)
        ]
        operators = [type(op).__name__ for op in getattr(node, "ops", ())]
        return (type(node).__name__, *operators, *parts)

    def _sequence(self, parts: list[Shape]) -> Shape:
        """A list by the kinds of what it holds: how many there are may shrink, down to one."""
        kinds: list[Shape] = []
        for part in parts:
            if part not in kinds:
                kinds.append(part)
        return ("list", *kinds) if kinds else ("no elements",)

    def _call(self, call: ast.Call, scope: ast.AST, depth: int) -> Shape:
        """A call by the function's last name, the object it is called on, its arguments and keywords."""
        match call.func:
            case ast.Attribute(value=ast.Name(id="self")) | ast.Name():
                function = self.shape(call.func, scope, depth - 1)
            case ast.Attribute(value=value, attr=attr):
                function = (f".{attr}", self.shape(value, scope, depth - 1))
            case other:
                function = self.shape(other, scope, depth - 1)
        given = [self.shape(argument, scope, depth - 1) for argument in call.args]
        named = sorted((k.arg or "**", self.shape(k.value, scope, depth - 1)) for k in call.keywords)
        return ("call", function, *given, *named)

    def _named(self, name: str, node: ast.AST, scope: ast.AST, depth: int) -> Shape:
        """What a name is bound to, last before its use; the name itself where nothing in the script binds it."""
        key = (name, getattr(scope, "lineno", 0))
        if key in self._following:
            return ANY
        self._following.append(key)
        try:
            for place in (scope, self.tree) if scope is not self.tree else (scope,):
                bound = _bindings(place, name)
                if bound:
                    before = [b for b in bound if b.lineno < getattr(node, "lineno", 0) or place is not scope]
                    value = max(before, key=lambda b: b.lineno).value if before else None
                    return self.shape(value, place, depth - 1)
                if isinstance(place, ast.FunctionDef | ast.AsyncFunctionDef) and name in _parameters(place):
                    return self._parameter(place, name, depth)
            defined = any(isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name for n in self.tree.body)
            return ANY if defined or _is_target(self.tree, name) else name
        finally:
            self._following.pop()

    def _parameter(self, function: ast.FunctionDef | ast.AsyncFunctionDef, name: str, depth: int) -> Shape:
        """What the first call of a function by its name gives for a parameter."""
        place = _parameters(function).index(name)
        for call in ast.walk(self.tree):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == function.name:
                named = next((k.value for k in call.keywords if k.arg == name), None)
                given = call.args[place] if place < len(call.args) else named
                return self.shape(given, _scope(self.tree, call), depth - 1)
        return ANY

    def _attribute(self, node: ast.Attribute, scope: ast.AST, depth: int) -> Shape:
        """An attribute with the object it is taken from; of ``self`` what it is set to."""
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            made = self._set_to(node.attr)
            return ("self." + node.attr, ANY if made is None else self.shape(made, _scope(self.tree, made), depth - 1))
        return (f".{node.attr}", self.shape(node.value, scope, depth - 1))

    def _set_to(self, name: str) -> ast.expr | None:
        """What ``self.name`` is set to."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and target.attr == name:
                        return node.value
        return None


@dataclass(frozen=True, slots=True)
class _Binding:
    lineno: int
    value: ast.expr


def _bindings(scope: ast.AST, name: str) -> list[_Binding]:
    """Plain assignments to a name in a scope, not in the functions within it."""
    found = []
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            found.append(_Binding(node.lineno, node.value))
        todo.extend(ast.iter_child_nodes(node))
    return found


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def _is_target(tree: ast.Module, name: str) -> bool:
    """Whether a loop, a with, a comprehension or a tuple binds a name, or a function has it as a parameter."""
    stored = any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(tree))
    return stored or any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(tree))
