"""Scripts inside shell commands: heredocs, and ``python -c``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro.budget import spend

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HEREDOC = re.compile(r"<<-?\s{0,4}[\"']?([A-Za-z_]\w{0,30})[\"']?")
_HEREDOC_PYTHON = re.compile(r"\bpython[\d.]{0,5}\b|\bcat\b.{0,200}\.py\b|\.py\b.{0,60}<<")
_COMMAND = re.compile(r"\bpython[\d.]{0,5}(?: -[A-Za-bd-z]{1,3}){0,6}\s{1,4}-c\s{1,4}(?:\$)?([\"'])")
_SINGLE = re.compile(r"([^']*)'")
_DOUBLE = re.compile(r'((?:[^"\\]|\\["\\$`\n]|\\)*+)"')
_ESCAPE = re.compile(r'\\(["\\$`\n])')
_LONGEST_LINE = 2000
_LONGEST_COMMAND = 200
"""Lines until the closing quote of a command."""


@dataclass(frozen=True, slots=True)
class Script:
    """Python inside a command.

    Attributes:
        code: with the shell's escapes resolved.
        command: the line that it stands in or begins at.
        place: 0-based number of that line.
        end: 0-based number of the line behind it.
    """

    code: str
    command: str
    place: int
    end: int


def scripts(text: str) -> Iterator[Script]:
    """Find scripts in a block of commands; whether they are Python is for the caller to see."""
    if "<<" not in text and " -c" not in text:
        return
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place][:_LONGEST_LINE]
        heredoc = _HEREDOC.search(line)
        command = None if heredoc else _COMMAND.search(line)
        after = place + 1
        if heredoc and _HEREDOC_PYTHON.search(line):
            end = next((i for i in range(place + 1, len(lines)) if lines[i].strip() == heredoc[1]), len(lines))
            after = end + 1
            yield Script("\n".join(lines[place + 1 : end]), line, place, after)
        elif command:
            rest = "\n".join([lines[place][command.end() :], *lines[place + 1 : place + _LONGEST_COMMAND]])
            spend(len(rest))
            code = _quoted(rest, command[1])
            if code is not None:
                after = place + code.count("\n") + 1
                yield Script(code, line, place, after)
        place = after


def output_of(lines: Sequence[str], script: Script) -> str:
    """What follows a script in the lines of its block, unless another script is among it."""
    text = "\n".join(lines[script.end :]).strip("\n")
    spend(len(text))
    return "" if _HEREDOC.search(text) else text


def _quoted(text: str, quote: str) -> str | None:
    """What stands before the closing quote of the shell; escapes within double quotes are resolved."""
    closing = (_DOUBLE if quote == '"' else _SINGLE).match(text)
    if closing is None:
        return None
    return _ESCAPE.sub(_unescaped, closing[1]) if quote == '"' else closing[1]


def _unescaped(found: re.Match[str]) -> str:
    return "" if found[1] == "\n" else found[1]
