"""One test of a merged fix as a standalone script: the closure of its file, and a few lines that run the test.

The script ends as `git bisect run` has it: 0 the test passes, 1 it fails in its own body, 125 it cannot tell (it does
not load on this build, is skipped, or fails before the test begins). The traceback goes to standard error.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.fixtests.closure import Closure, RefusedError, closure_of
from torch_embers.fixtests.outline import FUNCTIONS, Outline, called, first_line, last_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.cases.fix_test_rules import Rules

_BEGIN = """\
def _embers_cannot_run(kind, error, trace):
    import os, sys, traceback
    traceback.print_exception(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(125)


import sys as _embers_sys
_embers_sys.excepthook = _embers_cannot_run
"""
_LACKING = """\
_embers_lacking = []


class _EmbersLacking(type):
    def _refuse(self, *arguments, **options):
        raise ImportError("this build has no " + self.__name__)

    __call__ = __getattr__ = __instancecheck__ = __subclasscheck__ = _refuse


def _embers_lacks(name):
    _embers_lacking.append(name)
    return type.__new__(_EmbersLacking, name, (), {})
"""
"""A name that a build lacks refuses only where it is used: imports of a file serve its other tests, too."""
_SUBMODULES = """\
def _embers_submodules(*chains):
    import importlib
    import types
    for chain in chains:
        parts = chain.split(".")
        found = _embers_sys.modules.get(parts[0])
        try:
            for place, part in enumerate(parts[1:], 2):
                if not isinstance(found, types.ModuleType):
                    break
                if not hasattr(found, part):
                    importlib.import_module(".".join(parts[:place]))
                found = getattr(found, part)
        except Exception:
            continue
"""
"""Submodules that the test reaches by dots; in the repository other imports of its file, or of others, load them."""
_STAND_IN = """\
def _embers_mark(*arguments, **options):
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return arguments[0]
    return lambda test: test
"""
_END = """\
def _embers_run(name, most):
    import os, sys, unittest

    class Result(unittest.TestResult):
        inside = False

        def _embers_note(self, error):
            trace = error[2]
            while trace is not None:
                code = trace.tb_frame.f_code
                own = code.co_filename == _embers_run.__code__.co_filename
                self.inside = self.inside or own and code.co_name == name
                trace = trace.tb_next

        def addError(self, test, error):
            self._embers_note(error)
            super().addError(test, error)

        def addFailure(self, test, error):
            self._embers_note(error)
            super().addFailure(test, error)

        def addSubTest(self, test, subtest, error):
            if error is not None:
                self._embers_note(error)
            super().addSubTest(test, subtest, error)

    def leave(code, said):
        print(said)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

    found = [
        (kind, each)
        for kind in list(globals().values())
        if isinstance(kind, type) and issubclass(kind, unittest.TestCase)
        and kind.__module__ == "__main__"
        for each in sorted(dir(kind))
        if (each == name or each.startswith(name + "_")) and callable(getattr(kind, each, None))
    ]
    if not found:
        leave(125, "no variant of the test for the devices at hand")
    passed, skipped = 0, ""
    for kind, each in found[:most]:
        result = Result()
        kind(each).run(result)
        wrong = result.errors + result.failures
        if wrong:
            if _embers_lacking:
                leave(125, "lacks_interface: this build has no " + ", ".join(_embers_lacking))
            sys.stderr.write(wrong[0][1])
            leave(1 if result.inside else 125, "%s.%s fails" % (kind.__name__, each))
        if result.skipped or result.expectedFailures or result.unexpectedSuccesses:
            skipped = result.skipped[0][1] if result.skipped else "it is marked as expected to fail"
        else:
            passed += 1
    if not passed:
        leave(125, "skipped: " + skipped)
    leave(0, "%d of %d variants ran, %d pass" % (len(found[:most]), len(found), passed))
"""

_IMPORTS = re.compile(r"(?:try:\s+)?(?:from|import) ")
_VALUES = {"decorator": "_embers_mark", "false": "False", "object": "object"}
_WHY_TOLERANCE = "the third argument and prec were the tolerance until June 2020"


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing that was done to a test on its way to a script.

    Attributes:
        action: kind of it.
        line: 1-based, in the file.
        before: what stood there; empty for an addition.
        after: what stands there now.
        reason: why.
    """

    action: str
    line: int
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True)
class TestScript:
    """A script made of a test.

    Attributes:
        code: the script, without metadata.
        verbatim: the test method as it stands in its file.
        edits: what was done to the file.
    """

    code: str
    verbatim: str
    edits: tuple[Edit, ...]


def make_script(outline: Outline, owner: str, test: str, rules: Rules) -> TestScript:
    """Cut one test out of its file.

    Args:
        outline: the file as the commit has it.
        owner: class of the test.
        test: its name.
        rules: of data/fix_tests.toml.

    Raises:
        RefusedError: it makes no script, with the reason.
    """
    found = closure_of(outline, owner, test, rules)
    lines, edits = _with_tolerances(outline, found, rules)
    file = Outline(lines, outline.body, outline.gives, outline.classes)
    writer = _Writer(file, found, rules, edits)
    parts = writer.parts()
    future = [text for text in parts if text.startswith("from __future__")]
    body = [text for text in parts if not text.startswith("from __future__")]
    marks = [_LACKING, *([_STAND_IN] if writer.stands_in else [])]
    run = f"_embers_run({test!r}, {rules.limits.variants})"
    code = "\n".join([*future, _BEGIN, *marks, *body, "", "", _END, "", run, ""])
    if len(code) > rules.limits.script_chars:
        raise RefusedError("too_large", f"the script has {len(code):,} characters")
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RefusedError("not_parsed", f"the script: {error}") from error
    method = next(n for n in outline.classes[owner].body if isinstance(n, FUNCTIONS) and n.name == test)
    verbatim = outline.method(method)
    edits.append(Edit("runner", 0, "", run, "runs this test alone and ends as git bisect run has it"))
    return TestScript(code, verbatim, tuple(edits))


