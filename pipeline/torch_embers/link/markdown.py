"""Markdown: where fenced code begins and ends; a text without what its author did not say.

Code, HTML comments and quoted replies are not the author's words. Blanked characters become spaces and line feeds stay,
so that every other character keeps its place. Only a line feed ends a line.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"([ \t]{0,12}(?:> ?)?(?:[-*+] {1,3}|\d{1,3}[.)] {1,3})?)(`{3,}|~{3,})(.*)", re.DOTALL)
_QUOTED = re.compile(r"^ {0,3}>[^\n]*", re.MULTILINE)
_TICKS_OR_EMPTY_LINE = re.compile(r"`+|\n[ \t]*\n")

Span = tuple[int, int]
"""Where a piece of a text begins, and where it has ended."""


class Fence(NamedTuple):
    """A line that may open or close fenced code.

    Attributes:
        prefix: what stands before the marks: blanks, a quote mark, a list mark.
        marks: the back-ticks or tildes.
        info: what follows them.
    """

    prefix: str
    marks: str
    info: str

    @property
    def opens(self) -> bool:
        """Whether code may begin here; back-ticks behind back-ticks are inline code."""
        return not (self.marks[0] == "`" and "`" in self.info)

    @property
    def is_plain(self) -> bool:
        """Whether it stands at most three blanks deep and in no quotation."""
        blanks = self.prefix[: len(self.prefix) - len(self.prefix.lstrip())]
        return ">" not in self.prefix and "\t" not in blanks and len(blanks) <= 3

    def closes(self, marks: str) -> bool:
        """Whether it ends the code that these marks opened."""
        return self.marks.startswith(marks) and not self.info.strip()


def fence(line: str) -> Fence | None:
    """The fence that a line is, if any; people indent fences deeper than Markdown's three blanks."""
    match = _FENCE.match(line)
    return Fence(*match.groups()) if match else None


def blank_unsaid(text: str) -> str:
    """Return ``text`` with fenced and inline code, HTML comments and quoted lines blanked; same length, linear time."""
    text = blank_comments(text)
    text = _blanked(text, _fenced(text))
    text = _QUOTED.sub(lambda match: " " * len(match[0]), text) if ">" in text else text
    return _blanked(text, _inline_code(text)) if "`" in text else text


def blank_comments(text: str) -> str:
    """Return ``text`` with HTML comments blanked, but for those that begin in fenced code; same length."""
    return _blanked(text, _comments(text)) if "<!--" in text else text


def _blanked(text: str, spans: Iterable[Span]) -> str:
    """The text with these pieces blanked, which come in order and do not overlap."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        blank = "\n".join(" " * len(line) for line in text[start:end].split("\n"))
        parts += (text[done:start], blank)
        done = end
    return "".join([*parts, text[done:]])


def _comments(text: str) -> Iterator[Span]:
    """One that nobody closed ends with the text where it begins a line, and is only its mark elsewhere."""
    fences = deque(_fenced(text))
    last = text.rfind("-->")
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        while fences and fences[0][1] <= start:
            fences.popleft()
        if fences and fences[0][0] <= start:
            done = fences[0][1]
            continue
        if start + 4 <= last:
            done = text.find("-->", start + 4) + 3
        else:
            begins_a_line = not text[text.rfind("\n", 0, start) + 1 : start].strip()
            done = len(text) if begins_a_line else start + 4
        yield start, done


def _fenced(text: str) -> Iterator[Span]:
    """Fenced code, from the opening line to the closing one, or to the end of the text."""
    if "```" not in text and "~~~" not in text:
        return
    opener = ""
    begin = place = 0
    for line in text.split("\n"):
        found = fence(line)
        if found is not None and found.is_plain:
            if opener and found.closes(opener):
                yield begin, place + len(line)
                opener = ""
            elif not opener and found.opens:
                opener, begin = found.marks, place
        place += len(line) + 1
    if opener:
        yield begin, len(text)


def _inline_code(text: str) -> Iterator[Span]:
    """From each run of back-ticks to the next one of the same length in its paragraph."""
    paragraph = 0
    runs: list[tuple[tuple[int, int], int]] = []
    ends: defaultdict[tuple[int, int], deque[int]] = defaultdict(deque)
    for match in _TICKS_OR_EMPTY_LINE.finditer(text):
        if match[0].startswith("\n"):
            paragraph += 1
            continue
        key = (paragraph, len(match[0]))
        runs.append((key, match.start()))
        ends[key].append(match.end())
    done = 0
    for key, start in runs:
        ends[key].popleft()
        if start >= done and ends[key]:
            done = ends[key][0]
            yield start, done
