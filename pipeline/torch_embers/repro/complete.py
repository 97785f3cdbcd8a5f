"""From the code of a report to a script that runs by itself: recorded edits, or the reason why there is none.

Each step changes one thing and writes down what it did, so that the distance between what was reported and what is
run is data. Whatever a step would have to guess (the shape of an input, the content of a file) ends in a reason.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.repro import devices, refuse, rewrite, rules
from torch_embers.extract.names import Use, bound, dotted, module_level, nodes, star_imports, too_early, undefined
from torch_embers.repro.repair import parse, repair
from torch_embers.repro.rewrite import Change, Draft

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.repro.rules import Edit, Import
    from torch_embers.repro.sessions import Chunk

_TRACEBACK = "Traceback (most recent call last)"
_ENTRY = ("main", "repro", "run", "test", "demo", "reproduce", "example", "bug", "check", "bench")
_SHOWN_UNDEFINED = 6


@dataclass(frozen=True, slots=True)
class Completed:
    """What became of a piece of code.

    Attributes:
        script: standalone Python; the best there is where ``reason`` says that it cannot run.
        edits: what was done, in order.
        requires: what a case of it must declare beside cpu: cuda, mps, package:numpy, torch<1.8.
        reason: of ``[[reason]]``; empty where the script runs by itself.
        detail: which name, package or file.
    """

    script: str
    edits: tuple[Edit, ...]
    requires: tuple[str, ...]
    reason: str = ""
    detail: str = ""

    @property
    def runnable(self) -> bool:
        """Whether the script stands alone."""
        return not self.reason


def from_session(chunks: Sequence[Chunk]) -> tuple[str, tuple[Edit, ...]]:
    """Code of a session: values it showed are printed, slips are left out.

    A statement that ended in a slip (NameError, SyntaxError ...) is dropped if others follow: a session goes on after
    an error, a script does not.
    """
    own = rules.load()
    lines: list[str] = []
    edits: list[Edit] = []
    for place, chunk in enumerate(chunks):
        number = len(lines) + 1
        repaired = repair(chunk.code)
        code = repaired.text.rstrip("\n")
        edits.extend(repaired.edits)
        slip = chunk.output.rstrip().rpartition("\n")[2].partition(":")[0].rpartition(".")[2]
        if place and (repaired.tree is None or (slip in own.exception.slips and place + 1 < len(chunks))):
            edits.append(own.edit("failed_statement_removed", number, code[:400], ""))
            continue
        shown = chunk.output.strip() and _TRACEBACK not in chunk.output
        if shown and repaired.tree is not None and _bare(repaired.tree):
            lines.extend(f"print({code.strip().rstrip(';')})".split("\n"))
            edits.append(own.edit("expression_printed", number, code[:400], f"print({code.strip()})"[:400]))
            continue
        lines.extend(code.split("\n"))
    return "\n".join(lines) + "\n", tuple(edits)


def _bare(tree: ast.Module) -> bool:
    """Whether a statement is one expression that a session shows; a call of print shows nothing more."""
    match tree.body:
        case [ast.Expr(value=ast.Call(func=ast.Name(id="print")))]:
            return False
        case [ast.Expr()]:
            return True
        case _:
            return False


def complete(code: str, *, title: str = "", evidence: str = "") -> Completed:
    """Make a standalone script of code.

    Args:
        code: Python, possibly of an old release; prompts are gone.
        title: of the item: tells whether the device, the precision or the generator is what the bug is about.
        evidence: the reported error, for the same purpose.
    """
    repaired = repair(code)
    if repaired.tree is None:
        return Completed(repaired.text, repaired.edits, (), "syntax", f"line {repaired.line}: {repaired.error}")
    draft = Draft(repaired.text, repaired.tree, list(repaired.edits))
    try:
        reason, detail = _finish(draft, title, evidence)
    except SyntaxError as error:
        reason, detail = "fragment", str(error.msg or error)[:200]
    except (RecursionError, MemoryError):
        reason, detail = "syntax", "nested too deeply"
    return Completed(draft.text, tuple(draft.edits), tuple(draft.requires), reason, detail)


def _finish(draft: Draft, title: str, evidence: str) -> tuple[str, str]:
    """All steps in their order; reason and detail, or empty texts."""
    if (refusal := refuse.size(draft.text))[0]:
        return refusal
    _python2_names(draft)
    rewrite.drop_halts_and_plots(draft)
    rewrite.comment_printed_values(draft)
    if (refusal := _refused(draft))[0]:
        return refusal
    rewrite.drift(draft)
    if other := devices.settle(draft, title, evidence):
        return "other_device", other
    if missing := _define(draft):
        return "fragment", ", ".join(missing[:_SHOWN_UNDEFINED])
    if (refusal := _refused(draft))[0]:  # again: names that were imported just now
        return refusal
    if refuse.only_imports(draft.text):
        return "install_or_build", "imports only"
    if refuse.elided(draft.tree):
        return "fragment", "arguments left out"
    if refuse.runs_nothing(draft.tree) and not _call(draft):
        return "fragment", "only definitions: nothing is run"
    if not _uses_torch(draft):
        return "fragment", "nothing of torch is used"
    rewrite.print_expressions(draft)
    _seed(draft, title)
    parse(draft.text)
    return "", ""


def _refused(draft: Draft) -> tuple[str, str]:
    refusal = refuse.packages(draft)
    return refusal if refusal[0] else refuse.calls(draft)


def _uses_torch(draft: Draft) -> bool:
    roots = {full.partition(".")[0] for full in draft.names().values()}
    return "torch" in draft.text and not roots.isdisjoint(("torch", "functorch"))


def _python2_names(draft: Draft) -> None:
    own = rules.load()
    free = undefined(draft.text, draft.tree)
    changes = [
        Change(node, own.python2[node.id].value, "python2", own.python2[node.id].reason)
        for node in nodes(draft.tree)
        if isinstance(node, ast.Name) and node.id in own.python2 and node.id in free
    ]
    draft.apply(changes)


# --- undefined names ----------------------------------------------------------------------------------------------


def _define(draft: Draft) -> list[str]:
    """Import or set what is undefined; names that nothing is known about, by their first use."""
    own = rules.load()
    imports: dict[str, str] = {}
    values: dict[str, str] = {}
    missing: list[str] = []
    stars = star_imports(draft.tree)
    for name, use in undefined(draft.text, draft.tree).items():
        known = own.imports.get(name)
        default = own.defaults.get(name)
        if known is not None and _fits(known, use):
            imports.setdefault(known.code, known.reason)
        elif default is not None and not use.attributes and not use.called:
            values[f"{name} = {default.value}"] = default.reason
        elif not _from_star(name, stars):
            missing.append(name)
    missing += [f"{name} (before it is set)" for name in too_early(draft.tree)]
    if missing:
        return missing
    _add_defaults(draft, values)
    for line, reason in imports.items():
        draft.insert([line], "import_added", reason)
    return []


def _fits(known: Import, use: Use) -> bool:
    if known.when == "attribute":
        return bool(use.attributes)
    return use.called or not known.when


def _from_star(name: str, stars: frozenset[str]) -> bool:
    """Whether ``from torch.nn import *`` may give a name; modules of torch export no other module's short names."""
    known = all(module.partition(".")[0] in ("torch", "math", "typing") for module in stars)
    return bool(stars) and known and len(name) > 1


