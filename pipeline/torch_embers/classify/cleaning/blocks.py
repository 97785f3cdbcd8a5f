"""The outer form of a text: what can be printed, HTML comments, prose and fenced code in turn."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from torch_embers.classify.cleaning.rules import heading_name
from torch_embers.link.markdown import fence

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from torch_embers.link.markdown import Fence

_ANSI = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ud800-\udfff\ufffd]")


def printable(text: str) -> str:
    """Line feeds as the only control; no NUL, no colours, no lone surrogates, nothing of no width."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _CONTROLS.sub(" ", text)


def without_comments(text: str) -> str:
    """Without HTML comments; one that nobody closed is only a mark."""
    parts: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        parts.append(text[done:start])
        end = text.find("-->", start + 4)
        if end < 0:
            return "".join([*parts, text[start:].replace("<!--", "")])
        done = end + 3
    parts.append(text[done:])
    return "".join(parts)


def blocks(lines: Sequence[str], form_headings: Container[str]) -> Iterator[tuple[bool, Sequence[str]]]:
    """Prose and fenced code in turn, without the fences: (is code, lines).

    A heading of a form ends code even where nobody closed the fence, and a fence right before a heading opens nothing:
    forms put a fence of their own around an answer, and people put theirs inside.
    """
    marked = [at for at, line in enumerate(lines) if "```" in line or "~~~" in line]
    fences = {at: found for at in marked if (found := fence(lines[at]))}
    closers = [at for at, found in fences.items() if not found.info.strip()]
    hashed = [at for at, line in enumerate(lines) if line.startswith("##")]
    headings = [at for at in hashed if heading_name(lines[at].strip()) in form_headings]
    unclosed: dict[str, int] = {}
    begin = 0
    for opener in fences:
        if opener < begin or not _opens(lines, opener, fences[opener]):
            continue
        yield False, lines[begin:opener]
        heading = _next_of(headings, opener, len(lines))
        end = _closer(fences, closers, opener, unclosed)
        begin = heading if end is None or heading < end else end + 1
        yield True, lines[opener + 1 : heading if end is None else min(end, heading)]
    yield False, lines[begin:]


def _opens(lines: Sequence[str], at: int, opener: Fence) -> bool:
    if opener.info.strip():
        return opener.opens
    following = next((line for line in lines[at + 1 : at + 6] if line.strip()), "")
    return not following.startswith(("## ", "### "))


def _closer(fences: Mapping[int, Fence], closers: Sequence[int], opener: int, unclosed: dict[str, int]) -> int | None:
    """The next line that closes a fence. A search that failed for a mark is not repeated: nothing closes later ones."""
    mark = fences[opener].marks
    if len(mark) >= unclosed.get(mark[0], 1 << 30):
        return None
    for index in range(bisect_right(closers, opener), len(closers)):
        if fences[closers[index]].marks.startswith(mark):
            return closers[index]
    unclosed[mark[0]] = len(mark)
    return None


def _next_of(ordered: Sequence[int], value: int, otherwise: int) -> int:
    """The first number above ``value`` in an ascending sequence."""
    at = bisect_right(ordered, value)
    return ordered[at] if at < len(ordered) else otherwise


def cut(text: str, head: int, tail: int) -> str:
    """Keep the beginning and the end of a text, at whole lines where there are any."""
    if len(text) <= head + tail:
        return text
    first = text[:head]
    last = text[-tail:] if tail else ""
    return f"{first.rpartition(chr(10))[0] or first}\n{last.partition(chr(10))[2] or last}"
