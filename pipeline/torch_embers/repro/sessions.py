"""Interactive sessions of Python and IPython: statements apart from their prompts, and what each of them printed."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro.repair import try_parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PROMPT = re.compile(r"[ \t]{0,12}(?:>>>|\.\.\.)(?: (.*)|)$", re.DOTALL)
_PROMPT_START = re.compile(r"[ \t]{0,12}>>>(?: |$)")
_IN = re.compile(r"[ \t]{0,12}In ?\[(?:\d{1,5}| |\*)\] ?: ?(.*)$", re.DOTALL)
_IN_MORE = re.compile(r"[ \t]{0,12}\.{3,12}: ?(.*)$", re.DOTALL)
_OUT = re.compile(r"[ \t]{0,12}Out ?\[\d{1,5}\] ?: ?(.*)$", re.DOTALL)
_LONGEST_STATEMENT = 80
"""Lines that a statement may go on for without prompts."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One statement of a session and what was printed after it."""

    code: str
    output: str


def starts(line: str) -> bool:
    """Whether a line begins with a first prompt."""
    return bool(_PROMPT_START.match(line[:400]) or _IN.match(line[:400]))


def is_session(lines: Sequence[str]) -> bool:
    """Whether any line has a prompt, or IPython's mark of an output."""
    return any(starts(line) or _OUT.match(line[:400]) for line in lines)


def chunks(lines: Sequence[str]) -> Iterator[Chunk]:
    """Statements with their outputs, in their order."""
    ipython = any(_IN.match(line[:400]) for line in lines)
    if ipython or any(_PROMPT_START.match(line[:400]) for line in lines):
        yield from _chunks(lines, ipython=ipython)
    else:
        yield from _notebook_chunks(lines)


def _chunks(lines: Sequence[str], *, ipython: bool) -> Iterator[Chunk]:
    code: list[str] = []
    output: list[str] = []
    printed = False
    for line in lines:
        start, more = _prompt(line, ipython=ipython)
        if start is not None:
            if code:
                yield _chunk(code, output)
            code, output, printed = [start], [], False
        elif more is not None and code and not printed:
            code.append(more)
        elif not code:
            if "torch" in line and try_parse(line.strip() + "\n") is not None:  # set-up above the first prompt
                yield Chunk(line.strip(), "")
        elif not output and len(code) < _LONGEST_STATEMENT and _unfinished(code):
            code.append(line)
        else:
            match = _OUT.match(line)
            output.append(match[1] if match else line)
            printed = printed or bool(output[-1].strip())
    if code:
        yield _chunk(code, output)


def _notebook_chunks(lines: Sequence[str]) -> Iterator[Chunk]:
    """Cells without their ``In [1]:``; an output ends at an empty line."""
    code: list[str] = []
    output: list[str] | None = None
    for line in lines:
        match = _OUT.match(line[:400])
        if match:
            output = [match[1]]
        elif output is None:
            code.append(line)
        elif line.strip():
            output.append(line)
        elif any(part.strip() for part in output):
            yield from _cell(code, "\n".join(output))
            code, output = [], None
    yield from _cell(code, "\n".join(output or ()))


def _cell(code: Sequence[str], output: str) -> Iterator[Chunk]:
    """A cell; its last statement is the one that the output belongs to."""
    text = "\n".join(code).strip("\n")
    tree = try_parse(text + "\n")
    if tree is None or len(tree.body) < 2:
        yield Chunk(text, output.strip("\n"))
        return
    last = tree.body[-1].lineno - 1
    lines = text.split("\n")
    yield Chunk("\n".join(lines[:last]), "")
    yield Chunk("\n".join(lines[last:]), output.strip("\n"))


def _prompt(line: str, *, ipython: bool) -> tuple[str | None, str | None]:
    """Code behind a first prompt, or behind a prompt that continues."""
    if ipython:
        first = _IN.match(line)
        more = None if first else _IN_MORE.match(line)
        return (first[1] if first else None), (more[1] if more else None)
    match = _PROMPT.match(line)
    if match is None:
        return None, None
    code = match[1] or ""
    return (code, None) if line.lstrip().startswith(">>>") else (None, code)


def _unfinished(code: Sequence[str]) -> bool:
    """Whether a statement goes on in the next line although that has no prompt: an open bracket or a block."""
    text = "\n".join(code)
    if code[-1].rstrip().endswith((":", "\\", ",")):
        return len(code) == 1 or code[-1].rstrip().endswith(("\\", ","))
    opened = sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
    return opened > 0 or (len(code) > 1 and code[0].rstrip().endswith(":") and code[-1].startswith((" ", "\t")))


def _chunk(code: Sequence[str], output: Sequence[str]) -> Chunk:
    return Chunk(textwrap.dedent("\n".join(code)).rstrip(), "\n".join(output).strip("\n"))
