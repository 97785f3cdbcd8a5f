"""Where the test methods of a file stand, by its lines and without a parser. Pure.

A parser needs most of a second for a large test file; nearly all of it are tests that a commit leaves alone. Strings
and comments are taken out by one pattern, so that what stands at the beginning of a line is code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_HIDDEN = re.compile(
    r""""{3}[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"{3}"""
    r"""|'{3}[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'{3}"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'"""
    r"""|\#[^\n]*|\\\n""",
    re.DOTALL,
)
"""Strings, comments and joined lines. Until Python 3.12 no string within a formatted one has the same quotes."""
_CONTINUED = "\n\0"
_CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE)
_OUTER = re.compile(r"^[^\s\0)\]}]", re.MULTILINE)
_TEST = re.compile(r"\s+(?:async[ \t]+)?def[ \t]+(test\w*)")
_BRACKETS = (("(", ")"), ("[", "]"), ("{", "}"))


class Segment(NamedTuple):
    """A test method: class, name, and its lines from 1, decorators included."""

    owner: str
    name: str
    first: int
    last: int


def segments(text: str) -> list[Segment]:
    """The test methods of the classes at the top of a file, in order; of a name that is given twice, both."""
    bare = _HIDDEN.sub(_stand_in, text)
    ends = [found.start() for found in _OUTER.finditer(bare)] + [len(bare)]
    found: list[Segment] = []
    place, line, counted = 0, 1, 0
    for start in _CLASS.finditer(bare):
        while ends[place] <= start.start() or (
            ends[place] < len(bare) and not _is_whole(bare[start.start() : ends[place]])
        ):
            place += 1
        line += bare.count("\n", counted, start.start())
        counted = start.start()
        found += _members(bare[counted : ends[place]], start[1], line)
    return found


def _stand_in(hidden: re.Match[str]) -> str:
    """As many lines in place of a string, a comment or the end of a joined line, marked as no statement's beginning."""
    text = hidden[0]
    return ('""' if text[0] in "\"'" else "") + _CONTINUED * text.count("\n")


def _members(body: str, owner: str, line: int) -> Iterator[Segment]:
    """The test methods of one class.

    Args:
        body: the class without its strings and comments.
        owner: its name.
        line: the line of its head.
    """
    lines = body.split("\n")
    indent = next((_indent(text) for text in lines[1:] if _is_code(text)), 0)
    starts = [
        place for place, text in enumerate(lines) if place and _is_code(text) and _indent(text) == indent and indent
    ]
    begin: int | None = None
    head: int | None = None
    for place, following in zip(starts, [*starts[1:], len(lines)], strict=True):
        begin = place if begin is None else begin
        if head is None and not lines[place].lstrip().startswith("@") and _is_whole("\n".join(lines[begin:place])):
            head = place
        if head is None or not _is_whole("\n".join(lines[begin:following])):
            continue  # decorators come first, and a statement goes on where a bracket is open
        if named := _TEST.match(lines[head]):
            end = next(last for last in range(following, head, -1) if lines[last - 1].strip())
            yield Segment(owner, named[1], line + begin, line + end - 1)
        begin = head = None


def _is_code(text: str) -> bool:
    """Whether a line begins a statement, as far as the line alone tells."""
    bare = text.lstrip()
    return bool(bare) and bare[0] not in "\0)]}"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def _is_whole(bare: str) -> bool:
    """Whether every bracket that this code opens is closed by it."""
    return all(bare.count(opening) == bare.count(closing) for opening, closing in _BRACKETS)
