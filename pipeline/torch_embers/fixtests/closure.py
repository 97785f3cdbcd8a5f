"""What of its file a test needs: members of its class and bases, functions, constants, imports, decorators. Pure.

The closure is taken over names: whatever a kept statement reads, and the module or the class binds, is kept too. Base
classes that builds bring (``torch.testing._internal``) stay imports. A local variable with the name of a helper keeps
that helper; a script that is a little too long does no harm.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch_embers.fixtests.outline import FUNCTIONS, Outline, called, needed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from torch_embers.cases.fix_test_rules import Rules

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


@dataclass(slots=True)
class Closure:
    """The parts of a file that one test needs.

    Attributes:
        places: positions of statements that are kept whole.
        imported: for each import statement (by position) the names that are needed of it.
        members: for each class that is kept in part, its kept members.
        calls: positions of calls that make the variants of the class, and of those that prepare the whole file.
    """

    places: set[int] = field(default_factory=set)
    imported: dict[int, set[str]] = field(default_factory=dict)
    members: dict[str, list[ast.stmt]] = field(default_factory=dict)
    calls: set[int] = field(default_factory=set)

    def nodes(self, outline: Outline) -> Iterator[ast.AST]:
        """All that is kept, but for imports at the top of the file."""
        for place in sorted(self.places | self.calls):
            yield outline.body[place]
        for name, members in self.members.items():
            owner = outline.classes[name]
            yield from (*owner.bases, *owner.decorator_list, *members)


def closure_of(outline: Outline, owner: str, test: str, rules: Rules) -> Closure:
    """The parts of the file that the test ``owner.test`` needs.

    Raises:
        RefusedError: the test uses what no standalone script can have.
    """
    found = _Search(outline, rules, owner).run(test)
    _check(outline, found, owner, test, rules)
    return found


class _Search:
    """The closure as a fixed point over names of the module and of the pruned classes."""

    def __init__(self, outline: Outline, rules: Rules, owner: str) -> None:
        self.outline, self.rules, self.owner = outline, rules, owner
        self.heirs = _heirs(outline, owner)
        self.found = Closure()
        self.names: list[str] = []
        self.known: set[str] = set()
        self.attributes: set[str] = set()

    def run(self, test: str) -> Closure:
        for name in (self.owner, *self.heirs):
            self._add_class(name)
        method = next(node for node in self.outline.classes[self.owner].body if _is_called(node, test))
        self._add_member(self.owner, method)
        self._add_calls()
        while self.names:
            self._add_name(self.names.pop())
            if not self.names:
                self._add_members()
        return self.found

    def _read(self, nodes: Iterable[ast.AST]) -> None:
        """Note the names that these nodes read, and the attributes that they take of a pruned class."""
        kept = list(nodes)
        self.names += sorted(needed(kept) - self.known)  # sorted: else reasons and edits differ from run to run
        for root in kept:
            for node in ast.walk(root):
                if isinstance(node, ast.Attribute) and self._is_own(node.value):
                    self.attributes.add(node.attr)

    def _is_own(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id in ("super", "type")
        if isinstance(node, ast.Attribute):
            return node.attr == "__class__"
        return isinstance(node, ast.Name) and (node.id in ("self", "cls") or node.id in self.outline.classes)

    def _add_class(self, name: str) -> None:
        """Keep a class in part: its head, its fixtures and what its body assigns."""
        if name in self.found.members:
            return
        self.found.members[name] = []
        node = self.outline.classes[name]
        self._read([*node.bases, *node.decorator_list, *(keyword.value for keyword in node.keywords)])
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.outline.classes:
                self._add_class(base.id)
        for member in node.body:
            if isinstance(member, FUNCTIONS):
                if member.name in _FIXTURES or (member.name.startswith("__") and member.name.endswith("__")):
                    self._add_member(name, member)
            elif not _makes_tests(member):
                self._add_member(name, member)

    def _add_member(self, owner: str, member: ast.stmt) -> None:
        if member not in self.found.members[owner]:
            self.found.members[owner].append(member)
            self._read([member])

    def _add_members(self) -> None:
        """Keep the members of the pruned classes that are used by now."""
        for owner in list(self.found.members):
            for member in self.outline.classes[owner].body:
                if isinstance(member, (*FUNCTIONS, ast.ClassDef)) and member.name in self.attributes:
                    self._add_member(owner, member)

    def _add_calls(self) -> None:
        wanted = self.rules.statements
        for place, statement in enumerate(self.outline.body):
            if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
                continue
            call = statement.value
            name = called(call)
            makes = (
                name.rpartition(".")[2] in wanted.instantiate
                and bool(call.args)
                and called(call.args[0]) in (self.owner, *self.heirs)
            )
            if makes or name in wanted.keep:
                self.found.calls.add(place)
                self._read([call])

    def _add_name(self, name: str) -> None:
        if name in self.known:
            return
        self.known.add(name)
        owner = self.outline.classes.get(name)
        if owner is not None and (name in self.found.members or _has_tests(owner)):
            self._add_class(name)
            return
        for place in self.outline.gives.get(name, ()):
            statement = self.outline.body[place]
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self.found.imported.setdefault(place, set()).add(name)
            elif place not in self.found.places and not _is_main(statement):
                self.found.places.add(place)
                self._read([statement])


def _check(outline: Outline, found: Closure, owner: str, test: str, rules: Rules) -> None:
    """Refuse what a standalone script cannot have.

    Raises:
        RefusedError: the first thing of that kind.
    """
    node = outline.classes[owner]
    if _is_mixin(node) and not found.calls and not _heirs(outline, owner):
        raise RefusedError("template", owner)
    method = next(member for member in node.body if _is_called(member, test))
    decorators = {called(d).rpartition(".")[2] for d in (*node.decorator_list, *getattr(method, "decorator_list", ()))}
    nodes = list(found.nodes(outline))
    names = needed(nodes)
    calls = {called(n) for root in nodes for n in ast.walk(root) if isinstance(n, ast.Call)}
    _check_device(_conditions(outline, found, rules), rules)
    for rule in rules.refuse:
        if used := rule.decorators & decorators:
            raise RefusedError(rule.id, min(used))
        if used := rule.names & names:
            raise RefusedError(rule.id, min(used))
        for wanted in sorted(rule.calls):
            if any(call == wanted or call.endswith(f".{wanted}") for call in calls):
                raise RefusedError(rule.id, wanted)
    for root in nodes:
        for inner in ast.walk(root):
            if isinstance(inner, ast.Import | ast.ImportFrom):
                check_import(inner, rules)
    for place, wanted_names in sorted(found.imported.items()):
        statement = outline.body[place]
        if isinstance(statement, ast.Import | ast.ImportFrom):
            check_import(statement, rules, wanted_names)


def _is_mixin(node: ast.ClassDef) -> bool:
    """Whether a class has no base that could make it a test case."""
    return all(called(base) == "object" for base in node.bases)


def _heirs(outline: Outline, owner: str) -> tuple[str, ...]:
    """The classes of the file that run the tests of a mixin, those that take it up directly."""
    if not _is_mixin(outline.classes[owner]):
        return ()
    return tuple(
        name for name, node in outline.classes.items() if owner in map(called, node.bases) and len(node.bases) > 1
    )


def _check_device(conditions: Iterable[str], rules: Rules) -> None:
    """Refuse a class whose test case is taken away where its device is missing.

    Raises:
        RefusedError: it is one.
    """
    for condition in conditions:
        for rule in rules.refuse:
            if rule.conditions and rule.conditions.search(condition):
                raise RefusedError(rule.id, condition[:200])


def _conditions(outline: Outline, found: Closure, rules: Rules) -> list[str]:
    """The conditions under which the file takes away the test case of the kept classes."""
    bases = {called(base) for name in found.members for base in outline.classes[name].bases}
    return [
        ast.unparse(statement.test)
        for statement in outline.body
        if isinstance(statement, ast.If)
        for inner in ast.walk(statement)
        if isinstance(inner, ast.Assign)
        and called(inner.value) in rules.statements.no_test
        and bases & {called(target) for target in inner.targets}
    ]


def check_import(node: ast.Import | ast.ImportFrom, rules: Rules, wanted: Collection[str] | None = None) -> None:
    """Refuse an import of what no build brings.

    Args:
        node: the import.
        rules: of data/fix_tests.toml.
        wanted: the names of it that are needed; None for all.

    Raises:
        RefusedError: a package, or a module of the test folder.
    """
    if isinstance(node, ast.ImportFrom):
        if node.level:
            raise RefusedError("needs_test_module", "." * node.level + (node.module or ""))
        modules = [node.module or ""]
    else:
        modules = [
            alias.name
            for alias in node.names
            if wanted is None or (alias.asname or alias.name.partition(".")[0]) in wanted
        ]
    moved = {rule.source for rule in rules.moved}
    for module in modules:
        top = module.partition(".")[0]
        if top in rules.imports.packages:
            raise RefusedError("needs_package", top)
        if top not in rules.imports.available and top not in sys.stdlib_module_names and module not in moved:
            raise RefusedError("needs_test_module", module)


def _is_called(node: ast.stmt, name: str) -> bool:
    return isinstance(node, FUNCTIONS) and node.name == name


def _has_tests(node: ast.ClassDef) -> bool:
    return any(isinstance(member, FUNCTIONS) and member.name.startswith("test") for member in node.body)


def _makes_tests(member: ast.stmt) -> bool:
    """Whether a statement of a class body binds further tests."""
    if isinstance(member, ast.ClassDef):
        return False
    return any(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id.startswith("test")
        for node in ast.walk(member)
    )


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in needed([statement.test])
