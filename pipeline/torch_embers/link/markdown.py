"""Markdown: where fenced code begins and ends; a text without what its author did not say.

Code, HTML comments and quoted replies are not the author's words. Blanked characters become spaces and line feeds stay,
so that every other character keeps its place.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

_FENCE = re.compile(r"([ \t]{0,12}(?:> ?)?(?:[-*+] {1,3}|\d{1,3}[.)] {1,3})?)(`{3,}|~{3,})(.*)", re.DOTALL)
_QUOTE = re.compile(r" {0,3}>")
_TICKS = re.compile(r"`+")
_SUSPECTS = ("`", "~~~", "<!--", ">")
_EMPTY_LINE = re.compile(r"\n[ \t]*\n")


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
    """Return ``text`` with fenced and inline code, HTML comments and quoted lines blanked; same length.

    Lines end at line feeds. Runs in linear time.
    """
    if not any(mark in text for mark in _SUSPECTS):
        return text
    text = _blank_lines(blank_comments(text))
    return _blank_inline_code(text) if "`" in text else text


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def blank_comments(text: str) -> str:
    """HTML comments, but for those whose opening stands inside a fence or inline code (seen by its back-tick)."""
    if "<!--" not in text:
        return text
    parts: list[str] = []
    done = 0
    fences = _fenced_spans(text) if ("```" in text or "~~~" in text) else []
    fence = 0
    while (start := text.find("<!--", done)) >= 0:
        while fence < len(fences) and fences[fence][1] <= start:
            fence += 1
        if fence < len(fences) and fences[fence][0] <= start:
            inside = fences[fence][1]
            parts.append(text[done:inside])
            done = inside
            continue
        end = text.find("-->", start + 4)
        if end < 0:
            at_line_start = not text[text.rfind("\n", 0, start) + 1 : start].strip()
            end = len(text) if at_line_start else start + 4
        else:
            end += 3
        parts += (text[done:start], _blank(text[start:end]))
        done = end
    parts.append(text[done:])
    return "".join(parts)


def _fenced_spans(text: str) -> list[tuple[int, int]]:
    """Where fenced code stands, from the opening line to the end of the closing one."""
    spans: list[tuple[int, int]] = []
    opener, begin, place = "", 0, 0
    for line in _lines(text):
        found = fence(line)
        if found is not None and found.is_plain:
            if opener and found.closes(opener):
                spans.append((begin, place + len(line)))
                opener = ""
            elif not opener and found.opens:
                opener, begin = found.marks, place
        place += len(line)
    if opener:
        spans.append((begin, place))
    return spans


def _lines(text: str) -> list[str]:
    """Lines with their line feeds; no other character ends a line."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + parts[-1:]


def _blank_lines(text: str) -> str:
    """Fenced code and quoted lines."""
    parts: list[str] = []
    done = 0
    for start, end in _fenced_spans(text) if ("```" in text or "~~~" in text) else ():
        parts += (_unquoted(text[done:start]), _blank(text[start:end]))
        done = end
    parts.append(_unquoted(text[done:]))
    return "".join(parts)


def _unquoted(text: str) -> str:
    if ">" not in text:
        return text
    return "\n".join(_blank(line) if _QUOTE.match(line) else line for line in text.split("\n"))


def _blank_inline_code(text: str) -> str:
    """Code between two runs of equally many back-ticks of one paragraph."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text)]
    closers = _closers(text, runs)
    parts: list[str] = []
    done = 0
    at = 0
    while at < len(runs):
        closer = closers[at]
        if closer is None:
            at += 1
            continue
        start, end = runs[at][0], runs[closer][1]
        parts += (text[done:start], _blank(text[start:end]))
        done = end
        at = closer + 1
    parts.append(text[done:])
    return "".join(parts)


def _closers(text: str, runs: list[tuple[int, int]]) -> list[int | None]:
    """For each run of back-ticks the next one of the same length in its paragraph, found from the end."""
    breaks = [False, *(bool(_EMPTY_LINE.search(text, first[1], second[0])) for first, second in pairwise(runs))]
    nearest: dict[int, int] = {}
    closers: list[int | None] = [None] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = runs[at][1] - runs[at][0]
        closers[at] = nearest.get(length)
        nearest[length] = at
        if breaks[at]:
            nearest.clear()
    return closers
