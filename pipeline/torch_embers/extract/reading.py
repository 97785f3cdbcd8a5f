"""The texts of a report -> its script, or the one reason why there is none.

The body is read first, comments only where it gives nothing. Blocks that build on each other are joined in the order of
the text; the first that runs something of torch is the script. Nothing is executed here.
"""

from __future__ import annotations

import ast
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torch_embers.extract import changes, extract_rules
from torch_embers.extract.blocks import blocks
from torch_embers.extract.names import aliases, bound, dotted, nodes, undefined
from torch_embers.extract.needs import needs
from torch_embers.extract.script import Script, ScriptChange
from torch_embers.extract.script_command import ONE_PROCESS, command_of
from torch_embers.extract.syntax import parse, try_parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.extract.blocks import Block
    from torch_embers.extract.script import NoScript, ReportText

_SHOWN = 6
"""Missing names that a reason lists."""


@dataclass(frozen=True, slots=True)
class _Part:
    block: Block
    binds: frozenset[str]
    free: frozenset[str]


def read(item: ReportText) -> Script | NoScript:
    """Find the script of a report.

    Args:
        item: its texts; anything may stand in them. Read in linear time.

    Returns:
        One answer, whatever the text.
    """
    own = extract_rules.load()
    body = blocks(item.body)
    found = _chosen(item, body, item.body)
    if isinstance(found, Script):
        return found
    for number, comment in enumerate(item.comments[: own.limits.comments], 1):
        if "torch" in comment and own.aside.reproduces.search(comment[: own.limits.text_chars]):
            other = _chosen(item, blocks(comment), comment)
            if isinstance(other, Script):
                return replace(other, found_in=f"comment {number}")
    if len(item.body) > own.limits.text_chars:
        return own.none("too_large", f"{len(item.body):,} characters")
    return found


def _chosen(item: ReportText, found: Sequence[Block], text: str) -> Script | NoScript:
    """The first candidate that makes a script, else why the first one makes none."""
    parts = [_part(block) for block in found if block.code and not block.aside]
    reason: NoScript | None = None
    for candidate in _candidates(parts):
        script = _script(item, candidate, text)
        if isinstance(script, Script):
            return script
        if reason is None or reason.reason == "fragment":
            reason = script
    return reason or _without_code(found)


def _without_code(found: Sequence[Block]) -> NoScript:
    own = extract_rules.load()
    kinds = {block.kind: block for block in reversed(found)}
    if "broken" in kinds:
        return own.none("fragment", kinds["broken"].error)
    if any(block.code for block in found):
        return own.none("no_code", "but for expected output, a workaround or a fix")
    return own.none("not_python" if "other" in kinds else "no_code")


# --- joining ------------------------------------------------------------------------------------------------------


def _part(block: Block) -> _Part:
    binds = free = frozenset[str]()
    with suppress(SyntaxError):  # a session's statements may not parse together
        binds = bound(block.code)
        free = frozenset(undefined(block.code, parse(block.code))) - extract_rules.load().imports.keys()
    return _Part(block, binds, free)


def _candidates(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Blocks joined with those whose names they need; then the blocks of a joint by themselves."""
    groups: list[list[_Part]] = []
    for part in parts:
        user = next((group for group in reversed(groups) if part.free & _binds(group)), None)
        lacking = next((group for group in reversed(groups) if _free(group) & part.binds), None)
        if user is not None:
            user.append(part)
        elif lacking is not None:  # what is defined below its use must run before it
            lacking.insert(0, part)
        else:
            groups.append([part])
    yield from groups
    yield from ([part] for group in groups if len(group) > 1 for part in group if not part.free)


def _binds(group: Sequence[_Part]) -> frozenset[str]:
    return frozenset().union(*(part.binds for part in group))


def _free(group: Sequence[_Part]) -> frozenset[str]:
    return frozenset().union(*(part.free for part in group)) - _binds(group)


# --- one candidate ------------------------------------------------------------------------------------------------


def _script(item: ReportText, parts: Sequence[_Part], text: str) -> Script | NoScript:
    own = extract_rules.load()
    draft = _joined(parts)
    if draft is None or draft.text.count("\n") > own.limits.script_lines:
        return own.none("too_large", f"code of {sum(part.block.code.count(chr(10)) for part in parts):,} lines")
    command = command_of(text)
    try:
        lacking = needs(draft, command)
        if lacking is not None:
            return own.none(*lacking)
        imports = own.imports
        if missing := [name for name in undefined(draft.text, draft.tree) if name not in imports]:
            return own.none("fragment", f"nothing defines {', '.join(missing[:_SHOWN])}")
        if not _uses_torch(draft):
            return own.none("fragment", "nothing of torch is used")
        if any(
            isinstance(n, ast.Call) and [getattr(a, "value", None) for a in n.args] == [...] for n in nodes(draft.tree)
        ):
            return own.none("fragment", "arguments are left out")
        if not _acts(draft.tree) and not changes.call_definitions(draft):
            return own.none("fragment", "nothing is run")
        device = changes.free_of_device(draft)
        changes.print_values(draft)
        changes.add_header(draft, command.arguments)
    except (SyntaxError, RecursionError, MemoryError) as error:
        return own.none("fragment", str(error)[:200] or "it is nested too deeply")
    environment = dict(command.variables)
    if command.processes == 1:
        environment = ONE_PROCESS | environment
    return Script(draft.text, tuple(draft.changes), environment, device or _device_of(item.title))


def _joined(parts: Sequence[_Part]) -> changes.Draft | None:
    text = ""
    made = []
    for part in parts:
        start = text.count("\n")
        made += [replace(c, line=c.line + start) if c.line else c for c in part.block.changes]
        text += part.block.code.rstrip("\n") + "\n"
    if len(parts) > 1:
        lines = ", ".join(str(part.block.line) for part in parts)
        made.insert(0, ScriptChange(0, "", "", f"Blocks that use each other's names are joined: lines {lines}."))
    tree = try_parse(text)
    return changes.Draft(text, tree, made) if tree is not None else None


def _uses_torch(draft: changes.Draft) -> bool:
    imports = extract_rules.load().imports
    named = [*aliases(draft.tree).values(), *(imports.get(n, "") for n in undefined(draft.text, draft.tree))]
    return any("torch" in name for name in named)


def _acts(tree: ast.Module) -> bool:
    """Whether a script runs something: more than definitions and prints of a version."""
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom():
                continue
            case ast.FunctionDef(decorator_list=marks) | ast.ClassDef(decorator_list=marks):
                if any(dotted(m.func if isinstance(m, ast.Call) else m, {}).startswith("torch") for m in marks):
                    return True
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=args)) if not any(
                isinstance(part, ast.Call | ast.BinOp | ast.Subscript) for arg in args for part in ast.walk(arg)
            ):
                continue
            case _ if any(isinstance(part, ast.Call | ast.Subscript | ast.BinOp) for part in ast.walk(node)):
                return True
            case _:
                continue
    return False


def _device_of(title: str) -> str:
    """The accelerator that a title is about; one that names the CPU as well is about that."""
    own = extract_rules.load().devices
    if own.cpu.search(title[:400]):
        return ""
    return next((name for name, words in own.words.items() if words.search(title[:400])), "")
