"""Scripts that name a device: kept for it where the bug is about it, made to run on any where it is not."""

from __future__ import annotations

import ast
import itertools
import re
from collections import deque
from typing import TYPE_CHECKING

from torch_embers.repro import rules
from torch_embers.repro.budget import spend
from torch_embers.extract.names import aliases, dotted, nodes
from torch_embers.repro.rewrite import Change, Draft, in_strings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

HELPER = "embers_device"
"""Name of the device in a script that was made device-agnostic."""
_CUDA = re.compile(r"cuda(?::\d{1,2})?")
_OTHER_CUDA = re.compile(r"cuda:[1-9]\d?")
_TENSOR_TYPE = re.compile(r"torch\.cuda\.(\w{1,20}Tensor)")
_HALF_TITLE = re.compile(r"(?i)\b(?:half|fp16|float16|amp|autocast|mixed precision|bf16|bfloat16)\b")
_MPS_TITLE = re.compile(r"(?i)\b(?:mps|metal|apple silicon|m[123] (?:mac|pro|max))\b")


def settle(draft: Draft, title: str, evidence: str) -> str:
    """Decide what the script needs, and rewrite it where the device does not matter.

    Args:
        draft: changed in place; gets the requirement ``cuda`` or ``mps``, or device-agnostic edits.
        title: of the item.
        evidence: the error as reported.

    Returns:
        The name of a device that cases cannot require, or an empty text.
    """
    constants = [value for value, _ in _constants_guarded(draft.tree)]
    others = rules.load().device.others
    for value in constants:
        if value.partition(":")[0] in others:
            return value
    names_mps = "mps" in {value.partition(":")[0] for value in constants} or _uses(draft, "torch.mps")
    if names_mps and (not _guarded(draft.tree, "mps") or _MPS_TITLE.search(title[:400])):
        draft.need("mps")
        return ""
    if not _names_cuda(draft, constants):
        return ""
    if about_cuda(draft, title, evidence):
        draft.need("cuda")
        return ""
    _make_agnostic(draft)
    _widen_half(draft, title)
    return ""


def about_cuda(draft: Draft, title: str, evidence: str) -> bool:
    """Whether the device is part of the bug: title or error say so, or the script measures, compares or demands it."""
    own = rules.load()
    if own.device.title.search(title[:400]) or own.device.evidence.search(evidence[:4000]):
        return True
    if any(_uses(draft, name) for name in own.device.needs_cuda) or _demands_cuda(draft) or _calls(draft, "pin_memory"):
        return True
    bare = [value for value, guarded in _constants_guarded(draft.tree) if not guarded]
    if any(_OTHER_CUDA.fullmatch(value) for value in bare):
        return True
    return "cpu" in bare and any(_CUDA.fullmatch(value) for value in bare)


def _demands_cuda(draft: Draft) -> bool:
    """Whether a script ends itself where there is no such device."""
    known = draft.names()
    for node in nodes(draft.tree):
        match node:
            case ast.Assert(test=ast.Call(func=called)) if dotted(called, known) == "torch.cuda.is_available":
                return True
            case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=called)), body=body) if (
                dotted(called, known) == "torch.cuda.is_available"
            ):
                return any(_ends(statement, known) for statement in body)
            case _:
                continue
    return False


def _ends(node: ast.stmt, known: dict[str, str]) -> bool:
    if isinstance(node, ast.Raise | ast.Return):
        return True
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return called is not None and dotted(called, known) in ("sys.exit", "exit", "quit", "os._exit")


def _names_cuda(draft: Draft, constants: list[str]) -> bool:
    if any(_CUDA.fullmatch(value) or _TENSOR_TYPE.fullmatch(value) for value in constants):
        return True
    if _calls(draft, "cuda") or _calls(draft, "pin_memory"):
        return True
    used = _dotted_attributes(draft)
    if any(full.startswith(("torch.cuda.", "torch._C._cuda")) for full in used):
        return True
    return any(full.startswith("torch.cuda") for full in aliases(draft.tree).values())


def _dotted_attributes(draft: Draft) -> Iterator[str]:
    known = draft.names()
    return (dotted(node, known) for node in nodes(draft.tree) if isinstance(node, ast.Attribute))


def _calls(draft: Draft, method: str) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
        for node in nodes(draft.tree)
    )


