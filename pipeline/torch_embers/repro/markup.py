"""Untrusted Markdown -> pieces that may be code: fences, ``<pre>``, indented runs, and bare paragraphs of code.

GitHub's rules are followed where people follow them; a fence that stays open ends with the text.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from torch_embers.link.markdown import Fence, fence
from torch_embers.repro import rules, sessions
from torch_embers.repro.budget import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Source = Literal["fenced", "indented", "paragraph", "html", "inline"]

_PRE = re.compile(r"<(pre|code)\b[^>\n]{0,200}>", re.IGNORECASE)
_TAGS = re.compile(r"</?(?:pre|code)\b[^>\n]{0,200}>", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_QUOTE = re.compile(r"^[ \t]{0,12}> ?")
_LISTED = re.compile(r"\s{0,8}(?:[-*+#>|]|\d{1,3}[.)])\s")
_GOES_ON = re.compile(r"[)\]}]|\s{0,40}#(?! )|\.\.\.")
_LANGUAGES = frozenset({"python", "shell", "cpp"})
_SHORTEST_TAG = 2
"""A single letter alone in a line is a variable rather than a language."""
_LONGEST_LINE = 2000
_SAID_BEHIND = 3
"""Lines of prose behind a block that may speak of it."""
_LONGEST_HTML = 400
"""Lines until a ``<pre>`` must be closed."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A piece of a text that may be code: without its fence, with its tag, and the prose above and below it."""

    text: str
    source: Source
    tag: str
    line: int
    before: str
    after: str = ""


def raw_blocks(text: str) -> Iterator[Raw]:
    """Find what is set off from the prose, or looks like code without being set off, in the order of the text."""
    lines = without_comments(text).split("\n")
    bare: list[str] = []
    start = 0
    place = 0
    said = ""
    closers = _closers(lines) if "</" in text else {"pre": [], "code": []}
    while place < len(lines):
        opening = _opening(lines[place])
        tag = None if opening else _PRE.search(lines[place][:400])
        last = _closing_line(closers, place, tag[1].lower()) if tag else None
        if not opening and last is None:
            bare.append(lines[place])
            place += 1
            continue
        yield from _bare_blocks(bare, start + 1, said)
        said = _last_said(bare) or said
        end, raw = _fenced(lines, place, opening, said) if opening else _html(lines, place, last or place, said)
        yield replace(raw, after=_next_said(lines, end))
        bare, start, place = [], end, end
    yield from _bare_blocks(bare, start + 1, said)


def _opening(line: str) -> Fence | None:
    opening = fence(line[:_LONGEST_LINE])
    return opening if opening is not None and opening.opens else None


def _fenced(lines: Sequence[str], place: int, opening: Fence, said: str) -> tuple[int, Raw]:
    quoted = ">" in opening.prefix
    inside: list[str] = []
    tag, first = _tag(opening.info.strip())
    if first:
        inside.append(first)
    end = place + 1
    while end < len(lines):
        line = lines[end]
        if quoted and line.lstrip().startswith(">"):
            line = _QUOTE.sub("", line)
        closing = fence(line[:_LONGEST_LINE])
        if closing and closing.closes(opening.marks):
            end += 1
            break
        if line.rstrip().endswith(opening.marks) and not line.lstrip().startswith(opening.marks) and len(line) < 400:
            inside.append(line.rstrip()[: -len(opening.marks)])
            end += 1
            break
        inside.append(line)
        end += 1
    if not opening.info.strip():
        tag = _misplaced_tag(inside)
    return end, Raw("\n".join(inside), "fenced", tag, place + 1, said)


def _misplaced_tag(inside: list[str]) -> str:
    """The language's name where it slipped into the first line of the block, which is blanked; else nothing.

    People write it so, and data sets that cut blocks out of texts keep it at the head of the block.
    """
    place = next((place for place, line in enumerate(inside[:3]) if line.strip()), None)
    word = inside[place].strip().lower() if place is not None else ""
    if place is None or len(word) < _SHORTEST_TAG or rules.load().tags.get(word) not in _LANGUAGES:
        return ""
    inside[place] = ""
    return word


def _tag(info: str) -> tuple[str, str]:
    """Tag of a fence, and code that was written on its line."""
    word = info.split(" ")[0].strip("{}.").lower() if info else ""
    word = word.split(",")[0].split(":")[0]
    if not info or word in rules.load().tags:
        rest = info[len(info.split(" ")[0]) :].strip() if info else ""
        return word, rest if rest.startswith(("import ", "from ", ">>>")) else ""
    return ("", info) if len(info.split()) > 1 or "(" in info or "=" in info else (word, "")


