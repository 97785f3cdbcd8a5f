"""Whether a test asks for the words of an exception, and which of its two answers tells that they are there."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field

from torch_embers.repro.names import dotted, last_name

_SHOWN = frozenset({"str", "repr", "format", "ascii"})
"""Built-in functions that give the words of an exception."""
_HELD = frozenset({"args", "message", "msg"})
"""Attributes of an exception that hold its words."""
_CAUGHT = frozenset({"value", "exception", "exceptions", "__cause__"})
"""Attributes that hold an exception: of what `with raises(...) as caught` binds, of a group, of another exception."""
_ASKING = frozenset({"startswith", "endswith"})
_SEARCHING = frozenset({"search", "match", "fullmatch"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a test tells: whether the words are there where it holds, and where it does not."""

    if_true: bool = False
    if_false: bool = False

    def turned(self) -> Answer:
        """What the test with `not` before it tells."""
        return Answer(self.if_false, self.if_true)


NOTHING = Answer()


@dataclass
class Words:
    """How code can ask for the words of one exception.

    Attributes:
        exceptions: names that hold it.
        helpers: functions of the case that tell a refusal by its type and words.
        telling: types that need no words, as nothing else raises them.
        messages: names that hold its words.
    """

    exceptions: set[str]
    helpers: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    messages: set[str] = field(default_factory=set)

    def note(self, statement: ast.AST) -> None:
        """Remember the names to which a statement gives the words or the exception."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign):
                targets = {target.id for target in node.targets if isinstance(target, ast.Name)}
            elif isinstance(node, ast.NamedExpr):
                targets = {node.target.id}
            else:
                continue
            if self.is_message(node.value):
                self.messages |= targets
            elif self._is_exception(node.value):
                self.exceptions |= targets

    def answer(self, test: ast.expr) -> Answer:
        """What a test tells about the words."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return self.answer(test.operand).turned()
        if isinstance(test, ast.NamedExpr):
            return self.answer(test.value)
        if isinstance(test, ast.BoolOp):
            parts = [self.answer(value) for value in test.values]
            first, second = (any, all) if isinstance(test.op, ast.And) else (all, any)
            return Answer(first(p.if_true for p in parts), second(p.if_false for p in parts))
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            return self._of_comparison(test.left, test.ops[0], test.comparators[0])
        return self._of_call(test) if isinstance(test, ast.Call) else NOTHING

    def _of_comparison(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Answer:
        found = NOTHING
        if isinstance(right, ast.Constant) and right.value is None and isinstance(left, ast.Call):
            found = self._of_call(left)  # re.search(...) is None
            return found.turned() if isinstance(operator, ast.Is | ast.Eq) else found
        if isinstance(operator, ast.In | ast.NotIn):
            found = Answer(if_true=self.is_message(right) and not _says_nothing(left))
        elif isinstance(operator, ast.Eq | ast.NotEq):
            found = Answer(if_true=self.is_message(left) or self.is_message(right))
        return found.turned() if isinstance(operator, ast.NotIn | ast.NotEq) else found

    def _of_call(self, call: ast.Call) -> Answer:
        name = dotted(call.func, {})
        if name in self.helpers:
            return Answer(if_true=any(self._is_exception(a) or self.is_message(a) for a in call.args))
        if name in ("any", "all") and call.args and isinstance(call.args[0], ast.GeneratorExp | ast.ListComp):
            loops = call.args[0].generators
            return NOTHING if any(map(_says_nothing, _each(loops[-1].iter))) else self.answer(call.args[0].elt)
        if name == "bool" and call.args:
            return self.answer(call.args[0])
        if name == "isinstance" and len(call.args) == 2 and self._is_exception(call.args[0]):
            return Answer(if_true=ast.unparse(call.args[1]) in self.telling)
        if last_name(call) in _ASKING and isinstance(call.func, ast.Attribute):
            given = bool(call.args) and not _says_nothing(call.args[0])
            return Answer(if_true=given and self.is_message(call.func.value))
        given = not any(map(_says_nothing, call.args[:1]))
        return Answer(if_true=given and last_name(call) in _SEARCHING and any(self.is_message(a) for a in call.args))

    def _is_exception(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in _CAUGHT):
            return self._is_exception(node.value)
        return isinstance(node, ast.Name) and node.id in self.exceptions

    def is_message(self, node: ast.AST) -> bool:
        """Whether an expression is the words of the exception, or text made of them."""
        if isinstance(node, ast.Name):
            return node.id in self.messages
        if isinstance(node, ast.Attribute):
            return node.attr in _HELD and self._is_exception(node.value)
        if isinstance(node, ast.Subscript | ast.NamedExpr):
            return self.is_message(node.value)
        if isinstance(node, ast.JoinedStr):
            return any(self._holds(v.value) for v in node.values if isinstance(v, ast.FormattedValue))
        if isinstance(node, ast.BinOp):
            parts = (node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]) + [node.left]
            return isinstance(node.op, ast.Mod | ast.Add) and any(self._holds(part) for part in parts)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and (self.is_message(node.func.value) or last_name(node) == "format"):
            return self.is_message(node.func.value) or any(self._holds(a) for a in node.args)
        shows = dotted(node.func, {}) in _SHOWN or last_name(node).startswith("format_exception")
        return shows and any(self._holds(a) for a in node.args)

    def _holds(self, node: ast.AST) -> bool:
        return self._is_exception(node) or self.is_message(node)


def _says_nothing(node: ast.expr) -> bool:
    """Whether it is a text without a word, as nearly every message has it, or a pattern that fits an empty one."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return False
    if re.search(r"\w\w", node.value) is None:
        return True
    try:
        return re.search(node.value, "") is not None
    except re.error:  # words, and no pattern
        return False


def _each(values: ast.expr) -> list[ast.expr]:
    """What a loop goes through; of a text its letters, one of which says nothing."""
    if isinstance(values, ast.Constant):
        return [ast.Constant("")]
    return values.elts if isinstance(values, ast.Tuple | ast.List | ast.Set) else []
