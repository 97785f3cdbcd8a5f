"""What is changed in the code of a report so that it runs by itself; all is recorded, and lines keep their number.

Replacements are placed by the syntax tree, so that everything else keeps its form.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.extract import extract_rules
from torch_embers.extract.names import aliases, dotted, nodes, undefined
from torch_embers.extract.script import ScriptChange
from torch_embers.extract.syntax import parse, try_parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DEVICE = "embers_device"
"""Name of the device in a script that named an accelerator."""
_ACCELERATOR = re.compile(r"(cuda|mps|xpu|hpu|npu|mtia|hip)(?::\d{1,2})?")
_TENSOR_TYPE = re.compile(r"torch\.cuda\.(\w{1,20}Tensor)")
_VALUE_BEHIND = re.compile(
    r"#[ \t]{0,4}(?:[-=]{1,2}>|prints?|returns?|outputs?|out|gives?|got)?:?[ \t]{0,4}"
    r"(?:tensor|array|torch\.[sS]|[-\[(]{0,5}\d[\d.,e+-]{0,30}(?![a-zA-Z])|True\b|False\b|nan\b|-?inf\b)"
)
"""A comment that shows what a call gives."""


class _Replacement(NamedTuple):
    """Text for a span of the code, from the place of a node."""

    node: ast.expr | ast.stmt
    after: str
    reason: str
    suffix_of: ast.expr | None = None
    """Only what stands behind this part of the node is replaced."""


@dataclass(slots=True)
class Draft:
    """A script on its way; text and tree belong together."""

    text: str
    tree: ast.Module
    changes: list[ScriptChange]

    def replace(self, wanted: Iterable[_Replacement]) -> None:
        """Make replacements; what would break the script is left out whole."""
        raw = self.text.encode()
        starts = [0, *(end.end() for end in re.finditer(b"\n", raw))]
        spans = []
        for one in wanted:
            from_line, from_column = one.node.lineno, one.node.col_offset
            if one.suffix_of is not None:
                from_line, from_column = one.suffix_of.end_lineno or 0, one.suffix_of.end_col_offset or 0
            end = starts[(one.node.end_lineno or 0) - 1] + (one.node.end_col_offset or 0)
            spans.append((starts[from_line - 1] + from_column, end, one))
        parts: list[bytes] = []
        changes: list[ScriptChange] = []
        done = 0
        for begin, end, one in sorted(spans, key=lambda span: (span[0], -span[1])):
            if begin < done:  # within a part that is replaced already
                continue
            before = raw[begin:end].decode()
            after = one.after + "\n" * (before.count("\n") - one.after.count("\n"))
            parts += [raw[done:begin], after.encode()]
            done = end
            line = raw.count(b"\n", 0, begin) + 1
            changes.append(ScriptChange(line, before[:400], one.after[:400], one.reason))
        text = b"".join([*parts, raw[done:]]).decode()
        if changes and (tree := try_parse(text)) is not None:
            self.text, self.tree = text, tree
            self.changes += changes

    def insert(self, lines: Mapping[str, str]) -> None:
        """Put lines with their reasons behind the docstring and the imports from ``__future__``."""
        place = 0
        for node in self.tree.body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
                break
            place = node.end_lineno or node.lineno
        kept = self.text.split("\n")
        self.text = "\n".join([*kept[:place], *lines, *kept[place:]])
        self.tree = parse(self.text)
        moved = [replace(c, line=c.line + len(lines)) if c.line > place else c for c in self.changes]
        added = [
            ScriptChange(place + number, "", line, reason) for number, (line, reason) in enumerate(lines.items(), 1)
        ]
        self.changes = [*added, *moved]


# --- the header ---------------------------------------------------------------------------------------------------


def add_header(draft: Draft, arguments: str) -> None:
    """Imports that were left out, a seed, the device and the command's arguments."""
    imports = extract_rules.load().imports
    lines = [imports[name] for name in undefined(draft.text, draft.tree) if name in imports]
    seed = 'int(os.environ.get("EMBERS_SEED", "0"))'
    full = {*aliases(draft.tree).values(), *(line.split()[1] for line in lines)}
    header = dict.fromkeys(("import os", "import torch"), "For the seed.")
    for line in lines:
        header.setdefault(line, "An import that the report leaves out.")
    header[f"torch.manual_seed({seed})"] = "Random numbers that a run can repeat."
    for module, call in (("numpy", "numpy.random.seed"), ("random", "random.seed")):
        if "random" in draft.text and any(name.partition(".")[0] == module for name in full):
            header[f"import {module}"] = "For the seed."
            header[f"{call}({seed})"] = "Random numbers that a run can repeat."
    if DEVICE in draft.text:
        chosen = f'{DEVICE} = "cuda" if torch.cuda.is_available() else "cpu"'
        header[chosen] = "The accelerator where there is one, else the CPU."
    if arguments and ("argparse" in draft.text or "sys.argv" in draft.text):
        header["import sys"] = "For the command's arguments."
        header[f"sys.argv[1:] = {arguments.split()!r}"] = "As the report calls it."
    draft.insert(header)


# --- devices ------------------------------------------------------------------------------------------------------


