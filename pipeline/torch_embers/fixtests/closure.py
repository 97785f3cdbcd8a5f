"""What of its file a test needs: members of its class and bases, functions, constants, imports, decorators. Pure.

The closure is taken over names: whatever a kept statement reads, and the module or the class binds, is kept too. Base
classes that builds bring (``torch.testing._internal``) stay imports. A local variable with the name of a helper keeps
that helper; a script that is a little too long does no harm.
"""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from torch_embers.fixtests.test_file import Function, Import, called, given_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torch_embers.cases.fix_test_rules import FixTestRules
    from torch_embers.fixtests.test_file import ParsedFile

_FIXTURES = frozenset(
    {"setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "run", "id", "shortDescription"}
)


class RefusedError(Exception):
    """A test makes no script.

    Attributes:
        reason: of data/fix_tests.toml.
        detail: the exact obstacle.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Closure:
    """The parts of a file that one test needs, found as a fixed point over names of the module and of kept classes.

    Attributes:
        file: the file as the commit has it.
        rules: of data/fix_tests.toml.
        places: positions of statements that are kept whole.
        imported: for each import statement (by position) the names that are needed of it.
        members: for each class that is kept in part, its kept members.

    Raises:
        RefusedError: the test uses what no standalone script can have.
    """

    def __init__(self, file: ParsedFile, owner: str, test: str, rules: FixTestRules) -> None:
        self.places: set[int] = set()
        self.imported: dict[int, set[str]] = {}
        self.members: dict[str, list[ast.stmt]] = {}
        self.file, self.rules = file, rules
        self._names: list[str] = []
        self._known: set[str] = set()
        self._attributes: set[str] = set()
        node, method = file.classes[owner], file.tests[owner, test]
        is_mixin = all(called(base) == "object" for base in node.bases)
        kept = (owner, *(self._heirs(owner) if is_mixin else ()))
        for name in kept:
            self._add_class(name)
        self._add_member(owner, method)
        self._add_calls(kept)
        while self._names:
            self._add_name(self._names.pop())
            if not self._names:
                self._add_members()
        if is_mixin and len(kept) == 1 and not any(isinstance(file.body[place], ast.Expr) for place in self.places):
            raise RefusedError("template", owner)
        self._check({called(mark).rpartition(".")[2] for mark in (*node.decorator_list, *method.decorator_list)})

    def nodes(self) -> Iterator[ast.AST]:
        """All that is kept, but for imports at the top of the file, with everything within it."""
        for root in self._roots():
            yield from ast.walk(root)

    def _roots(self) -> Iterator[ast.AST]:
        for place in sorted(self.places):
            yield self.file.body[place]
        for name, members in self.members.items():
            owner = self.file.classes[name]
            yield from (*owner.bases, *owner.decorator_list, *members)

    def _heirs(self, mixin: str) -> Iterator[str]:
        """The classes of the file that run the tests of a mixin, those that take it up directly."""
        for name, node in self.file.classes.items():
            if mixin in map(called, node.bases) and len(node.bases) > 1:
                yield name

    def _read(self, roots: Iterable[ast.AST]) -> None:
        """Note the names that these nodes read, and the attributes that they take of a kept class."""
        names = set()
        for node in (node for root in roots for node in ast.walk(root)):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and self._is_own(node.value):
                self._attributes.add(node.attr)
        self._names += sorted(names - self._known - {"self"})  # sorted: else reasons differ from run to run

    def _is_own(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in ("super", "type")
        if isinstance(node, ast.Attribute):
            return node.attr == "__class__"
        return isinstance(node, ast.Name) and (node.id in ("self", "cls") or node.id in self.file.classes)

    def _add_class(self, name: str) -> None:
        """Keep a class in part: its head, its fixtures and what its body assigns."""
        if name in self.members:
            return
        self.members[name] = []
        node = self.file.classes[name]
        self._read([*node.bases, *node.decorator_list, *(keyword.value for keyword in node.keywords)])
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.file.classes:
                self._add_class(base.id)
        for member in node.body:
            if isinstance(member, Function):
                if member.name in _FIXTURES or (member.name.startswith("__") and member.name.endswith("__")):
                    self._add_member(name, member)
            elif not _makes_tests(member):
                self._add_member(name, member)

    def _add_member(self, owner: str, member: ast.stmt) -> None:
        if member not in self.members[owner]:
            self.members[owner].append(member)
            self._read([member])

    def _add_members(self) -> None:
        """Keep the members of the kept classes that are used by now."""
        for owner in list(self.members):
            for member in self.file.classes[owner].body:
                if isinstance(member, Function | ast.ClassDef) and member.name in self._attributes:
                    self._add_member(owner, member)

    def _add_calls(self, classes: Iterable[str]) -> None:
        """Keep the calls that make the variants of these classes, and those that every test of the file relies on."""
        wanted = self.rules.statements
        for place, statement in enumerate(self.file.body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                call, name = statement.value, called(statement.value)
                makes = name.rpartition(".")[2] in wanted.instantiate and call.args and called(call.args[0]) in classes
                if makes or name in wanted.keep:
                    self.places.add(place)
                    self._read([call])

    def _add_name(self, name: str) -> None:
        if name in self._known:
            return
        self._known.add(name)
        owner = self.file.classes.get(name)
        if owner is not None and (name in self.members or _has_tests(owner)):
            self._add_class(name)
            return
        for place in self.file.gives.get(name, ()):
            statement = self.file.body[place]
            if isinstance(statement, Import):
                self.imported.setdefault(place, set()).add(name)
            elif place not in self.places and not _is_main(statement):
                self.places.add(place)
                self._read([statement])

    def _check(self, decorators: set[str]) -> None:
        """Refuse what a standalone script cannot have.

        Raises:
            RefusedError: the first thing of that kind.
        """
        nodes = list(self.nodes())
        names = {node.id for node in nodes if isinstance(node, ast.Name)}
        calls = {called(node) for node in nodes if isinstance(node, ast.Call)}
        conditions = self._conditions()
        for rule in self.rules.refuse:
            met = set(rule.decorators & decorators) or set(rule.names & names)
            met = met or {one for one in rule.calls if any(f".{call}".endswith(f".{one}") for call in calls)}
            met = met or {one[:200] for one in conditions if rule.conditions and rule.conditions.search(one)}
            if met:
                raise RefusedError(rule.id, min(met))
        for node in nodes:
            if isinstance(node, Import):
                self._check_import(node, node.names)
        for place, wanted in sorted(self.imported.items()):
            statement = self.file.body[place]
            if isinstance(statement, Import):
                self._check_import(statement, [alias for alias in statement.names if given_name(alias) in wanted])

    def _conditions(self) -> list[str]:
        """The conditions under which the file takes away the test case of the kept classes."""
        bases = {called(base) for name in self.members for base in self.file.classes[name].bases}
        return [
            ast.unparse(statement.test)
            for statement in self.file.body
            if isinstance(statement, ast.If)
            for inner in ast.walk(statement)
            if isinstance(inner, ast.Assign)
            and called(inner.value) in self.rules.statements.no_test
            and bases & {called(target) for target in inner.targets}
        ]

    def _check_import(self, node: Import, wanted: Iterable[ast.alias]) -> None:
        """Refuse an import of a package or of a module of the test folder, which no build brings."""
        if isinstance(node, ast.ImportFrom) and node.level:
            raise RefusedError("needs_test_module", "." * node.level + (node.module or ""))
        moved = {rule.source for rule in self.rules.moved}
        for module in [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in wanted]:
            top = module.partition(".")[0]
            if top in self.rules.imports.packages:
                raise RefusedError("needs_package", top)
            if module not in moved and top not in self.rules.imports.available | sys.stdlib_module_names:
                raise RefusedError("needs_test_module", module)


def _has_tests(node: ast.ClassDef) -> bool:
    return any(isinstance(member, Function) and member.name.startswith("test") for member in node.body)


def _makes_tests(member: ast.stmt) -> bool:
    """Whether a statement of a class body binds further tests."""
    if isinstance(member, ast.ClassDef):
        return False
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("test")
        for node in ast.walk(member)
    )


def _is_main(statement: ast.stmt) -> bool:
    """Whether it is what a file does where it is run itself."""
    return isinstance(statement, ast.If) and any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )
