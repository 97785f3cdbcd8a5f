"""Where a fix test fails, and whether its commit changed anything up to there. Pure.

A test that a commit only changed can fail on an old release before it gets to what the commit changed: such a failure
shows another fault than the one that was fixed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from torch_embers.fixtests.outline import FUNCTIONS, first_line, last_line

if TYPE_CHECKING:
    from torch_embers.fixtests.outline import Function

_TRACEBACK = "Traceback (most recent call last)"
_WAITING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Failing:
    """The line of a test at which a run failed.

    Attributes:
        line: in the text of the test, decorators included, from 1.
        text: the line.
        helper: the innermost line of the script that was reached from there, where it is another one; else empty.
        waits_for_error: the line stands in a ``with`` block that waits for an error: what was raised is another one.
    """

    line: int
    text: str
    helper: str = ""
    waits_for_error: bool = False


def failing_line(code: str, test: str, name: str, error: str) -> Failing | None:
    """Where the test of a script failed; None where the traceback does not say.

    Args:
        code: the script as it ran.
        test: name of the test method.
        name: of the case, which is the file name of the script.
        error: what the run wrote to standard error.
    """
    frames = _own_frames(error, name)
    lines = code.split("\n")
    for line, function in frames:
        if function == test and (method := _method_at(code, test, line)) is not None:
            innermost = frames[-1][0]
            helper = lines[innermost - 1].strip() if innermost != line else ""
            return Failing(line - first_line(method) + 1, lines[line - 1].strip(), helper, _waits(method, line))
    return None


def _own_frames(error: str, name: str) -> list[tuple[int, str]]:
    """Line and function of the frames of the script in the last traceback that has any, outermost first."""
    frame = re.compile(rf'File "[^"\n]*{re.escape(name)}\.py", line (\d+), in (\S+)')
    for block in reversed(error.split(_TRACEBACK)):
        if found := frame.findall(block):
            return [(int(line), function) for line, function in found]
    return []


def _method_at(code: str, test: str, line: int) -> Function | None:
    try:
        tree = ast.parse(code)
    except _UNREADABLE:
        return None
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS) and node.name == test and first_line(node) <= line <= last_line(node):
            return node
    return None


def _waits(method: Function, line: int) -> bool:
    """Whether a line stands in the block of a ``with self.assertRaises...``; the line of the ``with`` does not."""
    return any(
        node.body[0].lineno <= line <= (node.body[-1].end_lineno or line)
        for node in ast.walk(method)
        if isinstance(node, ast.With) and any(_is_waiting(item.context_expr) for item in node.items)
    )


def _is_waiting(call: ast.expr) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _WAITING


def may_show_change(before: str | None, after: str, line: int) -> bool:
    """Whether a failure at a line of a test can come from what its commit changed in the test.

    It cannot where the statement of the test's body that fails, and all in front of it, are as they were. A loop is
    one statement.

    Args:
        before: the text of the test in the parent of the commit; None where the commit added it.
        after: its text in the commit.
        line: the line at which it fails, from 1.
    """
    if before is None:
        return True
    try:
        [method] = ast.parse(after).body
    except _UNREADABLE:
        return True
    if not isinstance(method, FUNCTIONS):
        return True
    end = next((last_line(part) for part in method.body if first_line(part) <= line <= last_line(part)), line)
    return any(changed <= end for changed in changed_lines(before, after))


def changed_lines(before: str, after: str) -> list[int]:
    """Lines of a test, from 1, that its commit added or changed; of lines taken away the one in front of them."""
    old, new = ([line.rstrip() for line in text.split("\n")] for text in (before, after))
    found: list[int] = []
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            found.append(max(start, 1))
        elif tag != "equal":
            found += range(start + 1, end + 1)
    return found
