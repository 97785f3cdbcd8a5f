"""Which tests a commit adds or changes, by comparing the syntax trees of a file before and after. Pure."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, NamedTuple

from torch_embers.fixtests.outline import first_line, last_line, named_tests

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from torch_embers.fixtests.outline import Function, Outline


class ChangedTest(NamedTuple):
    """A test method that a commit adds or changes."""

    owner: str
    name: str
    change: Literal["added", "changed"]


def changed_tests(before: Outline | None, after: Outline) -> list[ChangedTest]:
    """The tests of a file that a commit adds or changes, in the order of the file.

    A test that only moved (to another class, or under another name) is no new one; white space and comments are no
    change. A helper that changes does not count for the tests that call it.

    Args:
        before: the file in the parent; None where it is new.
        after: the file in the commit.

    Raises:
        RecursionError: a test is nested too deeply.
    """
    old = named_tests(before) if before is not None else {}
    new = named_tests(after)
    differing = [
        key
        for key, node in new.items()
        if key not in old or before is None or _text(after, node) != _text(before, old[key])
    ]
    gone = gone_tests(before, after) if any(key not in old for key in differing) else set()
    found = []
    for key in differing:
        shape = _shape(new[key])
        if key in old:
            if shape != _shape(old[key]):
                found.append(ChangedTest(*key, "changed"))
        elif shape not in gone:
            found.append(ChangedTest(*key, "added"))
    return found


def gone_tests(before: Outline | None, after: Outline) -> set[str]:
    """The tests that a file has no more, as trees without their names.

    Raises:
        RecursionError: a test is nested too deeply.
    """
    new = named_tests(after)
    return {_shape(node) for key, node in (named_tests(before) if before else {}).items() if key not in new}


def without_moved(changed: Sequence[ChangedTest], after: Outline, gone: Collection[str]) -> list[ChangedTest]:
    """The tests of a file but for those that came from other files of the commit.

    Args:
        changed: what ``changed_tests`` found.
        after: the file in the commit.
        gone: what ``gone_tests`` found in the files of the commit.
    """
    new = named_tests(after)
    return [test for test in changed if test.change == "changed" or _shape(new[test.owner, test.name]) not in gone]


def _text(outline: Outline, node: Function) -> str:
    return outline.text(first_line(node), last_line(node))


def _shape(node: Function) -> str:
    """The syntax tree without the test's own name."""
    parts: list[ast.AST] = [*node.decorator_list, node.args, *node.body]
    return "\n".join(ast.dump(part) for part in parts)
