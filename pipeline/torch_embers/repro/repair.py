"""Text that is almost Python becomes Python: parsing within bounds, and small recorded edits where parsing fails.

The parser says where it stopped; only that line and its neighbours are touched, one edit per attempt. Nothing is
executed.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro import rules
from torch_embers.repro.budget import spend

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch_embers.repro.rules import Edit, Rules

_TYPOGRAPHY = str.maketrans(
    {
        "\u00a0": " ", "\u3000": " ", "\u2003": " ", "\u2009": " ", "\u200b": "", "\u200c": "", "\u200d": "",
        "\ufeff": "", "\u2060": "", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2013": "-",
        "\u2212": "-", "\x00": "", "\x0c": "", "\u2026": "...",
    }
)  # fmt: skip
_LINK = re.compile(
    r"\.(?=[A-Za-z_])|[*/%&|^~<>@]|(?<=[\w)\]])[ \t]{0,2}[-+]|[-+][ \t]{0,2}(?=[-+~])|"
    r"[])][ \t]{0,2}(?=[\[(])|\b(?:not|lambda|if|else|and|or|in|await)\b"
)
"""What nests one node into another without a bracket; plain commas and signs of numbers do not."""
_ATTEMPT_CHARS = 200_000
"""Characters parsed while one block is repaired: a long block gets fewer attempts."""
_MAGIC = re.compile(r"[ \t]{0,40}(?:!|%%?\s?[a-zA-Z]|\?{1,2}[\w.]|[\w.]{1,80}\?{1,2}\s{0,4}$|\$ )")
_TIMED = re.compile(
    r"([ \t]{0,40})%%?(?:timeit|time|prun|memit|lprun)\b((?:\s{1,4}-\w{1,3}(?:\s{1,4}\d{1,9})?)*)[ \t]{0,9}(.*)"
)
_PRINT = re.compile(r"([ \t]*(?:[^#'\"]{0,200}:[ \t]{0,9}|[^#'\"]{0,200};[ \t]{0,9})?)\bprint\b[ \t]*(?![=.,])(.*)$")
_PRINT_STREAM = re.compile(r"^[ \t]{0,80}print[ \t]{0,4}>>", re.MULTILINE)
"""Python 2, though it parses: a comparison of print with a stream."""
_PRINT_TO = re.compile(r">>\s{0,4}([\w.]{1,80})\s{0,4},?\s{0,4}(.*)$")
_EXCEPT = re.compile(r"([ \t]*except\s{1,9}(?:\([^()]{1,200}\)|[\w.]{1,100}))\s{0,4},\s{0,4}(\w{1,80})\s{0,4}:(.*)$")
_RAISE = re.compile(r"([ \t]*raise\s{1,9}[\w.]{1,100})\s{0,4},\s{0,4}(.{1,300})$")
_EXEC = re.compile(r"([ \t]*)exec\s{1,4}([^(\s].{0,300})$")
_LONG = re.compile(r"\b(\d{1,40}|0[xX][0-9a-fA-F]{1,40})[lL]\b")
_OCTAL = re.compile(r"(?<![\w.])0([0-7]{1,20})(?![\w.])")
_TICKS = re.compile(r"`([^`\n]{1,200})`")
_ASYNC = re.compile(r"\basync\s{0,4}=")
_BLOCK_OPENER = re.compile(
    r"[ \t]*(?:def|class|if|elif|else|for|while|with|try|except|finally|async)\b.{0,400}:\s{0,4}(?:#.{0,400})?$"
)
_PROSE = re.compile(
    r"[ \t>*-]{0,20}[A-Za-z(\"'`][\w'(),.\"`:/-]{0,40}(?:\s{1,3}[\w'(),.\"`:;/%<>&=+*-]{1,60}){2,80}\s{0,4}$"
)
_WORD = re.compile(r"(?<![\w.=(])[A-Za-z][a-z']{1,30}(?![\w(=\[])")
_WORDS_OF_A_SENTENCE = 3
_SLASHES = re.compile(r"([ \t]{0,60})//(.{0,400})$")
_ARROW = re.compile(r"(.{1,300}?\S)\s{1,20}(?:-{1,2}>|={1,2}>|\u2192|\u21d2)\s{0,9}(\S.{0,300})$")
_DOTS = re.compile(
    r"[ \t]{0,80}(?:\.{2}|\.{4,80}|[. \t]{3,80}|<\w[\w ]{0,40}>|\[\.{3}\]|-{3,80}|={3,80}|\*{3,80}|"
    r"#?[ \t]{0,4}\.{3} ?\w[\w ,]{0,80})[ \t]{0,80}$"
)


@dataclass(frozen=True, slots=True)
class Repaired:
    """Text after repair.

    Attributes:
        text: what is left; parses where ``tree`` is not None.
        tree: its syntax tree.
        edits: what was done.
        line: where the parser stopped, 1-based; 0 where it did not.
        error: what it said.
    """

    text: str
    tree: ast.Module | None
    edits: tuple[Edit, ...]
    line: int = 0
    error: str = ""


def parse(text: str) -> ast.Module:
    """Parse Python within bounds on size and depth.

    Raises:
        SyntaxError: no Python, too deep or too long; ``lineno`` tells where.
        OverBudgetError: the item costs more than it may.
    """
    limits = rules.load().limits
    if len(text) > limits.block_chars:
        raise _stop("too long", 1)
    spend(len(text))
    _check_depth(text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError:
        raise
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise _stop(str(error) or type(error).__name__, 1) from error


def _stop(message: str, line: int) -> SyntaxError:
    error = SyntaxError(message)
    error.lineno = line
    return error


def _check_depth(text: str) -> None:
    limits = rules.load().limits
    depth = 0
    statement = 0
    for number, line in enumerate(text.split("\n"), 1):
        opened = sum(line.count(c) for c in "([{")
        depth = max(0, depth + opened - sum(line.count(c) for c in ")]}"))
        links = len(_LINK.findall(line))
        statement = statement + links if depth or line.endswith("\\") else links
        if opened > limits.brackets or depth > limits.brackets or links > limits.chain:
            raise _stop("nested too deeply", number)
        if statement > 20 * limits.chain:
            raise _stop("a statement too long", number)


def try_parse(text: str) -> ast.Module | None:
    """Parse, or None where it is no Python."""
    try:
        return parse(text)
    except SyntaxError:
        return None


def repair(text: str, *, prose: bool = True) -> Repaired:
    """Make text parse by recorded edits.

    Args:
        text: a block, at most ``limits.block_chars``.
        prose: whether sentences between lines of code may become comments.

    Returns:
        The text with its tree; without one where nothing listed helped.
    """
    own = rules.load()
    edits: list[Edit] = []
    text = _plain(text, own, edits)
    error: SyntaxError | None = None
    for _ in range(min(own.limits.repairs, _ATTEMPT_CHARS // (len(text) + 1) + 1)):
        try:
            return Repaired(text, parse(text), tuple(edits))
        except SyntaxError as stop:
            error = stop
        changed = _repair_at(text, error, own, edits, prose=prose)
        if changed is None or changed == text:
            break
        text = changed
    line = (error.lineno or 1) if error else 1
    return Repaired(text, None, tuple(edits), line, error.msg if error else "too many repairs")


def _plain(text: str, own: Rules, edits: list[Edit]) -> str:
    """Blanks and quotes as the parser knows them, no common indentation."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = text.translate(_TYPOGRAPHY)
    if plain != text and try_parse(text) is None:
        edits.append(own.edit("typography", 1, "", ""))
        text = plain
    lines = text.split("\n")
    if _PRINT_STREAM.search(text):
        lines = _print_all(lines, own, edits)
    while lines and not lines[0].strip():
        lines.pop(0)
    text = "\n".join(lines).rstrip() + "\n"
    dedented = textwrap.dedent(text)
    if dedented != text:
        edits.append(own.edit("dedented", 1, lines[0][:80] if lines else "", dedented.split("\n", 1)[0][:80]))
    return dedented