class _Writer:
    """Writes the kept parts of a file in their order."""

    def __init__(self, outline: Outline, found: Closure, rules: Rules, edits: list[Edit]) -> None:
        self.outline, self.found, self.rules, self.edits = outline, found, rules, edits
        self.stands_in = False

    def parts(self) -> list[str]:
        """Texts of statements, imports and classes, in the order of the file."""
        kept: list[tuple[int, str]] = []
        for place in self.found.places | self.found.calls:
            node = self.outline.body[place]
            kept.append((first_line(node), self.outline.text(first_line(node), last_line(node))))
        for place, statement in enumerate(self.outline.body):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                kept += [(statement.lineno, text) for text in self._import(place, statement)]
        kept += self._submodules(max((line for line, text in kept if _IMPORTS.match(text)), default=0))
        kept += [(first_line(self.outline.classes[name]), self._class(name)) for name in self.found.members]
        return [text for _, text in sorted(kept, key=lambda entry: entry[0])]

    def _submodules(self, line: int) -> list[tuple[int, str]]:
        """A call, after the last import of the file, that loads the submodules of torch that are reached by dots."""
        chains = sorted(
            {
                name
                for root in self.found.nodes(self.outline)
                for node in ast.walk(root)
                if isinstance(node, ast.Attribute)
                and (name := called(node)).startswith("torch.")
                and name.count(".") > 1
            }
        )
        whole = [name for name in chains if not any(other.startswith(name + ".") for other in chains)]
        if not whole or "torch" not in self.outline.gives:
            return []
        listed = ", ".join(repr(name) for name in whole)
        self._edit("submodules", line, "", listed, "what other imports of the file load is loaded where it is lacking")
        return [(line, f"{_SUBMODULES}\n\n_embers_submodules({listed})")]

    def _class(self, name: str) -> str:
        """A class with its kept members only."""
        node = self.outline.classes[name]
        members = sorted(self.found.members[name], key=first_line)
        first = first_line(node.body[0])
        if first <= node.lineno:  # all on one line
            return textwrap.dedent(self.outline.text(first_line(node), last_line(node)))
        head = self.outline.text(first_line(node), max(node.lineno, first - 1))
        texts = [self.outline.text(first_line(m), last_line(m)) for m in members]
        if not texts:
            texts = [" " * (node.col_offset + 4) + "pass"]
        if len(members) < len(node.body):
            self._edit(
                "cut", node.lineno, name, f"{len(members)} of {len(node.body)} members", "the test needs no more"
            )
        return textwrap.dedent("\n\n".join([_without_comment_tail(head), *texts]))

    def _import(self, place: int, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        wanted = self.found.imported.get(place, set())
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            yield from self._star(node)
            return
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield self.outline.text(node.lineno, last_line(node))
            return
        for alias in node.names:
            given = alias.asname or alias.name.partition(".")[0]
            if given not in wanted:
                continue
            yield self._plain(alias, node) if isinstance(node, ast.Import) else self._from(alias, node)

    def _star(self, node: ast.ImportFrom) -> Iterator[str]:
        """A star import of a module that builds bring; it may give names that the search could not see."""
        module = self._module(node.module or "", "*", node.lineno)
        if not node.level and module.partition(".")[0] in self.rules.imports.available:
            yield f"from {module} import *"

    def _plain(self, alias: ast.alias, node: ast.Import) -> str:
        module = self._module(alias.name, None, node.lineno)
        if module == alias.name and not alias.asname:
            text = f"import {module}"
            if module == "torch" or not self._may_lack(module):
                return text
            return f"try:\n    {text}\nexcept ImportError:\n    _embers_lacks({module!r})"
        given = alias.asname or alias.name
        return self._lenient(f"import {module} as {given}", given, module)

    def _from(self, alias: ast.alias, node: ast.ImportFrom) -> str:
        module = self._module(node.module or "", alias.name, node.lineno)
        given = alias.asname or alias.name
        text = f"from {module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        for rule in self.rules.stand_in:
            if rule.names.fullmatch(alias.name) and rule.module.fullmatch(module):
                self.stands_in = self.stands_in or rule.value == "decorator"
                value = _VALUES[rule.value]
                self._edit("stand_in", node.lineno, given, value, rule.reason)
                return f"try:\n    {text}\nexcept ImportError:\n    {given} = {value}"
        return self._lenient(text, given, module)

    def _lenient(self, text: str, given: str, module: str) -> str:
        """An import; where it is one of the build, its failure matters only where the name is used."""
        if not self._may_lack(module):
            return text
        return f"try:\n    {text}\nexcept ImportError:\n    {given} = _embers_lacks({given!r})"

    def _may_lack(self, module: str) -> bool:
        return module.partition(".")[0] in self.rules.imports.of_builds

    def _module(self, module: str, name: str | None, line: int) -> str:
        for rule in self.rules.moved:
            if rule.source == module and (not rule.names or name in rule.names):
                self._edit("moved", line, module, rule.target, rule.reason)
                return rule.target
        return module

    def _edit(self, action: str, line: int, before: str, after: str, reason: str) -> None:
        self.edits.append(Edit(action, line, before, after, reason))


def _without_comment_tail(head: str) -> str:
    """The head of a class without comments that stand before its first member."""
    lines = head.split("\n")
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "\n".join(lines)


def _with_tolerances(outline: Outline, found: Closure, rules: Rules) -> tuple[list[str], list[Edit]]:
    """The lines of the file with tolerances of comparisons in the words of today."""
    lines = list(outline.lines)
    edits: list[Edit] = []
    places = sorted(
        {
            place
            for root in found.nodes(outline)
            for node in ast.walk(root)
            if isinstance(node, ast.Call) and called(node).rpartition(".")[2] in rules.statements.numeric_tolerance
            for place in _tolerances(node)
        },
        reverse=True,
    )
    for line, column, removed, added in places:
        raw = lines[line - 1].encode()
        before = lines[line - 1].strip()
        if raw[column : column + len(removed)] != removed.encode():
            continue
        lines[line - 1] = (raw[:column] + added.encode() + raw[column + len(removed) :]).decode()
        edits.append(Edit("tolerance", line, before, lines[line - 1].strip(), _WHY_TOLERANCE))
    return lines, edits


def _tolerances(call: ast.Call) -> Iterator[tuple[int, int, str, str]]:
    """Where a call names a tolerance in the old way: line, column in bytes, what stands there, what shall."""
    if len(call.args) == 3 and _is_number(call.args[2]):
        yield call.args[2].lineno, call.args[2].col_offset, "", "rtol=0, atol="
    for keyword in call.keywords:
        if keyword.arg == "prec":
            yield keyword.lineno, keyword.col_offset, "prec", "rtol=0, atol"
        elif keyword.arg == "message":
            yield keyword.lineno, keyword.col_offset, "message", "msg"


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    if isinstance(node, ast.Name | ast.Attribute):
        name = called(node).rpartition(".")[2].lower()
        return any(word in name for word in ("prec", "tol", "eps", "atol", "delta"))
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.UnaryOp) and _is_number(node.operand)
