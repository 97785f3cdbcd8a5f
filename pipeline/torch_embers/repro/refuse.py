"""Why a script that parses cannot run here: packages, data, other processes, devices or a person that it needs."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from torch_embers.repro import rules
from torch_embers.extract.names import aliases, bound, dotted, nodes
from torch_embers.repro.repair import parse
from torch_embers.repro.rewrite import Change, Draft

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.repro.rules import Package

_SHIMS = {
    "tqdm": "def {name}(items=None, *args, **kwargs): return items",
    "trange": "def {name}(*args, **kwargs): return range(args[0])",
}
_RANK = ("model_zoo", "distributed_cluster", "other_device", "external_data", "gui_or_notebook", "install_or_build")
"""Of several packages, the reason that says most."""


def packages(draft: Draft) -> tuple[str, str]:
    """Settle the imports of a script: drop what is not used, shim progress bars, note requirements.

    Returns:
        Reason and package where one is left that no build has; empty texts otherwise.
    """
    _drop_unused(draft)
    _shim(draft)
    refused: list[tuple[str, str]] = []
    for name in _used_modules(draft):
        top = name.partition(".")[0]
        rule = _package(name)
        if rule is None and top in sys.stdlib_module_names:
            continue
        if rule is None:
            refused.append(("external_package", top))
        elif rule.do == "need":
            draft.need(f"package:{top}")
        elif rule.do != "present":
            refused.append((rule.becomes, name if rule.becomes == "model_zoo" else top))
    if any(isinstance(node, ast.ImportFrom) and node.level for node in nodes(draft.tree)):
        refused.append(("external_package", "a relative import"))
    if not refused:
        return "", ""
    return min(refused, key=lambda entry: _RANK.index(entry[0]) if entry[0] in _RANK else len(_RANK))


def _package(name: str) -> Package | None:
    """Rule of the longest listed prefix of a dotted name."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        rule = rules.load().packages.get(".".join(parts[:length]))
        if rule is not None:
            return rule
    return None


def _used_modules(draft: Draft) -> list[str]:
    """Dotted names of what is imported, and of what is taken from it: ``torchvision.models.resnet18``."""
    known = aliases(draft.tree)
    modules = dict.fromkeys(known.values())
    for node in nodes(draft.tree):
        if isinstance(node, ast.Attribute):
            full = dotted(node, known)
            if full.partition(".")[0] in {name.partition(".")[0] for name in known.values()}:
                modules[full] = None
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules[node.module] = None
        elif isinstance(node, ast.Import):
            modules.update(dict.fromkeys(alias.name for alias in node.names))
    roots = {full.partition(".")[0] for full in known.values()} | {name.partition(".")[0] for name in modules}
    return [name for name in modules if name.partition(".")[0] in roots and not name.startswith("__future__")]


