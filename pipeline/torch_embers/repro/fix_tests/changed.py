"""Which tests a commit adds or changes, by comparing the syntax trees of a file before and after. Pure."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Literal, NamedTuple

from torch_embers.repro.fix_tests.outline import first_line, last_line, named_tests

if TYPE_CHECKING:
    from torch_embers.repro.fix_tests.outline import Function, Outline


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
    """
    old = named_tests(before) if before is not None else {}
    new = named_tests(after)
    differing = [
        key
        for key, node in new.items()
        if key not in old or before is None or _text(after, node) != _text(before, old[key])
    ]
    gone = (
        {_shape(node) for key, node in old.items() if key not in new} if any(k not in old for k in differing) else set()
    )
    found = []
    for key in differing:
        shape = _shape(new[key])
        if key in old:
            if shape != _shape(old[key]):
                found.append(ChangedTest(*key, "changed"))
        elif shape not in gone:
            found.append(ChangedTest(*key, "added"))
    return found


def _text(outline: Outline, node: Function) -> str:
    return outline.text(first_line(node), last_line(node))


def _shape(node: Function) -> str:
    """The syntax tree without the test's own name."""
    parts: list[ast.AST] = [*node.decorator_list, node.args, *node.body]
    return "\n".join(ast.dump(part) for part in parts)