Fix = tuple[str, list[str]]
"""Action and the lines that stand in place of the one."""


def _repair_at(text: str, error: SyntaxError, own: Rules, edits: list[Edit], *, prose: bool) -> str | None:
    lines = text.split("\n")
    stopped = min(max(error.lineno or 1, 1), len(lines))
    for number in (stopped, stopped - 1):
        if not 1 <= number <= len(lines):
            continue
        line = lines[number - 1]
        for fix in _FIXES:
            found = fix(line)
            if found is not None and found[1] != [line]:
                edits.append(own.edit(found[0], number, line, "\n".join(found[1])))
                fixed = [*lines[: number - 1], *found[1], *lines[number:]]
                return "\n".join(_print_all(fixed, own, edits) if fix is _print else fixed)
    for structural in (_punctuation, _untab, _missing_body, _shifted):
        moved = structural(lines, stopped, error)
        if moved is not None:
            action, number, changed = moved
            edits.append(own.edit(action, number, lines[number - 1], changed[number - 1]))
            return "\n".join(changed)
    if prose:
        return _comment_out(lines, stopped, own, edits)
    return None


def _timed(line: str) -> Fix | None:
    match = _TIMED.fullmatch(line)
    if match is None:
        return None
    return "magic_removed", [match[1] + match[3]] if match[3].strip() else []


