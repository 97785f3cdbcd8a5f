"""The text of a report -> its pieces: headings, prose, and blocks of Python, outputs and other things set off from it.

Tags lie, fences stay open, and one fence holds a script and its traceback. So a block is Python where Python's own
parser says so and its lines look like a program.
"""

from __future__ import annotations

import html
import re
import textwrap
from bisect import bisect_right
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Literal

from torch_embers.extract import extract_rules, sessions
from torch_embers.extract.script import ScriptChange
from torch_embers.extract.syntax import looks_like_program, python_at_start, try_parse
from torch_embers.link.markdown import blank_comments, fence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.link.markdown import Fence

Kind = Literal["python", "broken", "output", "shell", "other", "heading", "prose"]

_HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}[ \t]{1,4}(\S.{0,200})|\*\*([^*]{2,100})\*\*:?\s{0,4}|__([^_]{2,100})__:?\s{0,4})$"
)
_UNDERLINE = re.compile(r" {0,3}(?:={1,200}|-{2,200})\s{0,9}$")
_IMPORT = re.compile(r"(?:import|from) (?:torch|numpy)\b[\w., ]{0,200}$")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_PRE = re.compile(r"<pre\b", re.IGNORECASE)
_QUOTE = re.compile(r"[ \t]{0,12}> ?")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a text.

    Attributes:
        line: 1-based, of its first line in the text.
        kind: what it is; ``broken`` is Python that does not parse.
        heading: the last heading above it.
        before: the last line of prose above it.
        code: the Python in it, without what it printed; empty where there is none.
        changes: what was done to get the code; lines of the code.
        error: where the parser stopped.
        rest: its text without the code: what that printed.
    """

    line: int
    kind: Kind
    heading: str
    before: str
    code: str = ""
    changes: tuple[ScriptChange, ...] = ()
    error: str = ""
    rest: str = ""

    @property
    def aside(self) -> bool:
        """Whether it stands under words of an expected output, a workaround or a fix."""
        own = extract_rules.load().aside
        return bool(own.heading.search(self.heading) or own.announcement.search(self.before))


def blocks(text: str) -> tuple[Block, ...]:
    """The first ``limits.blocks`` pieces of a body or comment that are set off from the prose."""
    found = (piece for piece in pieces(text) if piece.kind not in ("heading", "prose"))
    return tuple(islice(found, extract_rules.load().limits.blocks))


# --- what is set off from the prose -------------------------------------------------------------------------------


def pieces(text: str) -> Iterator[Block]:
    """Take a body or comment apart, in linear time.

    Args:
        text: untrusted Markdown; only its first ``limits.text_chars`` are read.
    """
    limits = extract_rules.load().limits
    text = text[: limits.text_chars].encode("utf-8", "replace").decode().replace("\r\n", "\n").replace("\r", "\n")
    lines = blank_comments(text).split("\n")
    closers = [number for number, line in enumerate(lines) if "</pre>" in line.lower()] if "</" in text else []
    heading = said = ""
    place = 0
    while place < len(lines):
        line = lines[place][: limits.line_chars]
        start = place
        opening = fence(line)
        if opening is not None and opening.opens:
            tag, inside, place = _fenced(lines, place, opening)
            yield from _read("\n".join(inside), start + 2, tag, (heading, said))
            said = ""
        elif _PRE.search(line) and (end := _next(closers, place)) is not None:
            inside = html.unescape(_TAG.sub("", "\n".join(lines[place : end + 1]))).split("\n")
            place = end + 1
            yield from _read("\n".join(inside), start + 1, "", (heading, said))
            said = ""
        elif sessions.starts(line):
            while place < len(lines) and (
                lines[place].strip() or sessions.starts("".join(lines[place + 1 : place + 2]))
            ):
                place += 1
            yield from _read("\n".join(lines[start:place]), start + 1, "", (heading, said))
        elif line.startswith(("    ", "\t")) and not (place and lines[place - 1].strip()):
            while place < len(lines) and (lines[place].startswith(("    ", "\t")) or not lines[place].strip()):
                place += 1
            yield from _read(textwrap.dedent("\n".join(lines[start:place])), start + 1, "indented", (heading, said))
        elif _IMPORT.match(line):  # code without any mark
            while (
                place < len(lines)
                and not _HEADING.match(lines[place][: limits.line_chars])
                and "```" not in lines[place]
            ):
                place += 1
            yield from _read("\n".join(lines[start:place]), start + 1, "bare", (heading, said))
        else:
            place += 1
            match = _HEADING.match(_QUOTE.sub("", line, count=1))
            begins = line.strip() and not (start and lines[start - 1].strip())
            is_underlined = begins and place < len(lines) and _UNDERLINE.match(lines[place])
            if match or is_underlined:
                place += not match
                heading, said = (match[1] or match[2] or match[3] if match else line).strip(), ""
                yield Block(start + 1, "heading", heading, "", rest=heading)
                continue
            yield Block(start + 1, "prose", heading, said, rest=lines[start])
            said = _TAG.sub("", line).strip() or said


def _next(numbers: Sequence[int], after: int) -> int | None:
    at = bisect_right(numbers, after)
    return numbers[at] if at < len(numbers) else None


def _fenced(lines: Sequence[str], place: int, opening: Fence) -> tuple[str, list[str], int]:
    """Tag and lines of a fence, and where the text goes on; one that stays open ends with the text."""
    tags = extract_rules.load().tags
    info = opening.info.strip()
    tag = info.split(" ")[0].split(",")[0].split(":")[0].strip("{}.").lower()
    inside: list[str] = []
    if info.startswith(("import ", "from ", ">>>")) or "(" in tag or "=" in tag:  # code on the line of the fence
        tag = ""
        inside.append(info)
    place += 1
    while place < len(lines):
        line = lines[place]
        if ">" in opening.prefix:
            line = _QUOTE.sub("", line, count=1)
        place += 1
        closing = fence(line[: extract_rules.load().limits.line_chars])
        if closing and closing.closes(opening.marks):
            break
        if line.endswith(opening.marks) and "`" not in line[: -len(opening.marks)]:
            inside.append(line.removesuffix(opening.marks))
            break
        inside.append(line)
    first = next((number for number, line in enumerate(inside[:3]) if line.strip()), 0)
    word = inside[first].strip().lower() if inside else ""
    if not info and len(word) > 1 and word in tags.python | tags.shell:  # the tag slipped into the first line
        tag, inside[first] = word, ""
    return tag, inside, place


# --- what a block is ----------------------------------------------------------------------------------------------


def _read(whole: str, number: int, tag: str, place: tuple[str, str]) -> Iterator[Block]:
    """What is set off at a line, with the tag of its fence, below a heading and a line of prose."""
    tags = extract_rules.load().tags
    text = whole.strip("\n")
    lines = text.split("\n")
    if not text.strip():
        return
    short = len(text) <= extract_rules.load().limits.block_chars
    if short and any(sessions.starts(line) for line in lines) and try_parse(text) is None:
        session = tuple(sessions.chunks(lines))
        shown = "\n".join(chunk.output for chunk in session)
        yield Block(number, "python", *place, *sessions.program(session), rest=shown)
        return
    if tag in tags.shell:
        yield Block(number, "shell", *place, rest=text)
        return
    unmarked = tag in ("indented", "bare")
    if not (unmarked or tag in tags.python) or tags.other.search(text[:5000]):
        yield Block(number, "other", *place, rest=text)
        return
    head, shown = _before_traceback(lines)
    parsed = python_at_start(head)
    if parsed.code:
        output = "\n".join([parsed.rest, shown]).strip("\n")
        taken = (ScriptChange(0, output[:200], "", "An output below the code is taken off."),) if output else ()
        is_prose = tag == "bare"
        changes = (*parsed.changes, *taken)
        yield Block(number, "python", *place, parsed.code, changes, rest="" if is_prose else output)
        if is_prose:
            yield Block(number, "prose", *place, rest=output)
    elif unmarked:
        yield Block(number, "prose", *place, rest=whole)
    else:
        broken = parsed.error.startswith("line") and looks_like_program(head)
        yield Block(number, "broken" if broken else "output", *place, error=parsed.error, rest=text)


def _before_traceback(lines: Sequence[str]) -> tuple[str, str]:
    for number, line in enumerate(lines):
        if extract_rules.load().output.begins.match(line[:300]):
            return "\n".join(lines[:number]), "\n".join(lines[number:])
    return "\n".join(lines), ""
