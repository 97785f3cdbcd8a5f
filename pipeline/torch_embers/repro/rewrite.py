"""Recorded replacements in a script, placed by its syntax tree so that everything else keeps its form."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from torch_embers.repro import rules
from torch_embers.extract.names import aliases, bound, dotted, nodes
from torch_embers.repro.repair import parse, try_parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.repro.rules import Drift, Edit


@dataclass(slots=True)
class Draft:
    """A script on its way; text and tree always belong together."""

    text: str
    tree: ast.Module
    edits: list[Edit] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)

    def names(self) -> dict[str, str]:
        """Full name by bound name, with the usual names of modules that are not imported yet."""
        usual = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy"}
        own = bound(self.tree)
        return {name: full for name, full in usual.items() if name not in own} | dict(aliases(self.tree))

    def need(self, requirement: str) -> None:
        """Add a requirement of the case once."""
        if requirement not in self.requires:
            self.requires.append(requirement)

    def insert(self, lines: Sequence[str], action: str, reason: str = "") -> None:
        """Put lines behind the docstring and the imports from ``__future__``."""
        kept = self.text.split("\n")
        place = 0
        for node in self.tree.body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if not docstring and not future:
                break
            place = node.end_lineno or node.lineno
        self._replace_text("\n".join([*kept[:place], *lines, *kept[place:]]))
        self.edits.extend(rules.load().edit(action, place + 1, "", line, reason) for line in lines)

    def after_imports(self, lines: Sequence[str], action: str, reason: str = "") -> None:
        """Put lines behind the imports at the top, where those have been done already."""
        last = self._top_imports()[-1:]
        place = (last[0].end_lineno or last[0].lineno) if last else 0
        kept = self.text.split("\n")
        text = "\n".join([*kept[:place], *lines, *kept[place:]])
        if try_parse(text) is None:  # two statements share the line
            self.insert(lines, action, reason)
            return
        self._replace_text(text)
        self.edits.extend(rules.load().edit(action, place + 1, "", line, reason) for line in lines)

    def imported_at_top(self) -> frozenset[str]:
        """Names bound by the imports at the top."""
        return bound(ast.Module(body=list(self._top_imports()), type_ignores=[]))

    def _top_imports(self) -> list[ast.stmt]:
        kept: list[ast.stmt] = []
        for node in self.tree.body:
            docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if not docstring and not isinstance(node, ast.Import | ast.ImportFrom):
                break
            kept.append(node)
        return kept

    def append(self, lines: Sequence[str], action: str) -> None:
        """Put lines at the end."""
        number = self.text.count("\n") + 1
        self._replace_text(self.text.rstrip("\n") + "\n" + "\n".join(lines) + "\n")
        self.edits.append(rules.load().edit(action, number, "", "\n".join(lines)))

    def apply(self, changes: Iterable[Change]) -> None:
        """Make replacements; of two that overlap the outer one counts, and what breaks the script is dropped whole."""
        if not (chosen := _outermost(changes)):
            return
        raw, starts = _encoded(self.text)
        parts: list[bytes] = []
        done = 0
        edits = []
        for change in chosen:
            begin, end = _span(change.node, starts)
            before = raw[begin:end].decode("utf-8", "surrogatepass")
            parts += [raw[done:begin], change.after.encode("utf-8", "surrogatepass")]
            done = end
            edits.append(
                rules.load().edit(change.action, change.node.lineno, before[:400], change.after[:400], change.reason)
            )
        text = b"".join([*parts, raw[done:]]).decode("utf-8", "surrogatepass")
        if try_parse(text) is not None:
            self._replace_text(text)
            self.edits.extend(edits)

    def source(self, node: ast.expr | ast.keyword) -> str:
        """Text of a node."""
        raw, starts = _encoded(self.text)
        begin, end = _span(node, starts)
        return raw[begin:end].decode("utf-8", "surrogatepass")

    def _replace_text(self, text: str) -> None:
        self.tree = parse(text)
        self.text = text


Located = ast.expr | ast.stmt | ast.keyword


@dataclass(frozen=True, slots=True)
class Change:
    """Text for the place of a node."""

    node: Located
    after: str
    action: str
    reason: str = ""


@lru_cache(maxsize=4)
def _encoded(text: str) -> tuple[bytes, list[int]]:
    """A text as the parser counts its columns, and where its lines begin; asked for once per node."""
    raw = text.encode("utf-8", "surrogatepass")
    return raw, [0, *(end.end() for end in re.finditer(b"\n", raw))]


def _span(node: Located, starts: Sequence[int]) -> tuple[int, int]:
    last = node.end_lineno or node.lineno
    return starts[node.lineno - 1] + node.col_offset, starts[last - 1] + (node.end_col_offset or 0)


def _outermost(changes: Iterable[Change]) -> list[Change]:
    ordered = sorted(
        changes,
        key=lambda c: (c.node.lineno, c.node.col_offset, -(c.node.end_lineno or 0), -(c.node.end_col_offset or 0)),
    )
    kept: list[Change] = []
    for change in ordered:
        if kept:
            last = kept[-1].node
            if (change.node.lineno, change.node.col_offset) < (last.end_lineno or 0, last.end_col_offset or 0):
                continue
        kept.append(change)
    return kept


def in_strings(tree: ast.Module) -> set[int]:
    """Identities of nodes inside f-strings: Python 3.11 does not tell where they stand."""
    return {
        id(inner)
        for node in nodes(tree)
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
        if inner is not node
    }


# --- API drift ----------------------------------------------------------------------------------------------------


def drift(draft: Draft) -> None:
    """Put present names in the place of renamed and removed ones; where there is none, require an old torch."""
    own = rules.load()
    known = draft.names()
    skip = in_strings(draft.tree)
    changes: list[Change] = []
    for node in nodes(draft.tree):
        if id(node) in skip:
            continue
        match node:
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in own.methods2 and len(node.args) == (
                attr == "has_key"
            ):
                changes.append(_method(draft, node, own.methods2[attr]))
            case ast.Call():
                changes.extend(_call_drift(draft, node, known))
            case ast.Attribute() if (plain := dotted(node, {})) in own.name_drift:
                rule = own.name_drift[plain]
                changes.append(Change(node, rule.value, "api_drift", f"{plain}: {rule.reason}"))
            case ast.Subscript(value=ast.Attribute(attr="data"), slice=ast.Constant(value=0)) if _scalar(node):
                base = draft.source(node.value.value) if isinstance(node.value, ast.Attribute) else ""
                changes.append(Change(node, f"{base}.item()", "api_drift", "losses are 0-dimensional since 0.4"))
            case _:
                continue
    draft.apply(changes)


def _scalar(node: ast.Subscript) -> bool:
    base = node.value.value if isinstance(node.value, ast.Attribute) else node
    if isinstance(base, ast.Name):
        return "loss" in base.id.lower()
    return (
        isinstance(base, ast.Call)
        and isinstance(base.func, ast.Attribute)
        and base.func.attr in ("sum", "mean", "norm")
    )


def _method(draft: Draft, node: ast.Call, name: str) -> Change:
    base = draft.source(node.func.value) if isinstance(node.func, ast.Attribute) else ""
    given = ", ".join(draft.source(arg) for arg in node.args)
    return Change(node, f"{base}.{name}({given})", "python2")


def _call_drift(draft: Draft, node: ast.Call, known: dict[str, str]) -> list[Change]:
    own = rules.load()
    full = dotted(node.func, known)
    rule = own.drift.get(full)
    if rule is not None:
        return _moved(draft, node, rule, None)
    if isinstance(node.func, ast.Attribute) and (full.startswith(".") or full.partition(".")[0] not in known.values()):
        method = own.drift.get(f".{node.func.attr}")
        if method is not None:
            return _moved(draft, node, method, node.func.value)
    drops = {k.arg for k in node.keywords if k.arg and (full, k.arg) in own.keyword_drift}
    if not drops:
        return []
    reason = "; ".join(f"{name}: {own.keyword_drift[full, name]}" for name in sorted(drops))
    after = f"{draft.source(node.func)}({', '.join(_arguments(draft, node, drops))})"
    return [Change(node, after, "api_drift", reason)]


def _moved(draft: Draft, node: ast.Call, rule: Drift, owner: ast.expr | None) -> list[Change]:
    if not rule.becomes:
        draft.need(rule.needs)
        return []
    given = _arguments(draft, node, set(rule.drop))
    if owner is not None:
        given.insert(0, draft.source(owner))
    if rule.swap and len(given) >= 2:
        given[:2] = [given[1], given[0]]
    return [Change(node, f"{rule.becomes}({', '.join(given)})", "api_drift", rule.reason)]


def _arguments(draft: Draft, node: ast.Call, drop: set[str] | set[str | None]) -> list[str]:
    kept = [draft.source(arg) for arg in node.args]
    return [*kept, *(draft.source(k) for k in node.keywords if k.arg not in drop)]


# --- what only a person needs -------------------------------------------------------------------------------------


def drop_halts_and_plots(draft: Draft) -> None:
    """Take out debuggers and statements that only draw."""
    own = rules.load()
    known = draft.names()
    drawing = _drawing_names(draft.tree, known)
    changes = []
    for node in nodes(draft.tree):
        if not isinstance(node, ast.Expr | ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        called = node.value.func
        if dotted(called, known) in own.debuggers.calls or dotted(called, {}) in own.debuggers.calls:
            changes.append(Change(node, "pass", "debugger_removed"))
        elif _root(called) in drawing and (isinstance(node, ast.Expr) or _all_stored(node, drawing)):
            changes.append(Change(node, "pass", "plot_removed"))
    draft.apply(changes)


def _drawing_names(tree: ast.Module, known: dict[str, str]) -> frozenset[str]:
    """Names of plotting modules that the script imports, and of what it makes with them."""
    plots = rules.load().plots.roots
    imported = aliases(tree)
    drawing = {name for name, full in known.items() if full.partition(".")[0] in plots}
    drawing |= {name for name in ("plt", "sns") if name not in bound(tree) or name in imported}
    if not drawing:
        return frozenset()
    for node in nodes(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _root(node.value.func) in drawing:
            drawing |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    return frozenset(drawing)


def _all_stored(node: ast.Assign, names: frozenset[str]) -> bool:
    return all(n.id in names for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name))


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def comment_printed_values(draft: Draft) -> None:
    """Printed tensors between lines of code parse as calls of a name that nothing binds: make them comments."""
    own = rules.load()
    unbound = own.printed - bound(draft.tree)
    lines = draft.text.split("\n")
    for node in draft.tree.body:
        match node:
            case ast.Expr(value=ast.Call(func=called)) if dotted(called, {}) in unbound:
                before = lines[node.lineno - 1]
                for number in range(node.lineno - 1, node.end_lineno or node.lineno):
                    lines[number] = "# " + lines[number]
                draft.edits.append(own.edit("output_commented", node.lineno, before, lines[node.lineno - 1]))
            case _:
                continue
    text = "\n".join(lines)
    if text != draft.text and (tree := try_parse(text)) is not None:
        draft.text, draft.tree = text, tree


def print_expressions(draft: Draft) -> None:
    """Print bare values at module level: a notebook shows them, a script does not."""
    changes = [
        Change(node, f"print({draft.source(node.value)})", "expression_printed")
        for node in draft.tree.body
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Name | ast.Attribute | ast.Subscript | ast.Compare | ast.BinOp | ast.Tuple)
    ]
    draft.apply(changes)