def _magic(line: str) -> Fix | None:
    return ("magic_removed", []) if _MAGIC.match(line) else None


def _print(line: str) -> Fix | None:
    match = _PRINT.fullmatch(line)
    if match is None:
        return None
    code, comment = _split_comment(match[2])
    code = code.rstrip().rstrip(";").rstrip()
    target = _PRINT_TO.fullmatch(code)
    if target:
        code = f"{target[2]}, file={target[1]}" if target[2] else f"file={target[1]}"
    elif code.startswith("(") and (code.count("(") != code.count(")") or try_parse(f"print{code}") is not None):
        return None
    if code.endswith(","):
        code = f"{code} end=' '"
    return "python2", [f"{match[1]}print({code}){comment}"]


def _print_all(lines: list[str], own: Rules, edits: list[Edit]) -> list[str]:
    """Where one print is Python 2's, all are."""
    changed = []
    for number, line in enumerate(lines, 1):
        fix = _print(line)
        if fix is None or fix[1] == [line]:
            changed.append(line)
            continue
        edits.append(own.edit(fix[0], number, line, fix[1][0]))
        changed.extend(fix[1])
    return changed


def _split_comment(text: str) -> tuple[str, str]:
    """Code and the comment behind it; a ``#`` within quotes is none."""
    quote = ""
    for place, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#":
            return text[:place], "  " + text[place:]
    return text, ""


def _by_pattern(action: str, pattern: re.Pattern[str], after: str) -> Callable[[str], Fix | None]:
    """A fix of lines that match a pattern as a whole; ``after`` is what they become, as a template of ``re``."""

    def fix(line: str) -> Fix | None:
        match = pattern.fullmatch(line)
        return (action, [match.expand(after)]) if match else None

    return fix


def _small(line: str) -> Fix | None:
    """Long and octal numbers, back-ticks, ``<>``, and ``async`` as a keyword argument."""
    if _ASYNC.search(line):
        return "api_drift", [_ASYNC.sub("non_blocking=", line)]
    changed = _OCTAL.sub(r"0o\1", _LONG.sub(r"\1", line))
    changed = _TICKS.sub(r"repr(\1)", changed.replace("<>", "!="))
    return ("python2", [changed]) if changed != line else None


def _dots(line: str) -> Fix | None:
    if not _DOTS.fullmatch(line) or not line.strip():
        return None
    indent = line[: len(line) - len(line.lstrip())]
    return "prose_commented", [f"{indent}pass  # {line.strip()}"]


def _arrow(line: str) -> Fix | None:
    """``x.sum() -> 3.0``: what a statement gives is written behind it."""
    match = _ARROW.fullmatch(line)
    if match is None or try_parse(match[1].strip() + "\n") is None:
        return None
    return "output_commented", [f"{match[1]}  # -> {match[2]}"]


_FIXES: tuple[Callable[[str], Fix | None], ...] = (
    _timed,
    _magic,
    _by_pattern("python2", _EXCEPT, r"\1 as \2:\3"),
    _by_pattern("python2", _RAISE, r"\1(\2)"),
    _by_pattern("python2", _EXEC, r"\1exec(\2)"),
    _print,
    _small,
    _dots,
    _by_pattern("prose_commented", _SLASHES, r"\1#\2"),
    _arrow,
)