def _add_defaults(draft: Draft, values: dict[str, str]) -> None:
    """Sizes and devices, behind the imports that they may need."""
    if not values:
        return
    lines = list(values)
    if any("torch." in line for line in lines) and "torch" not in bound(draft.tree):
        draft.insert(["import torch"], "import_added")
    draft.after_imports(lines, "default_added", "; ".join(dict.fromkeys(values.values())))


# --- what makes it run, and run the same --------------------------------------------------------------------------


def _call(draft: Draft) -> bool:
    """Call what a report defines and leaves to the reader: tests, and functions without arguments."""
    tests = [
        n for n in draft.tree.body if isinstance(n, ast.ClassDef) and any("TestCase" in ast.unparse(b) for b in n.bases)
    ]
    if tests:
        draft.append(['if __name__ == "__main__":', "    import unittest", "    unittest.main()"], "call_added")
        return True
    free = [n for n in draft.tree.body if isinstance(n, ast.FunctionDef) and _no_arguments(n)]
    entries = [n.name for n in free if n.name.lower().startswith(_ENTRY)]
    chosen = entries or ([free[0].name] if len(free) == 1 else [])
    if not chosen:
        return False
    draft.append([f"{name}()" for name in chosen], "call_added")
    return True


def _no_arguments(node: ast.FunctionDef) -> bool:
    given = node.args
    required = len(given.posonlyargs) + len(given.args) - len(given.defaults)
    return required == 0 and all(default is not None for default in given.kw_defaults) and not node.decorator_list


def _seed(draft: Draft, title: str) -> None:
    """Seed the generators that are used, where the script does not and the bug is not about them."""
    lowered = title.lower()
    if any(word in lowered for word in ("seed", "random", "determinis", "generator", "rng")):
        return
    known = draft.names()
    names = [dotted(node.func, known) for node in nodes(draft.tree) if isinstance(node, ast.Call)]
    if any(name.endswith(("manual_seed", "manual_seed_all", ".seed", "seed_all")) for name in names):
        return
    lines: list[str] = []
    for module, seed in (("torch", "manual_seed(0)"), ("numpy", "random.seed(0)"), ("random", "seed(0)")):
        name = next((own for own, full in known.items() if full == module and own in bound(draft.tree)), "")
        if (name or module == "torch") and any(_is_random(called, module) for called in names):
            if not name or name not in draft.imported_at_top():
                lines.append(f"import {module}" + (f" as {name}" if name not in ("", module) else ""))
            lines.append(f"{name or module}.{seed}")
    if lines and not any(isinstance(n, ast.Name) and n.id == "manual_seed" for n in module_level(draft.tree)):
        draft.after_imports(lines, "seed_added")


def _is_random(name: str, module: str) -> bool:
    """Whether a call draws random numbers; layers draw their weights."""
    root, _, last = name.rpartition(".")
    if module == "torch":
        layer = root == "torch.nn" and last[:1].isupper()
        return layer or (last in rules.load().random.calls and not name.startswith(("numpy.", "random.")))
    prefix = "numpy.random." if module == "numpy" else "random."
    return name.startswith(prefix)
