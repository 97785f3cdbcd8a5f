"""Text of an issue -> its blocks, each with what it is: Python, a session, an output ..., or why it is no Python.

Markdown is only a hint: tags lie, fences stay open, code stands bare between sentences, and one fence holds the script
and its traceback. So a block is Python where Python's own parser says so, after small recorded repairs, and its lines
look like a program.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from torch_embers.repro import rules, sessions
from torch_embers.repro.budget import spend
from torch_embers.repro.markup import Raw, Source, prose, raw_blocks
from torch_embers.extract.names import dotted
from torch_embers.repro.repair import Repaired, parse, repair, try_parse
from torch_embers.repro.shell import output_of, scripts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from torch_embers.repro.rules import Edit
    from torch_embers.repro.sessions import Chunk

Kind = Literal[
    "python", "session", "shell", "traceback", "output", "cpp", "other", "diff", "config", "graph", "broken", "empty"
]

_TRACEBACK = re.compile(
    r"[ \t]{0,20}(?:Traceback \(most recent call last\)|-{40,200}$|"
    r"[a-zA-Z_]\w{0,40}(?:Error|Exception)[: \t].{0,20}Traceback)"
)
_INLINE = re.compile(r"(?<!`)`([^`\n]{12,400})`(?!`)")
_MANY_LINES = 3
_CUTS = 6
"""How often a block is cut shorter in search of the code at its beginning."""


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
        after: the first lines of prose below it.
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
    after: str = ""
    edits: tuple[Edit, ...] = ()
    reason: str = ""


def blocks(text: str) -> tuple[Block, ...]:
    """Find the blocks of a body or comment, in their order.

    Args:
        text: untrusted Markdown; only its first ``limits.text_chars`` are read.
    """
    own = rules.load().limits
    spend(len(text[: own.text_chars]))
    each = (block for raw in raw_blocks(text[: own.text_chars]) for block in _blocks_of(raw))
    found = list(islice(each, own.blocks))
    if not any(block.code for block in found):
        found.extend(islice(_inline(text[: own.text_chars]), own.blocks))
    return tuple(found[: own.blocks])


def _inline(text: str) -> Iterator[Block]:
    """Calls in back-ticks, where a report has no other code: ``torch.foo(torch.zeros(0))`` crashes."""
    for match in _INLINE.finditer(prose(text)):
        code = match[1].strip()
        tree = try_parse(code + "\n") if "torch." in code and "(" in code else None
        if tree is not None and _evidence(tree) and _closed(tree):
            line = text.count("\n", 0, max(0, text.find(match[1]))) + 1
            yield Block(code, "python", "inline", line=line, code=code + "\n")


def _closed(tree: ast.Module) -> bool:
    """Whether an expression names nothing but torch and what it binds itself, and passes a value to some call."""
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    loaded = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    passes = any(isinstance(n, ast.Call) and n.args and isinstance(n.args[0], ast.Call) for n in ast.walk(tree))
    return loaded <= {"torch", "float", "int", "range", "print", *stored} and passes


# --- what a block is ----------------------------------------------------------------------------------------------


def _blocks_of(raw: Raw) -> Iterator[Block]:
    limits = rules.load().limits
    text = raw.text.strip("\n")
    base = Block(text, "empty", raw.source, raw.tag, raw.line, before=raw.before, after=raw.after)
    if not text.strip():
        if raw.source == "fenced":
            yield base
        return
    lines = text.split("\n")
    if sessions.is_session(lines):
        yield _session(base, lines)
        return
    unwrapped = list(islice(_unwrapped(base, text, lines), limits.blocks))
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
        return replace(base, kind="broken", code="", reason=_error(text), outputs=(text,))
    return replace(base, kind=kind, outputs=(text,), reason=_why(kind))


def _error(text: str) -> str:
    """Where the parser stops in a text that is no Python."""
    try:
        parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    return "only values and definitions of values"


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
    votes: Counter[Kind] = Counter()
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
    return max(votes, key=lambda name: (votes[name], name == tagged))


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


def _session(base: Block, lines: Sequence[str]) -> Block:
    chunks = tuple(sessions.chunks(lines))
    edits = (rules.load().edit("prompts_removed", 1, lines[0][:80], chunks[0].code[:80] if chunks else ""),)
    code = "".join(chunk.code.rstrip("\n") + "\n" for chunk in chunks)
    outputs = tuple(chunk.output for chunk in chunks if chunk.output.strip())
    return replace(base, kind="session", code=code, chunks=chunks, outputs=outputs, edits=edits)


def _unwrapped(base: Block, text: str, lines: Sequence[str]) -> Iterator[Block]:
    """Scripts inside shell commands, as blocks of their own."""
    for script in scripts(text):
        repaired = repair(script.code)
        if repaired.tree is None or not _evidence(repaired.tree):
            continue
        first = repaired.text.split("\n", 1)[0][:80]
        output = output_of(lines, script)
        edit = rules.load().edit("heredoc_unwrapped", script.place + 1, script.command[:200], first)
        yield replace(
            base,
            kind="python",
            line=base.line + script.place,
            code=repaired.text,
            outputs=(output,) if output.strip() else (),
            edits=(edit, *repaired.edits),
        )