def _punctuation(lines: list[str], stopped: int, error: SyntaxError) -> tuple[str, int, list[str]] | None:
    """A colon behind an opener, a bracket at the end of a line, a colon too many."""
    line = lines[stopped - 1].rstrip()
    message = error.msg or ""
    changed = line
    if message == "expected ':'" and _BLOCK_OPENER.fullmatch(line + ":"):
        changed = line + ":"
    elif "was never closed" in message:
        changed = line + {"(": ")", "[": "]", "{": "}"}.get(message[1:2], "")
    elif line.endswith("):") and try_parse(line[:-1].strip() + "\n") is not None:
        changed = line[:-1]
    if changed == line:
        return None
    fixed = [*lines[: stopped - 1], changed, *lines[stopped:]]
    if "was never closed" in message and _first_error(fixed) <= stopped:
        return None
    return "punctuation", stopped, fixed


def _first_error(lines: list[str]) -> int:
    try:
        parse("\n".join(lines))
    except SyntaxError as error:
        return error.lineno or 0
    return len(lines) + 1


def _untab(lines: list[str], stopped: int, error: SyntaxError) -> tuple[str, int, list[str]] | None:
    if isinstance(error, TabError) or any("\t" in line for line in lines):
        changed = [line.expandtabs(8 if isinstance(error, TabError) else 4) for line in lines]
        return "typography", stopped, changed
    return None


def _missing_body(lines: list[str], stopped: int, error: SyntaxError) -> tuple[str, int, list[str]] | None:
    """A ``pass`` under an opener that nothing or only a comment follows."""
    if not isinstance(error, IndentationError) or "expected an indented block" not in (error.msg or ""):
        return None
    for number in range(min(stopped, len(lines)), 0, -1):
        line = lines[number - 1]
        opens = _BLOCK_OPENER.fullmatch(line)
        if number < stopped and not opens and line.strip() and not line.lstrip().startswith("#"):
            return None
        if opens and (number < stopped or number == len(lines)):
            indent = line[: len(line) - len(line.lstrip())]
            return "body_added", number, [*lines[: number - 1], line, f"{indent}    pass", *lines[number:]]
    return None


def _shifted(lines: list[str], stopped: int, error: SyntaxError) -> tuple[str, int, list[str]] | None:
    """Lines pasted from within a block: all but the first keep their old indentation."""
    if not isinstance(error, IndentationError) or "unexpected indent" not in (error.msg or ""):
        return None
    line = lines[stopped - 1]
    extra = len(line) - len(line.lstrip())
    before = next((other for other in reversed(lines[: stopped - 1]) if other.strip()), "")
    extra -= len(before) - len(before.lstrip())
    if extra <= 0:
        return None
    rest = lines[stopped - 1 :]
    end = next((i for i, other in enumerate(rest) if other.strip() and not other.startswith(" " * extra)), len(rest))
    moved = [other[extra:] if other.strip() else other for other in rest[:end]]
    return "dedented", stopped, [*lines[: stopped - 1], *moved, *rest[end:]]


def _comment_out(lines: list[str], stopped: int, own: Rules, edits: list[Edit]) -> str | None:
    """Make a sentence or a printed value between lines of code a comment."""
    line = lines[stopped - 1]
    if line.lstrip().startswith(("def ", "class ", "import ", "from ", "for ", "if ", "with ", "return ", "@")):
        return None
    short = line[: own.limits.line_chars]
    if (
        not _PROSE.fullmatch(short)
        or len(_WORD.findall(short)) < _WORDS_OF_A_SENTENCE
        or not _leaves_code(lines, stopped)
    ):
        return None
    indent = line[: len(line) - len(line.lstrip())]
    changed = f"{indent}# {line.strip()}"
    edits.append(own.edit("prose_commented", stopped, line, changed))
    return "\n".join([*lines[: stopped - 1], changed, *lines[stopped:]])


def _leaves_code(lines: list[str], stopped: int) -> bool:
    """Whether code follows; otherwise what follows is output, to be cut off rather than commented."""
    votes = [r.pattern for r in rules.load().lines if r.kind == "python"]
    return any(p.match(line[:400]) for line in lines[stopped : stopped + 200] for p in votes)
