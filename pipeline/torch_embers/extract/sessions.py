"""Sessions of Python and IPython: statements apart from their prompts, and what each of them printed."""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.extract.names import dotted
from torch_embers.extract.script import ScriptChange
from torch_embers.extract.syntax import python_at_start, try_parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST = re.compile(r"[ \t]{0,12}(?:>>>|In ?\[(?:\d{1,5}| |\*)\] ?:)(?: (.*)|)$")
_MORE = re.compile(r"[ \t]{0,12}(?:\.\.\.|\.{3,12}:)(?: (.*)|)$")
_OUT = re.compile(r"[ \t]{0,12}Out ?\[\d{1,5}\] ?: ?")


class Chunk(NamedTuple):
    """A statement of a session and what was printed after it."""

    code: str
    output: str


def starts(line: str) -> bool:
    """Whether a line begins with a first prompt."""
    return bool(_FIRST.match(line[:400]))


def chunks(lines: Sequence[str]) -> Iterator[Chunk]:
    """Statements with their outputs, in their order."""
    code: list[str] = []
    output: list[str] = []
    for line in lines:
        first, more = _FIRST.match(line), _MORE.match(line)
        if first:
            if code:
                yield _chunk(code, output)
            code, output = [first[1] or ""], []
        elif not code:
            if "torch" in line and try_parse(line.strip() + "\n") is not None:  # set-up above the first prompt
                yield Chunk(line.strip(), "")
        elif more and not output:
            code.append(more[1] or "")
        else:
            output.append(_OUT.sub("", line, count=1))
    if code:
        yield _chunk(code, output)


def _chunk(code: Sequence[str], output: Sequence[str]) -> Chunk:
    return Chunk(textwrap.dedent("\n".join(code)).rstrip(), "\n".join(output).strip("\n"))


def program(session: Sequence[Chunk]) -> tuple[str, tuple[ScriptChange, ...]]:
    """The script that a session is: values that it showed are printed, what is no Python is left out."""
    lines: list[str] = []
    changes = [ScriptChange(0, "", "", "Prompts and outputs of a session are taken off.")]
    for chunk in session:
        number = len(lines) + 1
        tree = try_parse(chunk.code + "\n")
        code = chunk.code
        if tree is None:
            mended = python_at_start(code, whole=True)
            code, tree = mended.code.rstrip("\n"), try_parse(mended.code) if mended.code else None
            changes += [replace(change, line=number + max(change.line - 1, 0)) for change in mended.changes]
        if tree is None:
            changes.append(ScriptChange(number, chunk.code[:400], "", "It is no Python, and the session goes on."))
            continue
        if chunk.output.strip() and "Traceback (most recent" not in chunk.output and _is_value(tree):
            shown = f"print({code.strip().rstrip(';')})"
            changes.append(
                ScriptChange(number, code[:400], shown[:400], "A session shows values, a script prints them.")
            )
            code = shown
        lines.extend(code.split("\n"))
    return "\n".join(lines) + "\n", tuple(changes)


def _is_value(tree: ast.Module) -> bool:
    match tree.body:
        case [ast.Expr(value=value)]:
            return not isinstance(value, ast.Call) or dotted(value.func, {}) != "print"
    return False
