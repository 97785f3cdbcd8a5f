"""Text of an issue -> its blocks, each with what it is: Python, a session, a command, an output, or why it is no Python.

Markdown is only a hint: tags lie, fences stay open, code stands bare between sentences, and one fence holds the script and its
traceback. So a block is Python where Python's own parser says so, after small recorded repairs, and its lines look like a program.
"""

from __future__ import annotations

import ast
import html
import re
import textwrap
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from torch_embers.repro import rules
from torch_embers.repro.names import dotted
from torch_embers.repro.repair import Repaired, repair, try_parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.repro.rules import Edit

Kind = Literal[
    "python", "session", "shell", "traceback", "output", "cpp", "other", "diff", "config", "graph", "broken", "empty"
]
Source = Literal["fenced", "indented", "paragraph", "html", "inline"]

_FENCE = re.compile(r"([ \t]{0,12}(?:> ?)?(?:[-*+] {1,3}|\d{1,3}[.)] {1,3})?)(`{3,12}|~{3,12})(.*)$", re.DOTALL)
_PROMPT = re.compile(r"[ \t]{0,12}(?:>>>|\.\.\.)(?: (.*)|)$", re.DOTALL)
_PROMPT_START = re.compile(r"[ \t]{0,12}>>>(?: |$)")
_IN = re.compile(r"[ \t]{0,12}In ?\[(?:\d{1,5}| |\*)\] ?: ?(.*)$", re.DOTALL)
_IN_MORE = re.compile(r"[ \t]{0,12}\.{3,12}: ?(.*)$", re.DOTALL)
_OUT = re.compile(r"[ \t]{0,12}Out ?\[\d{1,5}\] ?: ?(.*)$", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s{0,4}[\"']?([A-Za-z_]\w{0,30})[\"']?")
_HEREDOC_PYTHON = re.compile(r"\bpython[\d.]{0,5}\b|\bcat\b.{0,200}\.py\b|\.py\b.{0,60}<<")
_COMMAND = re.compile(r"\bpython[\d.]{0,5}(?: -[A-Za-bd-z]{1,3})*\s{1,4}-c\s{1,4}(?:\$)?([\"'])")
_TRACEBACK = re.compile(
    r"[ \t]{0,20}(?:Traceback \(most recent call last\)|-{40,200}$|[a-zA-Z_]\w{0,40}(?:Error|Exception)[: \t].{0,20}Traceback)"
)
_INLINE = re.compile(r"(?<!`)`([^`\n]{12,400})`(?!`)")
_PRE = re.compile(r"<(pre|code)\b[^>\n]{0,200}>", re.IGNORECASE)
_COMMENT = re.compile(r"<!--|-->")
_MANY_LINES = 3
_CUTS = 6
"""How often a block is cut shorter in search of the code at its beginning."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """One statement of a session and what was printed after it."""

    code: str
    output: str


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a text.

    Attributes:
        text: as it stands in the report, without fence and quote marks.
        kind: what it is.
        source: how it was set off from the prose.
        tag: what stands behind the fence, lower case.
        line: 1-based, of its first line in the text.
        code: the Python in it; empty where there is none.
        chunks: statements with their outputs, of a session.
        outputs: what was printed, apart from code.
        before: the line of prose above it.
        edits: what was done to get the code.
        reason: why it is no Python; empty where it is.
    """

    text: str
    kind: Kind
    source: Source
    tag: str = ""
    line: int = 1
    code: str = ""
    chunks: tuple[Chunk, ...] = ()
    outputs: tuple[str, ...] = ()
    before: str = ""
    edits: tuple[Edit, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Raw:
    text: str
    source: Source
    tag: str
    line: int
    before: str


def blocks(text: str) -> tuple[Block, ...]:
    """Find the blocks of a body or comment, in their order.

    Args:
        text: Markdown from a stranger; only its first ``limits.text_chars`` are read.
    """
    own = rules.load().limits
    found: list[Block] = []
    for raw in _raw_blocks(_without_comments(text[: own.text_chars])):
        found.extend(_blocks_of(raw))
        if len(found) >= own.blocks:
            break
    if not any(block.code for block in found):
        found.extend(_inline(text[: own.text_chars]))
    return tuple(found[: own.blocks])


def prose(text: str) -> str:
    """The text without its fenced blocks and HTML comments: what the reporter says in sentences."""
    limits = rules.load().limits
    kept: list[str] = []
    fence = ""
    for line in _without_comments(text[: limits.text_chars]).split("\n"):
        found = _FENCE.match(line)
        if fence:
            if found and found[2].startswith(fence) and not found[3].strip():
                fence = ""
            continue
        if found and not ("`" in found[3] and found[2][0] == "`"):
            fence = found[2]
            continue
        kept.append(line)
    return "\n".join(kept)


def _without_comments(text: str) -> str:
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


# --- raw blocks --------------------------------------------------------------------------------------------------------------


def _raw_blocks(text: str) -> Iterator[_Raw]:
    lines = text.split("\n")
    bare: list[str] = []
    start = 0
    place = 0
    said = ""
    while place < len(lines):
        found = _opening(lines[place])
        html_tag = None if found else _PRE.search(lines[place][:400])
        if not found and not (html_tag and _closing_tag(lines, place, html_tag[1].lower()) is not None):
            bare.append(lines[place])
            place += 1
            continue
        yield from _bare_blocks(bare, start + 1, said)
        said = _last_said(bare) or said
        if found:
            end, raw = _fenced(lines, place, found, said)
        else:
            end, raw = _html(lines, place, html_tag[1].lower() if html_tag else "pre", said)
        yield raw
        bare, start, place = [], end, end
    yield from _bare_blocks(bare, start + 1, said)


def _opening(line: str) -> tuple[str, str, str] | None:
    """Prefix, fence and what stands behind it."""
    found = _FENCE.match(line[:2000])
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    return found[1], found[2], found[3].strip()


def _fenced(lines: Sequence[str], place: int, opening: tuple[str, str, str], said: str) -> tuple[int, _Raw]:
    prefix, fence, info = opening
    quoted = ">" in prefix
    inside: list[str] = []
    tag, first = _tag(info)
    if first:
        inside.append(first)
    end = place + 1
    while end < len(lines):
        line = lines[end]
        if quoted and line.lstrip().startswith(">"):
            line = re.sub(r"^[ \t]{0,12}> ?", "", line)
        closing = _FENCE.match(line[:2000])
        if closing and closing[2].startswith(fence) and not closing[3].strip("`~ \t"):
            end += 1
            break
        if line.rstrip().endswith(fence) and not line.lstrip().startswith(fence) and len(line) < 400:
            inside.append(line.rstrip()[: -len(fence)])
            end += 1
            break
        inside.append(line)
        end += 1
    return end, _Raw("\n".join(inside), "fenced", tag, place + 1, said)


def _tag(info: str) -> tuple[str, str]:
    """Tag of a fence, and code that was written on its line."""
    word = info.split(" ")[0].strip("{}.").lower() if info else ""
    word = word.split(",")[0].split(":")[0]
    if not info or word in rules.load().tags:
        rest = info[len(info.split(" ")[0]) :].strip() if info else ""
        return word, rest if rest.startswith(("import ", "from ", ">>>")) else ""
    return ("", info) if len(info.split()) > 1 or "(" in info or "=" in info else (word, "")


def _closing_tag(lines: Sequence[str], place: int, name: str) -> int | None:
    close = f"</{name}>"
    for end in range(place, min(len(lines), place + 400)):
        if close in lines[end].lower():
            return end if end > place else None
    return None


def _html(lines: Sequence[str], place: int, name: str, said: str) -> tuple[int, _Raw]:
    end = _closing_tag(lines, place, name)
    last = place if end is None else end
    inside = html.unescape(
        re.sub(r"</?(?:pre|code)\b[^>\n]{0,200}>", "", "\n".join(lines[place : last + 1]), flags=re.I)
    )
    return last + 1, _Raw(inside, "html", "", place + 1, said)


def _last_said(lines: Sequence[str]) -> str:
    kept = [line.strip() for line in lines[-6:] if line.strip()]
    return " ".join(kept[-2:])[-300:]


def _bare_blocks(lines: Sequence[str], start: int, said: str) -> Iterator[_Raw]:
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
            yield _Raw("\n".join(piece), "indented" if indented else "paragraph", "", start + place, said)
        place = end


def _code_line(line: str) -> bool:
    if not line.strip():
        return False
    line = line[: rules.load().limits.line_chars]
    if _PROMPT_START.match(line) or _IN.match(line):
        return True
    if re.match(r"\s{0,8}(?:[-*+#>|]|\d{1,3}[.)])\s", line) and not line.startswith("    "):
        return False
    return any(r.pattern.match(line) for r in rules.load().lines if r.kind == "python")


def _end_of_code(lines: Sequence[str], place: int) -> int:
    """Where a run of code ends: at a line of prose, or at an empty one that no code follows."""
    end = place
    misses = 0
    session = bool(_PROMPT_START.match(lines[place][:400]) or _IN.match(lines[place][:400]))
    last = place
    while end < len(lines):
        line = lines[end]
        if _code_line(line) or line.startswith(("    ", "\t", "  ")) or re.match(r"[)\]}]|\s{0,40}#(?! )|\.\.\.", line):
            last, misses = end + 1, 0
        elif line.strip() or not session:
            misses += 1 if line.strip() else 0
            if misses > (12 if session else 0) or end - last > 2:
                break
        end += 1
    return max(last, place + 1)


def _inline(text: str) -> Iterator[Block]:
    """Calls in back-ticks, where a report has no other code: ``torch.foo(torch.zeros(0))`` crashes."""
    for found in _INLINE.finditer(prose(text)):
        code = found[1].strip()
        tree = try_parse(code + "\n") if "torch." in code and "(" in code else None
        if tree is not None and _evidence(tree) and _closed(tree):
            line = text.count("\n", 0, max(0, text.find(found[1]))) + 1
            yield Block(code, "python", "inline", line=line, code=code + "\n")


def _closed(tree: ast.Module) -> bool:
    """Whether an expression names nothing but torch and what it binds itself, and passes a value to some call."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    loaded = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    passes = any(isinstance(n, ast.Call) and n.args and isinstance(n.args[0], ast.Call) for n in ast.walk(tree))
    return loaded <= {"torch", "float", "int", "range", "print", *stored} and passes


# --- what a block is ---------------------------------------------------------------------------------------------------------


def _blocks_of(raw: _Raw) -> Iterator[Block]:
    limits = rules.load().limits
    text = raw.text.strip("\n")
    base = Block(text, "empty", raw.source, raw.tag, raw.line, before=raw.before)
    if not text.strip():
        if raw.source == "fenced":
            yield base
        return
    lines = text.split("\n")
    if any(_PROMPT_START.match(line[:400]) or _IN.match(line[:400]) or _OUT.match(line[:400]) for line in lines):
        yield _session(base, lines)
        return
    unwrapped = list(_unwrapped(base, text)) if "<<" in text or " -c" in text else []
    if unwrapped:
        yield from unwrapped
        return
    block = _plain(base, text) if len(text) <= limits.block_chars else _long(base, lines)
    if raw.source in ("paragraph", "indented") and not (block.kind == "python" and _means_code(text)):
        return
    yield block


def _means_code(text: str) -> bool:
    """Whether unmarked lines are meant as code: they speak of torch or are many; a test's summary parses, too."""
    return "torch" in text or "nn." in text or "import " in text or text.count("\n") >= _MANY_LINES


def _long(base: Block, lines: Sequence[str]) -> Block:
    kind = _kind(lines[:2000], base.tag)
    return replace(
        base, kind=kind, outputs=(base.text[: rules.load().limits.output_chars],), reason="too long to parse"
    )


def _plain(base: Block, text: str) -> Block:
    lines = text.split("\n")
    kind = _kind(lines, base.tag)
    if kind in ("cpp", "diff") or (kind == "other" and base.tag):
        return replace(base, kind=kind, outputs=(text,), reason=_why(kind))
    found = _python(text)
    if found is not None:
        repaired, outputs = found
        edits = repaired.edits
        if outputs:
            edits = (*edits, rules.load().edit("outputs_separated", repaired.text.count("\n"), outputs[0][:200], ""))
        return replace(base, kind="python", code=repaired.text, outputs=outputs, edits=edits)
    if kind == "python":
        stopped = repair(text)
        reason = f"line {stopped.line}: {stopped.error}"
        return replace(base, kind="broken", code="", reason=reason, outputs=(text,))
    return replace(base, kind=kind, outputs=(text,), reason=_why(kind))


def _why(kind: str) -> str:
    return {
        "cpp": "C++ or CUDA",
        "other": "another language",
        "diff": "a change of files",
        "config": "settings or the environment",
        "shell": "commands",
        "traceback": "a traceback or crash log",
        "graph": "a dump of a graph",
    }.get(kind, "an output")


def _kind(lines: Sequence[str], tag: str) -> Kind:
    """Kind by votes of lines; a fence's tag decides where they are silent."""
    own = rules.load()
    votes: Counter[str] = Counter()
    seen = 0
    for line in lines:
        short = line[: own.limits.line_chars]
        if not short.strip():
            continue
        seen += 1
        for rule in own.lines:
            if rule.pattern.search(short):
                if rule.sure or (rule.kind == "traceback" and seen == 1):
                    votes[rule.kind] += 1000
                votes[rule.kind] += 1
                break
    tagged = own.tags.get(tag, "")
    if votes["diff"] >= 1000 and (tagged in ("diff", "") or votes["diff"] > 3000):
        return "diff"
    if votes["cpp"] >= 1000 or tagged == "cpp" or (votes["cpp"] > 2 * votes["python"] + 2 and tagged != "python"):
        return "cpp"
    if tagged in ("other", "diff") or (tagged == "config" and not votes["python"]):
        return "diff" if tagged == "diff" else "other" if tagged == "other" else "config"
    votes["output"] += 1
    best = max(votes, key=lambda name: (votes[name], name == tagged))
    return _KINDS.get(best, "output")


_KINDS: dict[str, Kind] = {
    "python": "python",
    "shell": "shell",
    "traceback": "traceback",
    "config": "config",
    "graph": "graph",
    "cpp": "cpp",
    "diff": "diff",
}


def _python(text: str) -> tuple[Repaired, tuple[str, ...]] | None:
    """The program in a block and what was printed after it; None where there is no program."""
    head, tail = _before_traceback(text)
    outputs = (tail,) if tail.strip() else ()
    if tail and not head.strip():
        return None
    whole = repair(head)
    if whole.tree is not None:
        return (whole, outputs) if _evidence(whole.tree) else None
    lines = head.split("\n")
    stopped = whole.line
    for _ in range(_CUTS):
        cut = _statement_start(lines, min(stopped, len(lines)))
        if cut < 1:
            return None
        rest = "\n".join(lines[cut:])
        if _program_lines(lines[cut:]) > 1 + _program_lines(lines[:cut]) // 4:
            return None
        first = repair("\n".join(lines[:cut]), prose=False)
        if first.tree is not None:
            return (first, (rest, *outputs)) if _evidence(first.tree) else None
        stopped, lines = min(first.line, cut), lines[:cut]
    return None


def _before_traceback(text: str) -> tuple[str, str]:
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if _TRACEBACK.match(line[:300]):
            return "\n".join(lines[:place]), "\n".join(lines[place:])
    return text, ""


def _statement_start(lines: Sequence[str], stopped: int) -> int:
    """Number of lines before the statement that holds line ``stopped`` (1-based)."""
    place = stopped - 1
    while place > 0 and (lines[place].startswith((" ", "\t", ")", "]", "}")) or not lines[place].strip()):
        place -= 1
    return place


def _program_lines(lines: Iterable[str]) -> int:
    votes = [r.pattern for r in rules.load().lines if r.kind == "python"]
    return sum(1 for line in lines if any(p.match(line[:400]) for p in votes))


def _evidence(tree: ast.Module) -> bool:
    """Whether a tree is a program: printed values, settings and single words parse as Python, too."""
    printed = rules.load().printed
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef() | ast.For() | ast.With():
                return True
            case ast.AsyncFunctionDef() | ast.While() | ast.Try() | ast.Assert() | ast.AugAssign() | ast.If():
                return True
            case ast.Assign() if any(isinstance(part, ast.Call | ast.Attribute) for part in ast.walk(node.value)):
                return not _is_printed(node.value, printed)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name[:1].isupper():
                continue  # a printed module: Linear(in_features=3, ...)
            case ast.Expr(value=ast.Call() as call) if not _is_printed(call, printed):
                return True
            case _:
                continue
    return False


def _is_printed(value: ast.expr, printed: frozenset[str]) -> bool:
    return isinstance(value, ast.Call) and dotted(value.func, {}) in printed


# --- sessions ----------------------------------------------------------------------------------------------------------------


def _session(base: Block, lines: Sequence[str]) -> Block:
    ipython = any(_IN.match(line[:400]) for line in lines)
    if ipython or any(_PROMPT_START.match(line[:400]) for line in lines):
        chunks = tuple(_chunks(lines, ipython=ipython))
    else:
        chunks = tuple(_notebook_chunks(lines))
    edits = (rules.load().edit("prompts_removed", 1, lines[0][:80], chunks[0].code[:80] if chunks else ""),)
    code = "".join(chunk.code.rstrip("\n") + "\n" for chunk in chunks)
    outputs = tuple(chunk.output for chunk in chunks if chunk.output.strip())
    return replace(base, kind="session", code=code, chunks=chunks, outputs=outputs, edits=edits)


def _chunks(lines: Sequence[str], *, ipython: bool) -> Iterator[Chunk]:
    code: list[str] = []
    output: list[str] = []
    for line in lines:
        start, more = _prompt(line, ipython=ipython)
        if start is not None:
            if code:
                yield _chunk(code, output)
            code, output = [start], []
        elif more is not None and code and not any(part.strip() for part in output):
            code.append(more)
        elif not code:
            if _code_line(line) and try_parse(line.strip() + "\n") is not None:
                yield Chunk(line.strip(), "")
        elif _unfinished(code) and len(code) < 80 and not output:
            code.append(line)
        else:
            found = _OUT.match(line)
            output.append(found[1] if found else line)
    if code:
        yield _chunk(code, output)


def _notebook_chunks(lines: Sequence[str]) -> Iterator[Chunk]:
    """Cells without their ``In [1]:``; an output ends at an empty line."""
    code: list[str] = []
    output: list[str] | None = None
    for line in lines:
        found = _OUT.match(line[:400])
        if found:
            output = [found[1]]
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
    found = _PROMPT.match(line)
    if found is None:
        return None, None
    code = found[1] or ""
    return (code, None) if line.lstrip().startswith(">>>") else (None, code)


def _unfinished(code: Sequence[str]) -> bool:
    """Whether a statement goes on in the next line although that has no prompt: an open bracket or a block."""
    text = "\n".join(code)
    if code[-1].rstrip().endswith((":", "\\", ",")):
        return len(code) == 1 or code[-1].rstrip().endswith(("\\", ","))
    opened = sum(text.count(c) for c in "([{") - sum(text.count(c) for c in ")]}")
    return opened > 0 or (len(code) > 1 and code[0].rstrip().endswith(":") and code[-1].startswith((" ", "\t")))


def _chunk(code: Sequence[str], output: Sequence[str]) -> Chunk:
    text = textwrap.dedent("\n".join(code)).rstrip()
    return Chunk(text, "\n".join(output).strip("\n"))


# --- commands ----------------------------------------------------------------------------------------------------------------


def _unwrapped(base: Block, text: str) -> Iterator[Block]:
    """Scripts inside shell commands: heredocs, and ``python -c``."""
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        line = lines[place][:2000]
        heredoc = _HEREDOC.search(line)
        command = None if heredoc else _COMMAND.search(line)
        if heredoc and _HEREDOC_PYTHON.search(line):
            end = next((i for i in range(place + 1, len(lines)) if lines[i].strip() == heredoc[1]), len(lines))
            yield from _from_shell(base, "\n".join(lines[place + 1 : end]), line, place, lines[end + 1 :])
            place = end + 1
            continue
        if command:
            rest = "\n".join([lines[place][command.end() :], *lines[place + 1 : place + 200]])
            code = _quoted(rest, command[1])
            if code is not None:
                after = place + code.count("\n") + 1
                yield from _from_shell(base, code, line, place, lines[after:])
                place = after
                continue
        place += 1


def _quoted(text: str, quote: str) -> str | None:
    """What stands before the closing quote of the shell; escapes within double quotes are resolved."""
    kept: list[str] = []
    place = 0
    while place < len(text):
        char = text[place]
        if char == quote:
            return "".join(kept)
        if char == "\\" and quote == '"' and place + 1 < len(text) and text[place + 1] in '"\\$`\n':
            place += 1
            char = text[place] if text[place] != "\n" else ""
        kept.append(char)
        place += 1
    return None


def _from_shell(base: Block, code: str, command: str, place: int, rest: Sequence[str]) -> Iterator[Block]:
    found = repair(code)
    if found.tree is None or not _evidence(found.tree):
        return
    edit = rules.load().edit("heredoc_unwrapped", place + 1, command[:200], found.text.split("\n", 1)[0][:80])
    output = "\n".join(rest).strip("\n")
    outputs = (output,) if output.strip() and not _HEREDOC.search(output) else ()
    yield replace(
        base, kind="python", line=base.line + place, code=found.text, outputs=outputs, edits=(edit, *found.edits)
    )
