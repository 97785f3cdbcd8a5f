"""Parsing untrusted text as Python, within bounds, after small recorded repairs. Executes nothing."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from typing import NamedTuple

from torch_embers.extract import extract_rules
from torch_embers.extract.names import dotted
from torch_embers.extract.script import ScriptChange

_LINK = re.compile(r"[.*/%&|^~<>@+-]|\)\(|\]\[|\b(?:not|lambda|if|else|and|or|in|await)\b")
"""What nests one node into another without a bracket."""
_LINKS = 600
_MAGIC = re.compile(r"[ \t]{0,40}(?:[!%?]|\$ |[\w.]{1,80}\?{1,2}\s{0,4}$)")
_TIMED = re.compile(
    r"([ \t]{0,40})%%?(?:timeit|time|prun|memit)\b(?:\s{1,4}-\w{1,3}(?:\s{1,4}\d{1,9})?){0,4}[ \t]{0,9}(.*)"
)
_PRINT = re.compile(r"([ \t]{0,80}|[^#'\"]{0,200}[:;][ \t]{0,9})print[ \t]{1,9}(?![=.,])([^#]{1,300}?)(#.{0,300})?$")
_PROGRAM = re.compile(
    r"\s{0,60}(?:(?:import|from|def|class|for|while|with|return|assert) |print\(|\w{1,40} = |@)"
    r"|.{0,200}\btorch\.\w{1,40}\("
)


class Parsed(NamedTuple):
    """Python at the beginning of a text.

    Attributes:
        code: empty where there is none.
        rest: what stands behind it: its output.
        changes: what was done to get it; lines of the code.
        error: why there is none.
    """

    code: str
    rest: str = ""
    changes: tuple[ScriptChange, ...] = ()
    error: str = ""


def parse(text: str) -> ast.Module:
    """Parse Python within bounds on size and depth.

    Raises:
        SyntaxError: no Python, too deep or too long; ``lineno`` tells where.
    """
    if len(text) > extract_rules.load().limits.block_chars:
        raise _stopped("too long", 1)
    _check_depth(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _stopped(str(error) or type(error).__name__, 1) from error


def try_parse(text: str) -> ast.Module | None:
    """Parse, or None where it is no Python."""
    try:
        return parse(text)
    except SyntaxError:
        return None


def _stopped(message: str, line: int) -> SyntaxError:
    error = SyntaxError(message)
    error.lineno = line
    return error


def _check_depth(text: str) -> None:
    deepest = extract_rules.load().limits.brackets
    depth = 0
    for number, line in enumerate(text.split("\n"), 1):
        depth = max(0, depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")))
        if depth > deepest or sum(map(line.count, "([{")) > deepest or len(_LINK.findall(line)) > _LINKS:
            raise _stopped("nested too deeply", number)


def python_at_start(text: str, *, whole: bool = False) -> Parsed:
    """Find the program that a block begins with.

    Args:
        text: a block without its marks.
        whole: whether all of it is meant as code, so that a bare value is no output.

    Returns:
        The program and what follows it; no code where the block does not begin with a program.
    """
    text = text.strip("\n").rstrip() + "\n"
    changes: list[ScriptChange] = []
    if try_parse(text) is None:
        plain = textwrap.dedent(text.expandtabs(4))
        if plain != text:
            changes.append(ScriptChange(0, "", "", "Indentation as Python knows it."))
            text = plain
    lines = text.split("\n")
    stop = SyntaxError()
    for _ in range(extract_rules.load().limits.repairs):
        try:
            tree = parse("\n".join(lines))
        except SyntaxError as error:
            stop = error
        else:
            if not whole and not is_program(tree):
                return Parsed("", text)
            end = len(lines) if whole else _before_values(tree) or len(lines)
            kept = tuple(change for change in changes if change.line <= end)
            code = "\n".join(lines[:end]).rstrip("\n") + "\n"
            return Parsed(code, "\n".join(lines[end:]), kept)
        at = min(max(stop.lineno or 1, 1), len(lines)) - 1
        if _mend(lines, at, changes) or (at and _mend(lines, at - 1, changes)):
            continue
        cut = _statement_start(lines, at)
        head = try_parse("\n".join(lines[:cut]))
        if head is not None and is_program(head) and not looks_like_program("\n".join(lines[cut:])):
            kept = tuple(change for change in changes if change.line <= cut)
            return Parsed("\n".join(lines[:cut]) + "\n", "\n".join(lines[cut:]), kept)
        break
    return Parsed("", text, error=f"line {stop.lineno or 1}: {stop.msg}")


def _statement_start(lines: list[str], at: int) -> int:
    while at > 0 and (lines[at].startswith((" ", "\t", ")", "]", "}")) or not lines[at].strip()):
        at -= 1
    return at


def _mend(lines: list[str], at: int, changes: list[ScriptChange]) -> bool:
    """Notebook commands go, the print statement becomes a call."""
    line = lines[at]
    if len(line) > extract_rules.load().limits.line_chars:
        return False
    if timed := _TIMED.fullmatch(line):
        lines[at] = timed[1] + (timed[2] or "pass")
        reason = "A notebook's timing command."
    elif _MAGIC.match(line):
        lines[at] = line[: len(line) - len(line.lstrip())] + "pass"
        reason = "A notebook's command."
    elif (printed := _PRINT.fullmatch(line)) and not printed[2].strip().startswith("("):
        lines[at] = f"{printed[1]}print({printed[2].strip().rstrip(';,')}){'  ' + printed[3] if printed[3] else ''}"
        reason = "The print statement of Python 2."
    else:
        return False
    changes.append(ScriptChange(at + 1, line, lines[at], reason))
    return True


def looks_like_program(text: str) -> bool:
    """Whether several lines begin as lines of Python do."""
    return sum(1 for line in text.split("\n") if _PROGRAM.match(line[:400])) > 1


def _before_values(tree: ast.Module) -> int:
    """The last line of a program before the values or the error that it printed; 0 where none stand at its end."""
    body = list(tree.body)
    while len(body) > 1 and _is_shown(body[-1]):
        body.pop()
    return body[-1].end_lineno or 0 if len(body) < len(tree.body) else 0


def _is_shown(node: ast.stmt) -> bool:
    match node:
        case ast.AnnAssign(value=None):
            return True
        case ast.Expr(value=ast.Call(func=name)):
            return dotted(name, {}) in extract_rules.load().output.names
        case ast.Expr(value=value):
            parts = ast.Constant | ast.Tuple | ast.List | ast.UnaryOp | ast.unaryop | ast.expr_context
            return all(isinstance(part, parts) for part in ast.walk(value))
        case _:
            return False


def is_program(tree: ast.Module) -> bool:
    """Whether a tree is a program: printed values, settings and single words parse as Python, too."""
    printed = extract_rules.load().output.names
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef() | ast.For() | ast.With():
                return True
            case ast.AsyncFunctionDef() | ast.While() | ast.Try() | ast.Assert() | ast.AugAssign() | ast.If():
                return True
            case ast.Assign() if any(isinstance(part, ast.Call | ast.Attribute) for part in ast.walk(node.value)):
                return not (isinstance(node.value, ast.Call) and dotted(node.value.func, {}) in printed)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name[:1].isupper() or name in printed:
                continue  # a printed module or tensor
            case ast.Expr(value=ast.Call()):
                return True
            case _:
                continue
    return False