def _constants_guarded(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    """Short text constants, and whether a condition chooses them (``"cuda" if available else "cpu"``)."""
    chosen = {
        id(inner)
        for node in nodes(tree)
        if isinstance(node, ast.IfExp)
        for part in (node.body, node.orelse)
        for inner in ast.walk(part)
    }
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 40:
            yield node.value, id(node) in chosen


def _guarded(tree: ast.Module, device: str) -> bool:
    return any(value.partition(":")[0] == device and guarded for value, guarded in _constants_guarded(tree))


def _uses(draft: Draft, name: str) -> bool:
    """Whether a function or module is used by its full name or imported."""
    used = itertools.chain(aliases(draft.tree).values(), _dotted_attributes(draft))
    return any(full == name or full.startswith(f"{name}.") for full in used)


def _make_agnostic(draft: Draft) -> None:
    """``.cuda()`` and ``"cuda"`` become a device chosen at the top; synchronisation is guarded."""
    scripted = "jit" in draft.text and "script" in draft.text
    device = '"cpu"' if scripted else HELPER  # TorchScript cannot read a global text
    known = draft.names()
    skip = in_strings(draft.tree)
    guarded = {id(n) for node in nodes(draft.tree) if isinstance(node, ast.IfExp) for n in ast.walk(node)}
    changes = [c for c in _agnostic_parts(draft, known, device, skip) if id(c.node) not in guarded]
    if not changes:
        return
    before = draft.text
    draft.apply(changes)
    if draft.text != before and HELPER in draft.text:
        line = f'{HELPER} = "cuda" if torch.cuda.is_available() else "cpu"'
        torch = [] if "torch" in draft.imported_at_top() else ["import torch"]
        draft.after_imports([*torch, line], "device_agnostic")


def _agnostic_parts(draft: Draft, known: dict[str, str], device: str, skip: Collection[int] = ()) -> Iterator[Change]:
    """Changes from the outside in.

    What stands within a changed part was rewritten with it: asking again for each link of ``x.cuda().cuda()...`` would
    double the work with every link.
    """
    waiting: deque[ast.AST] = deque([draft.tree])
    while waiting:
        node = waiting.popleft()
        if isinstance(node, ast.expr) and id(node) not in skip:
            after = _agnostic(draft, node, known, device)
            if after is not None:
                yield Change(node, after, "device_agnostic")
                continue
        waiting.extend(ast.iter_child_nodes(node))


def _agnostic(draft: Draft, node: ast.expr, known: dict[str, str], device: str) -> str | None:
    own = rules.load()
    match node:
        case ast.Call(func=ast.Attribute(attr="cuda", value=owner)) if dotted(node.func, known) != "torch.cuda":
            return f"{_rewritten(draft, owner, known, device)}.to({device})"
        case ast.Call() if dotted(node.func, known) in own.device.harmless:
            return f"(torch.cuda.is_available() and {draft.source(node)})"
        case ast.Constant(value=str(value)) if _CUDA.fullmatch(value):
            return device
        case ast.Constant(value=str(value)) if match := _TENSOR_TYPE.fullmatch(value):
            return repr(f"torch.{match[1]}")
        case ast.Attribute() if match := _TENSOR_TYPE.fullmatch(dotted(node, known)):
            return f"torch.{match[1]}"
        case _:
            return None


def _rewritten(draft: Draft, node: ast.expr, known: dict[str, str], device: str) -> str:
    """Text of an owner of ``.cuda()`` whose own parts may name the device, too; replacements must not overlap."""
    inner = Draft(draft.source(node) + "\n", ast.parse(""), [], [])
    try:
        spend(len(inner.text))
        inner = Draft(inner.text, ast.parse(inner.text))
    except SyntaxError:  # a piece that only stands inside of brackets
        return inner.text.rstrip("\n")
    inner.apply(_agnostic_parts(inner, known, device))
    return inner.text.rstrip("\n")


def _widen_half(draft: Draft, title: str) -> None:
    """CPUs of older releases lack half precision: single where the title does not speak of it."""
    if _HALF_TITLE.search(title[:400]):
        return
    known = draft.names()
    changes = []
    for node in nodes(draft.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="half", value=owner), args=[]) if (
                dotted(node.func, known) != "torch.half"
            ):
                changes.append(Change(node, f"{draft.source(owner)}.float()", "dtype_widened"))
            case ast.Attribute() if dotted(node, known) in ("torch.float16", "torch.half"):
                changes.append(Change(node, "torch.float32", "dtype_widened"))
            case ast.Attribute() if dotted(node, known) == "torch.HalfTensor":
                changes.append(Change(node, "torch.FloatTensor", "dtype_widened"))
            case _:
                continue
    draft.apply(changes)
