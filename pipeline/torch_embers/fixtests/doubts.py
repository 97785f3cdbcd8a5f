"""Whether what a test fails at before the fix is what the fix is about. Pure; the rules are data.

A test that fails before a merged fix and passes after it need not show the bug of the issue: the commit can add a
feature, change a default or a wording, and the test can fail earlier, for another fault. Such a test is doubtful until
a reader says otherwise.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from torch_embers.fixtests.classes import MENDED_BEFORE, TestClass, Trial
from torch_embers.fixtests.test_file import UNREADABLE, Function, first_line, last_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.cases.fix_test_rules import Doubt

_TRACEBACK = "Traceback (most recent call last)"
_WAITING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})


@dataclass(frozen=True, slots=True)
class FixTestTexts:
    """The texts of a fix test, and what its commit says of it.

    Attributes:
        name: of its case, which is the file name of the script.
        test: the test method.
        code: the script as it ran.
        text: the test in the commit.
        before: the test in the parent of the commit; None where the commit added it.
        about: what the fix is about: the subject of the commit, and the titles of its issues where they are known.
    """

    name: str
    test: str
    code: str
    text: str
    before: str | None
    about: str


@dataclass(frozen=True, slots=True)
class FailingLine:
    """The line of a test at which a run failed.

    Attributes:
        line: in the text of the test, decorators included, from 1.
        text: the line.
        waits_for_error: it stands in a ``with`` block that waits for an error: what was raised is another one.
    """

    line: int
    text: str
    waits_for_error: bool


def with_doubt(found: TestClass, trials: Sequence[Trial], test: FixTestTexts, rules: Iterable[Doubt]) -> TestClass:
    """The class of a test when its failure before the fix is compared with what the fix is about.

    A validated test that a rule doubts is ``doubtful``. One that fails after its fix keeps its class, with the reason.

    Args:
        found: what its runs say.
        trials: its runs.
        test: its texts.
        rules: of data/fix_tests.toml.
    """
    before = next((trial for trial in trials if trial.version == found.validated_before), None)
    if before is None or found.reason == MENDED_BEFORE:
        return found
    doubted = doubt(test, before.signature or before.detail, before.error, rules)
    if doubted is None:
        return found
    reason, seen = doubted
    if found.kind == "validated":
        return replace(found, kind="doubtful", reason=reason, detail=f"{reason}: {seen}")
    return replace(found, reason=reason)


def doubt(test: FixTestTexts, failure: str, error: str, rules: Iterable[Doubt]) -> tuple[str, str] | None:
    """The first rule that doubts a failure before the fix: its reason and what it saw; None where none does.

    Args:
        test: the test.
        failure: the failure, as a signature.
        error: what the run wrote to standard error.
        rules: of data/fix_tests.toml.
    """
    place = failing_line(test, error)
    line = place.text if place else ""
    unreached = place is not None and not may_show_change(test.before, test.text, place.line)
    waits = place is not None and place.waits_for_error
    for rule in rules:
        wanted = ((rule.about, test.about), (rule.failure, failure), (rule.line, line))
        unwanted = ((rule.unless, failure), (rule.without, test.about))
        fits = all(pattern is None or pattern.search(text) for pattern, text in wanted)
        if not fits or any(pattern and pattern.search(text) for pattern, text in unwanted):
            continue
        if (unreached or not rule.unreached) and (waits or not rule.waits_for_error):
            of_line = rule.unreached or rule.line or rule.waits_for_error
            return rule.id, line if of_line else test.about.split("\n")[0]
    return None


def failing_line(test: FixTestTexts, error: str) -> FailingLine | None:
    """Where the test of a script failed; None where the traceback does not say.

    Args:
        test: the test.
        error: what the run wrote to standard error: its last traceback with frames of the script counts.
    """
    frame = re.compile(rf'File "[^"\n]*{re.escape(test.name)}\.py", line (\d+), in (\S+)')
    frames = next((found for block in reversed(error.split(_TRACEBACK)) if (found := frame.findall(block))), [])
    line = next((int(line) for line, function in frames if function == test.test), 0)
    try:
        nodes = list(ast.walk(ast.parse(test.code))) if line else []
    except UNREADABLE:
        return None
    for node in nodes:
        if isinstance(node, Function) and node.name == test.test and first_line(node) <= line <= last_line(node):
            text = test.code.split("\n")[line - 1].strip()
            waits = any(_waits(inner, line) for inner in ast.walk(node))
            return FailingLine(line - first_line(node) + 1, text, waits)
    return None


def _waits(node: ast.AST, line: int) -> bool:
    """Whether a line stands in the block of a ``with self.assertRaises...``; the line of the ``with`` does not."""
    if not isinstance(node, ast.With) or not node.body[0].lineno <= line <= last_line(node.body[-1]):
        return False
    calls = [item.context_expr.func for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(isinstance(call, ast.Attribute) and call.attr in _WAITING for call in calls)


def may_show_change(before: str | None, after: str, line: int) -> bool:
    """Whether a failure at a line of a test can come from what its commit changed in the test.

    It cannot where the statement of the test's body that fails, and all in front of it, are as they were. A loop is
    one statement.

    Args:
        before: the text of the test in the parent of the commit; None where the commit added it.
        after: its text in the commit.
        line: the line at which it fails, from 1.
    """
    try:
        body = ast.parse(after).body
    except UNREADABLE:
        return True
    if before is None or not body or not isinstance(body[0], Function):
        return True
    end = next((last_line(part) for part in body[0].body if first_line(part) <= line <= last_line(part)), line)
    return any(changed <= end for changed in _changed_lines(before, after))


def _changed_lines(before: str, after: str) -> list[int]:
    """Lines of a test, from 1, that its commit added or changed; of lines taken away the one in front of them."""
    old, new = ([line.rstrip() for line in text.split("\n")] for text in (before, after))
    found: list[int] = []
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            found.append(max(start, 1))
        elif tag != "equal":
            found += range(start + 1, end + 1)
    return found