def free_of_device(draft: Draft) -> str:
    """Put a variable in the place of each accelerator that the code moves to.

    Returns:
        The accelerator, or an empty text where the code moves to none.
    """
    before = draft.text
    known = aliases(draft.tree)
    skip = guarded(draft)
    for node in nodes(draft.tree):  # a text that is compared or chosen by a condition is no move
        if isinstance(node, ast.JoinedStr):  # Python 3.11 does not tell where its parts stand
            skip |= {id(inner) for inner in ast.walk(node) if inner is not node}
        if isinstance(node, ast.Compare | ast.IfExp):
            skip |= {id(inner) for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
    device = '"cpu"' if "jit.script" in draft.text else DEVICE  # TorchScript cannot read a global text
    own = [node for node in nodes(draft.tree) if id(node) not in skip]
    moves = [found for node in own if (found := _move(node, known, device) or _opened(node, known))]
    draft.replace(replacement for _, replacement in moves)
    return moves[0][0] if moves and draft.text != before else ""


def _move(node: ast.AST, known: Mapping[str, str], device: str) -> tuple[str, _Replacement] | None:
    """Accelerator and replacement of a node that moves to it."""
    reason = "The device is a variable."
    match node:
        case ast.Call(func=ast.Attribute(attr="cuda" | "xpu" | "mps" as name, value=owner)) if (
            dotted(node.func, known) != f"torch.{name}"
        ):
            return name, _Replacement(node, f".to({device})", reason, owner)
        case ast.Constant(value=str(value)) if match := _ACCELERATOR.fullmatch(value):
            return match[1], _Replacement(node, device, reason)
        case ast.keyword(arg="device", value=ast.Constant(value=int()) as number):
            return "cuda", _Replacement(number, device, reason)
        case ast.Attribute() if match := _TENSOR_TYPE.fullmatch(dotted(node, known)):
            return "cuda", _Replacement(node, f"torch.{match[1]}", reason)
        case _:
            return None


def _opened(node: ast.AST, known: Mapping[str, str]) -> tuple[str, _Replacement] | None:
    """Accelerator and replacement of a node that only serves it, or ends a script without it."""
    match node:
        case ast.Call() if match := extract_rules.load().devices.guarded.fullmatch(dotted(node.func, known)):
            return match[1], _Replacement(node, "None", "It only serves the accelerator.")
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=asked) as test, body=[*_, ast.Raise() | ast.Return()]) if (
            _asks(asked)
        ):
            return "cuda", _Replacement(test, "False", "It goes on without the accelerator.")
        case _:
            return None


def _asks(node: ast.AST) -> bool:
    """Whether a call asks if there is an accelerator."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "is_available"


def guarded(draft: Draft) -> set[int]:
    """Identities of nodes that only run where a condition asks for an accelerator."""
    found: set[int] = set()
    waiting: list[tuple[ast.AST, bool]] = [(draft.tree, False)]
    while waiting:
        node, inside = waiting.pop()
        if inside:
            found.add(id(node))
        elif isinstance(node, ast.If | ast.IfExp) and not isinstance(node.test, ast.UnaryOp):
            inside = any(map(_asks, ast.walk(node.test)))
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


# --- what a script would not show ---------------------------------------------------------------------------------


def has_package(name: str) -> bool:
    """Whether a module is in the standard library or in every build."""
    top = name.partition(".")[0]
    return top in sys.stdlib_module_names or top in extract_rules.load().packages


def print_values(draft: Draft) -> None:
    """Print bare values at module level: a notebook shows them, a script does not."""
    lines = draft.text.split("\n")
    wanted = []
    for node in draft.tree.body:
        if not isinstance(node, ast.Expr):
            continue
        shown = isinstance(node.value, ast.Name | ast.Attribute | ast.Subscript | ast.Compare | ast.BinOp | ast.Tuple)
        if isinstance(node.value, ast.Call) and dotted(node.value.func, {}) != "print":
            shown = bool(_VALUE_BEHIND.search(lines[(node.end_lineno or 1) - 1]))
        if shown:
            source = ast.get_source_segment(draft.text, node.value) or ""
            wanted.append(_Replacement(node, f"print({source})", "A notebook shows values, a script prints them."))
    draft.replace(wanted)


def call_definitions(draft: Draft) -> bool:
    """Call what a report only defines: the first of its functions without arguments.

    Returns:
        Whether something was called.
    """
    calls = (_call(node) for node in draft.tree.body if isinstance(node, ast.FunctionDef))
    call = next(filter(None, calls), "")
    if call:
        draft.changes.append(ScriptChange(draft.text.count("\n") + 1, "", call, "The report only defines it."))
        draft.text += f"{call}\n"
        draft.tree = parse(draft.text)
    return bool(call)


def _call(node: ast.FunctionDef) -> str:
    """Call of a function or a test without further arguments; empty for others."""
    given = node.args
    required = [*given.posonlyargs, *given.args][: len(given.posonlyargs) + len(given.args) - len(given.defaults)]
    if node.decorator_list or not all(given.kw_defaults):
        return ""
    if [one.arg for one in required] == ["self"]:
        return f'{node.name}(__import__("unittest").TestCase())'
    return "" if required else f"{node.name}()"
