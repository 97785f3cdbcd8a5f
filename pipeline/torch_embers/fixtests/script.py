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
    from collections.abc import Iterator, Sequence

    from torch_embers.cases.fix_test_rules import FixTestRules
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


def make_script(file: ParsedFile, owner: str, test: str, rules: FixTestRules) -> str:
    """Cut one test out of its file.

    Args:
        file: as the commit has it.
        owner: class of the test.
        test: its name.
        rules: of data/fix_tests.toml.

    Raises:
        RefusedError: it makes no script, with the reason.
    """
    parts = _parts(Closure(file, owner, test, rules))
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


def _parts(closure: Closure) -> list[str]:
    """Texts of the kept statements, imports and classes, in the order of the file."""
    file = closure.file
    kept = [(first_line(node), file.text(node)) for node in (file.body[place] for place in closure.places)]
    for place, node in enumerate(file.body):
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            kept.append((node.lineno, file.text(node)))
        elif isinstance(node, Import):
            kept += [(node.lineno, text) for text in _imports(node, closure.imported.get(place, set()), closure.rules)]
    last = max((line for line, text in kept if _IMPORTS.match(text)), default=0)
    kept += [(last, text) for text in _submodules(closure)]
    kept += [(first_line(file.classes[name]), _class(file, name, closure.members[name])) for name in closure.members]
    return [text for _, text in sorted(kept, key=lambda entry: entry[0])]


def _submodules(closure: Closure) -> Iterator[str]:
    """A call that loads the submodules of torch that are reached by dots, where other imports loaded them."""
    names = {called(node) for node in closure.nodes() if isinstance(node, ast.Attribute)}
    chains = sorted(name for name in names if name.startswith("torch.") and name.count(".") > 1)
    whole = [repr(name) for name in chains if not any(other.startswith(f"{name}.") for other in chains)]
    if whole and "torch" in closure.file.gives:
        yield _SUBMODULES.format(", ".join(whole))


def _class(file: ParsedFile, name: str, members: Sequence[ast.stmt]) -> str:
    """A class with its kept members only."""
    node = file.classes[name]
    first = first_line(node.body[0])
    if first <= node.lineno:  # all on one line
        return file.method(node)
    head = file.lines[first_line(node) - 1 : max(node.lineno, first - 1)]
    while len(head) > 1 and (not head[-1].strip() or head[-1].lstrip().startswith("#")):  # of its first member
        head.pop()
    kept = [file.text(member) for member in sorted(members, key=first_line)]
    return textwrap.dedent("\n\n".join(["\n".join(head), *(kept or [" " * (node.col_offset + 4) + "pass"])]))


def _imports(node: Import, wanted: set[str], rules: FixTestRules) -> Iterator[str]:
    """The import of each name that is needed, as builds have it."""
    source = node.module or "" if isinstance(node, ast.ImportFrom) else None
    for alias in node.names:
        module = _moved(source, alias.name, rules) if source is not None else _moved(alias.name, None, rules)
        if alias.name == "*":  # it may give names that the search could not see
            if isinstance(node, ast.ImportFrom) and not node.level and _top(module) in rules.imports.available:
                yield f"from {module} import *"
        elif given_name(alias) in wanted:
            yield _import(alias, source, module, rules)


def _import(alias: ast.alias, source: str | None, module: str, rules: FixTestRules) -> str:
    """An import of one name; where it is one of the build, its failure matters only where the name is used."""
    given = alias.asname or alias.name
    lacks = f"{given} = _embers_lacks({given!r})"
    if source is not None:
        text = f"from {module} import {alias.name}" + (f" as {alias.asname}" if alias.asname else "")
        for rule in rules.stand_in:
            if rule.names.fullmatch(alias.name) and rule.module.fullmatch(module):
                return _TRY.format(text, f"{given} = {_VALUES[rule.value]}")
    elif module == alias.name and not alias.asname:
        text, lacks = f"import {module}", f"_embers_lacks({module!r})"
        if module == "torch":
            return text
    else:
        text = f"import {module} as {given}"
    return _TRY.format(text, lacks) if _top(module) in rules.imports.of_builds else text


def _moved(module: str, name: str | None, rules: FixTestRules) -> str:
    """Where builds have what stood in this module."""
    fitting = (rule for rule in rules.moved if rule.source == module and (not rule.names or name in rule.names))
    return next((rule.target for rule in fitting), module)


def _top(module: str) -> str:
    return module.partition(".")[0]
