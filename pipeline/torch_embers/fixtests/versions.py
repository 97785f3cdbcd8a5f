"""A test file before and after a commit, parsed without the tests that both have alike. Pure.

What is left out of the parse stays in the text: in its place stands a method of the same name in the same line. A test
that other code of the file names as an attribute stays, because it may be needed as a helper.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_embers.fixtests.outline import Outline, first_line, named_tests, read, source_text
from torch_embers.fixtests.segments import Segment, segments

if TYPE_CHECKING:
    from collections.abc import Iterable

_USED = re.compile(r"\.(test\w*)")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What the parser says of a text that it cannot read, and a walk of one that is nested too deeply."""


def outlines(before: bytes | None, after: bytes) -> tuple[Outline | None, Outline]:
    """The file in the parent (None where it is new or does not parse), and in the commit.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the parser cannot read the file of the commit.
    """
    new = source_text(after)
    old = _text_or_none(before)
    if old is None:
        return None, read(new)
    old_alike, new_alike = _alike(old, new)
    if old_alike:
        try:
            found = _partly_read(old, old_alike), _partly_read(new, new_alike)
        except UNREADABLE:
            found = None, None
        if found[0] is not None and found[1] is not None:
            return found[0], found[1]
    return _read_or_none(old), read(new)


def _alike(old: str, new: str) -> tuple[list[Segment], list[Segment]]:
    """The tests that both files have with the same text, as each file has them."""
    used = set(_USED.findall(new)) | set(_USED.findall(old))
    old_lines, new_lines = old.split("\n"), new.split("\n")
    there, here = _by_name(old), _by_name(new)
    keys = [
        key
        for key in there.keys() & here.keys()
        if key[1] not in used and _lines(old_lines, there[key]) == _lines(new_lines, here[key])
    ]
    return [there[key] for key in keys], [here[key] for key in keys]


def _by_name(text: str) -> dict[tuple[str, str], Segment]:
    """The test methods of a file by class and name; those that are given twice are left out."""
    found: dict[tuple[str, str], list[Segment]] = {}
    for segment in segments(text):
        found.setdefault((segment.owner, segment.name), []).append(segment)
    return {key: same[0] for key, same in found.items() if len(same) == 1}


def _lines(lines: list[str], segment: Segment) -> list[str]:
    return lines[segment.first - 1 : segment.last]


def _partly_read(text: str, left_out: Iterable[Segment]) -> Outline | None:
    """The outline without the bodies of some tests; None where the parser sees other methods than the lines show.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the parser cannot read the rest.
    """
    lines = text.split("\n")
    for segment in left_out:
        head = lines[segment.first - 1]
        indent = head[: len(head) - len(head.lstrip())]
        empty = [""] * (segment.last - segment.first)
        lines[segment.first - 1 : segment.last] = [f"{indent}def {segment.name}(self): pass", *empty]
    found = read(text, "\n".join(lines))
    tests = named_tests(found)
    for segment in left_out:
        node = tests.get((segment.owner, segment.name))
        if node is None or first_line(node) != segment.first:
            return None
    return found


def _text_or_none(content: bytes | None) -> str | None:
    try:
        return None if content is None else source_text(content)
    except UNREADABLE:
        return None


def _read_or_none(text: str) -> Outline | None:
    try:
        return read(text)
    except UNREADABLE:
        return None