def _drop_unused(draft: Draft) -> None:
    """Imports of packages that builds lack, where nothing uses the name."""
    used = {node.id for node in nodes(draft.tree) if isinstance(node, ast.Name)}
    known = aliases(draft.tree)
    if not any(name not in used and _missing(full) for name, full in known.items()):
        return
    changes = []
    for node in nodes(draft.tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and not getattr(node, "level", 0):
            kept = [a for a in node.names if _bound_name(a) in used or not _missing(_full(node, a)) or a.name == "*"]
            if len(kept) < len(node.names):
                names = ", ".join(ast.unparse(alias) for alias in kept)
                head = f"from {node.module} import " if isinstance(node, ast.ImportFrom) else "import "
                changes.append(Change(node, head + names if kept else "pass", "import_removed"))
    draft.apply(changes)


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _full(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    return f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name


def _missing(full: str) -> bool:
    """Whether a module is in no build."""
    rule = _package(full)
    if rule is None:
        return full.partition(".")[0] not in sys.stdlib_module_names
    return rule.do in ("refuse", "drop", "need") and full.partition(".")[0] != "numpy"


def _shim(draft: Draft) -> None:
    """Put a function that passes its argument on in the place of an imported progress bar."""
    changes = []
    for node in nodes(draft.tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "tqdm":
            shims = [_SHIMS[a.name].format(name=a.asname or a.name) for a in node.names if a.name in _SHIMS]
            if len(shims) == len(node.names) and node.col_offset == 0:
                changes.append(Change(node, "\n".join(shims), "shim_added"))
        elif isinstance(node, ast.Import) and [a.name for a in node.names] == ["tqdm"] and node.col_offset == 0:
            name = node.names[0].asname or "tqdm"
            lines = [f"class {name}:", "    tqdm = staticmethod(lambda items=None, *args, **kwargs: items)"]
            changes.append(Change(node, "\n".join(lines), "shim_added"))
    draft.apply(changes)


# --- calls --------------------------------------------------------------------------------------------------------


def calls(draft: Draft) -> tuple[str, str]:
    """Reason and name of the first call that cannot be served; empty texts where there is none."""
    known = draft.names()
    own = bound(draft.tree)
    named = dict(_called(draft.tree, known))
    modules = set(known.values()) | {
        node.module or "" for node in nodes(draft.tree) if isinstance(node, ast.ImportFrom)
    }
    for refusal in rules.load().refusals:
        if refusal.unless is not None and refusal.unless.search(draft.text):
            continue
        for name in sorted(modules):
            if any(name == module or name.startswith(f"{module}.") for module in refusal.modules):
                return refusal.becomes, name
        for name, method in named.items():
            if name in refusal.calls and name not in own:
                return refusal.becomes, name
            if method in refusal.calls:
                return refusal.becomes, method
    return _arguments(draft.tree, known) or _files(draft.tree, known) or ("", "")


def _called(tree: ast.Module, known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Full name and ``.method`` of everything that is called."""
    for node in nodes(tree):
        if isinstance(node, ast.Call):
            method = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
            yield dotted(node.func, known), method


def _arguments(tree: ast.Module, known: Mapping[str, str]) -> tuple[str, str] | None:
    """A command line that must be given: ``sys.argv[1]``, or a required argument."""
    for node in nodes(tree):
        match node:
            case ast.Subscript(slice=ast.Constant(value=0)):
                continue
            case ast.Subscript(value=value) if dotted(value, known) == "sys.argv":
                return "interactive", "sys.argv"
            case ast.Call(func=ast.Attribute(attr="add_argument"), args=[ast.Constant(value=str(name)), *_]):
                required = any(
                    k.arg == "required" and isinstance(k.value, ast.Constant) and k.value.value is True
                    for k in node.keywords
                )
                optional = any(k.arg in ("nargs", "default") for k in node.keywords)
                if required or not (name.startswith("-") or optional):
                    return "interactive", f"argument {name}"[:80]
            case _:
                continue
    return None


def _files(tree: ast.Module, known: Mapping[str, str]) -> tuple[str, str] | None:
    """A file that is read and that the script did not write."""
    own = rules.load()
    texts = _text_variables(tree)
    read: list[str] = []
    written: set[str] = set()
    writes = False
    for node in nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        name = dotted(node.func, known)
        method = f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""
        mode = _mode(node) if name == "open" else ""
        paths = [path for arg in node.args for path in _paths(arg, texts)]
        if (name in own.readers.writers or method in own.readers.writers) and (
            name != "open" or set(mode) & set("wax+")
        ):
            writes = True
            written.update(paths)
        elif name in own.readers.calls and paths:
            read.append(paths[0])
    missing = [path for path in read if path not in written and path not in ("__file__", "os.devnull")]
    if missing and not (writes and missing[0] == "?"):
        return "external_data", missing[0][:80]
    return None


def _mode(node: ast.Call) -> str:
    given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    return next((a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)), "r")


def _text_variables(tree: ast.Module) -> dict[str, str]:
    return {
        target.id: node.value.value
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _paths(node: ast.expr, texts: Mapping[str, str]) -> list[str]:
    """Paths that an argument names; ``?`` for one that is put together."""
    match node:
        case ast.Constant(value=str(path)):
            return [path]
        case ast.Name(id=name) if name in texts:
            return [texts[name]]
        case ast.Name(id="__file__"):
            return ["__file__"]
        case ast.JoinedStr() | ast.BinOp(op=ast.Add() | ast.Div() | ast.Mod()):
            return ["?"]
        case ast.Call(func=ast.Attribute(attr="join" | "format")):
            return ["?"]
        case _:
            return []


def size(text: str) -> tuple[str, str]:
    """Whether a script is longer than a repro can be."""
    limits = rules.load().limits
    lines = text.count("\n")
    if len(text) > limits.script_chars or lines > limits.script_lines:
        return "too_large", f"{lines:,} lines"
    return "", ""


def elided(tree: ast.Module) -> bool:
    """Whether a call is written with ``...`` for its arguments: a form to fill in, not a program."""
    return any(
        isinstance(node, ast.Call) and [getattr(arg, "value", None) for arg in node.args] == [...] and not node.keywords
        for node in nodes(tree)
    )


def runs_nothing(tree: ast.Module) -> bool:
    """Whether a script only defines: no call and no decorator of torch at module level."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(decorator_list=decorators) | ast.ClassDef(decorator_list=decorators):
                if any(dotted(d.func if isinstance(d, ast.Call) else d, {}).startswith("torch") for d in decorators):
                    return False
            case ast.Import() | ast.ImportFrom():
                continue
            case _:
                if any(isinstance(part, ast.Call | ast.Subscript | ast.BinOp) for part in ast.walk(node)):
                    return False
    return True


def only_imports(text: str) -> bool:
    """Whether a script does nothing but import torch and print versions: then the import itself is the report."""
    for node in parse(text).body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                continue
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"), args=[ast.Attribute() | ast.Constant()])):
                continue
            case ast.Expr(value=ast.Attribute() | ast.Constant()):
                continue
            case _:
                return False
    return True
