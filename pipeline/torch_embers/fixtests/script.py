"""One test of a merged fix as a standalone script: the closure of its file, and a few lines that run the test.

The script ends as `git bisect run` has it: 0 the test passes, 1 it fails in its own body, 125 it cannot tell (it does
not load on this build, is skipped, or fails before the test begins). The traceback goes to standard error.
"""

from __future__ import annotations

import ast
import re
import textwrap
from string import Template
from typing import TYPE_CHECKING

from torch_embers import resources
from torch_embers.fixtests.closure import Closure, RefusedError
from torch_embers.fixtests.test_file import UNREADABLE, Import, called, first_line, given_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch_embers.cases.fix_test_rules import Rules
    from torch_embers.fixtests.test_file import ParsedFile

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


_embers_submodules({})"""
"""Submodules that the test reaches by dots; in the repository other imports of its file, or of others, load them."""
_STAND_IN = """\
def _embers_mark(*arguments, **options):
    if len(arguments) == 1 and callable(arguments[0]) and not options:
        return arguments[0]
    return lambda test: test

"""
_TRY = "try:\n    {}\nexcept ImportError:\n    {}"
_IMPORTS = re.compile(r"(?:try:\s+)?(?:from|import) ")
_VALUES = {"decorator": "_embers_mark", "false": "False", "object": "object"}


def make_script(file: ParsedFile, owner: str, test: str, rules: Rules) -> str:
    """Cut one test out of its file.

    Args:
        file: as the commit has it.
        owner: class of the test.
        test: its name.
        rules: of data/fix_tests.toml.

    Raises:
        RefusedError: it makes no script, with the reason.
    """
    parts = _Writer(file, Closure(file, owner, test, rules), rules).parts()
    of_future = [text for text in parts if text.startswith("from __future__")]
    body = "".join(f"{text}\n" for text in parts if text not in of_future)
    code = Template(resources.package_file("fixtests", "script_template.txt").read_text(encoding="utf-8")).substitute(
        future="".join(f"{text}\n" for text in of_future),
        stand_in=_STAND_IN if " = _embers_mark" in body else "",
        body=body,
        test=repr(test),
        variants=rules.limits.variants,
    )
    if len(code) > rules.limits.script_chars:
        raise RefusedError("too_large", f"the script has {len(code):,} characters")
    try:
        ast.parse(code)
    except UNREADABLE as error:
        raise RefusedError("not_parsed", f"the script: {error}") from error
    return code


class _Writer:
    """Writes the kept parts of a file in their order."""

    def __init__(self, file: ParsedFile, closure: Closure, rules: Rules) -> None:
        self.file, self.closure, self.rules = file, closure, rules

    def parts(self) -> list[str]:
        """Texts of statements, imports and classes, in the order of the file."""
        kept = [
            (first_line(node), self.file.text(node)) for node in map(self.file.body.__getitem__, self.closure.places)
        ]
        for place, statement in enumerate(self.file.body):
            if isinstance(statement, Import):
                wanted = self.closure.imported.get(place, set())
                kept += [(statement.lineno, text) for text in self._imports(statement, wanted)]
        last = max((line for line, text in kept if _IMPORTS.match(text)), default=0)
        kept += [(last, text) for text in self._submodules()]
        kept += [(first_line(self.file.classes[name]), self._class(name)) for name in self.closure.members]
        return [text for _, text in sorted(kept, key=lambda entry: entry[0])]

    def _submodules(self) -> Iterator[str]:
        """A call that loads the submodules of torch that are reached by dots, where other imports loaded them."""
        names = {called(node) for node in self.closure.nodes() if isinstance(node, ast.Attribute)}
        chains = sorted(name for name in names if name.startswith("torch.") and name.count(".") > 1)
        whole = [repr(name) for name in chains if not any(other.startswith(f"{name}.") for other in chains)]
        if whole and "torch" in self.file.gives:
            yield _SUBMODULES.format(", ".join(whole))

    def _class(self, name: str) -> str:
        """A class with its kept members only."""
        node = self.file.classes[name]
        first = first_line(node.body[0])
        if first <= node.lineno:  # all on one line
            return self.file.method(node)
        head = self.file.lines[first_line(node) - 1 : max(node.lineno, first - 1)]
        while len(head) > 1 and (not head[-1].strip() or head[-1].lstrip().startswith("#")):  # of its first member
            head.pop()
        members = [self.file.text(member) for member in sorted(self.closure.members[name], key=first_line)]
        return textwrap.dedent("\n\n".join(["\n".join(head), *(members or [" " * (node.col_offset + 4) + "pass"])]))

    def _imports(self, node: Import, wanted: set[str]) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            yield self.file.text(node)
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            # of a module that builds bring; it may give names that the search could not see
            module = self._module(node.module or "", "*")
            if not node.level and module.partition(".")[0] in self.rules.imports.available:
                yield f"from {module} import *"
        else:
            for alias in node.names:
                if given_name(alias) in wanted:
                    yield self._plain(alias) if isinstance(node, ast.Import) else self._from(alias, node.module or "")

    def _plain(self, alias: ast.alias) -> str:
        module = self._module(alias.name)
        if module == alias.name and not alias.asname:
            text = f"import {module}"
            return text if module == "torch" else self._lenient(text, module, f"_embers_lacks({module!r})")
        given = alias.asname or alias.name
        return self._lenient(f"import {module} as {given}", module, f"{given} = _embers_lacks({given!r})")

    def _from(self, alias: ast.alias, source: str) -> str:
        module, given = self._module(source, alias.name), given_name(alias)
        text = f"from {module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        for rule in self.rules.stand_in:
            if rule.names.fullmatch(alias.name) and rule.module.fullmatch(module):
                return _TRY.format(text, f"{given} = {_VALUES[rule.value]}")
        return self._lenient(text, module, f"{given} = _embers_lacks({given!r})")

    def _lenient(self, text: str, module: str, otherwise: str) -> str:
        """An import; where it is one of the build, its failure matters only where the name is used."""
        return _TRY.format(text, otherwise) if module.partition(".")[0] in self.rules.imports.of_builds else text

    def _module(self, module: str, name: str | None = None) -> str:
        """Where builds have what stood in this module."""
        rules = (rule for rule in self.rules.moved if rule.source == module and (not rule.names or name in rule.names))
        return next((rule.target for rule in rules), module)