def _closers(lines: Sequence[str]) -> dict[str, list[int]]:
    """Numbers of the lines that close ``<pre>`` and ``<code>``."""
    return {name: [i for i, line in enumerate(lines) if f"</{name}>" in line.lower()] for name in ("pre", "code")}


def _closing_line(closers: dict[str, list[int]], place: int, name: str) -> int | None:
    """Where a tag opened in line ``place`` is closed; None where it is in the same line, far away, or nowhere."""
    numbers = closers[name]
    at = bisect_left(numbers, place)
    if at == len(numbers) or numbers[at] == place or numbers[at] - place > _LONGEST_HTML:
        return None
    return numbers[at]


def _html(lines: Sequence[str], place: int, last: int, said: str) -> tuple[int, Raw]:
    inside = html.unescape(_TAGS.sub("", "\n".join(lines[place : last + 1])))
    return last + 1, Raw(inside, "html", "", place + 1, said)


def _last_said(lines: Sequence[str]) -> str:
    kept = [line.strip() for line in lines[-6:] if line.strip()]
    return _ANY_TAG.sub("", " ".join(kept[-2:]))[-300:].strip()


def _next_said(lines: Sequence[str], place: int) -> str:
    """The first lines of prose behind a block, up to the next block or heading."""
    kept: list[str] = []
    for line in lines[place : place + 8]:
        said = _QUOTE.sub("", line[:_LONGEST_LINE]).strip()
        if _opening(line) or _PRE.search(line[:400]) or said.startswith("#") or len(kept) == _SAID_BEHIND:
            break
        if said:
            kept.append(said)
    return _ANY_TAG.sub("", " ".join(kept))[:300].strip()


def _bare_blocks(lines: Sequence[str], start: int, said: str) -> Iterator[Raw]:
    """Indented code and paragraphs of code without any mark."""
    place = 0
    while place < len(lines):
        if not _code_line(lines[place]):
            said = lines[place].strip()[:300] or said
            place += 1
            continue
        end = _end_of_code(lines, place)
        piece = lines[place:end]
        indented = all(line.startswith(("    ", "\t")) or not line.strip() for line in piece)
        if sum(1 for line in piece if line.strip()) >= (1 if indented else 2):
            yield Raw("\n".join(piece), "indented" if indented else "paragraph", "", start + place, said)
        place = end


def _code_line(line: str) -> bool:
    if not line.strip():
        return False
    line = line[: rules.load().limits.line_chars]
    if sessions.starts(line):
        return True
    if _LISTED.match(line) and not line.startswith("    "):
        return False
    return any(r.pattern.match(line) for r in rules.load().lines if r.kind == "python")


def _end_of_code(lines: Sequence[str], place: int) -> int:
    """Where a run of code ends: at a line of prose, or at an empty one that no code follows."""
    end = place
    misses = 0
    session = sessions.starts(lines[place])
    last = place
    while end < len(lines):
        line = lines[end]
        if _code_line(line) or line.startswith(("    ", "\t", "  ")) or _GOES_ON.match(line):
            last, misses = end + 1, 0
        elif line.strip() or not session:
            misses += 1 if line.strip() else 0
            if misses > (12 if session else 0) or end - last > 2:
                break
        end += 1
    return max(last, place + 1)


def prose(text: str) -> str:
    """The text without its fenced blocks and HTML comments: what the reporter says in sentences."""
    limits = rules.load().limits
    spend(len(text[: limits.text_chars]))
    kept: list[str] = []
    marks = ""
    for line in without_comments(text[: limits.text_chars]).split("\n"):
        mark = fence(line)
        if marks:
            if mark and mark.closes(marks):
                marks = ""
        elif mark and mark.opens:
            marks = mark.marks
        else:
            kept.append(line)
    return "\n".join(kept)


def without_comments(text: str) -> str:
    """Blank HTML comments (templates keep hints in them) outside of fences; line feeds stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "<!--" not in text:
        return text
    parts: list[str] = []
    done = 0
    while (start := text.find("<!--", done)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        parts += [text[done:start], "\n" * text.count("\n", start, end)]
        done = end + 3
    return "".join([*parts, text[done:]])
