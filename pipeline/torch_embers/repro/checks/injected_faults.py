"""Whether the injected fault of a case goes through what the case observes.

With ``EMBERS_PLANT=1`` a case must run the call under test and then spoil what came of it. A fault before the call, or
in its place, shows that a branch exists; it shows nothing about the check of the real result. The rule is read from the
syntax tree, no case is run:

1. what runs without the fault runs with it too: the fault chooses neither a call nor an argument, nor an operator;
2. a fault that leaves (exception, signal, endless wait) comes after a call, and nothing stands behind it that could be
   the call: no other call, operator, attribute or unpacking;
3. any other fault changes a name that a call gave or wrote to, and that name is looked at afterwards; an input that was
   only arranged (transposed, converted) is no such name where a call takes it afterwards;
4. a fault never states the verdict, never spoils the reference, and never rewrites how a child process ended.
"""

from __future__ import annotations

import ast
import builtins
import sys
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from torch_embers.repro.case import FAULT
from torch_embers.repro.checks.fault_words import rules
from torch_embers.repro.checks.syntax import following, in_order, loaded, shown, stored
from torch_embers.repro.names import dotted, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_HIDING = frozenset({"globals", "locals", "vars", "exec", "eval", "getenv", "environ"})
"""Built-in functions, and names for the environment, by which code could ask for the fault unseen."""
_FIRST = "call it first, then spoil the result"
_CHILDREN = ("os.fork", "subprocess.", "multiprocessing.")
_EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)


@dataclass(frozen=True, slots=True, order=True)
class Breach:
    """One place where a fault does not go through the observed value.

    Attributes:
        line: of the file, from 1.
        text: what is wrong, and what to do.
    """

    line: int
    text: str

    def __str__(self) -> str:
        """The breach with its line."""
        return f"line {self.line}: {self.text}"


def breaches(code: str) -> list[Breach]:
    """Every breach of the rule in a case, by line; programs that the case holds as text are read as well.

    Args:
        code: the whole file; it must be Python.
    """
    try:
        found = list(_of_program(ast.parse(code), 0, is_child=False))
    except (RecursionError, MemoryError):
        return [Breach(1, "an expression is nested too deeply to be read: split it")]
    if FAULT not in code:
        found.append(Breach(1, f"no injected fault: with {FAULT}=1 the case must fail"))
    return sorted(set(found))


def _of_program(tree: ast.Module, offset: int, *, is_child: bool) -> Iterator[Breach]:
    program = _Program(tree, is_child=is_child)
    for breach in program.breaches():
        yield Breach(breach.line + offset, breach.text)
    for line, text in program.texts():
        try:
            inner = ast.parse(text)
        except (SyntaxError, RecursionError, MemoryError):
            yield Breach(line + offset, f"a text with {FAULT} that is no program: nobody can see its fault")
        else:
            yield from _of_program(inner, line - 1 + offset, is_child=True)


_Binding = ast.For | ast.AsyncFor | ast.With | ast.AsyncWith | ast.Match
"""Statements around others that bind names for them."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TRIES = (ast.Try, ast.TryStar)


_TOUCHING = (
    *(ast.AugAssign, ast.Delete, ast.With, ast.AsyncWith, ast.For, ast.AsyncFor, ast.Match, ast.Starred),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await, ast.YieldFrom),
)
"""What calls a method of a value without naming it."""


@dataclass(frozen=True, slots=True)
class _Path:
    """What lies around a fault, within its function.

    Attributes:
        before: statements that ran before it.
        bound: loops and contexts around it.
        behind: statements that a fault that leaves does not reach.
    """

    before: Sequence[ast.stmt]
    bound: Sequence[_Binding]
    behind: Sequence[ast.stmt]


@dataclass
class _Program:
    tree: ast.Module
    is_child: bool
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    flags: set[str] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    plain: set[str] = field(default_factory=set)
    """Names of modules of the standard library, of exceptions, and of what `except ... as` caught."""

    def __post_init__(self) -> None:
        for node in ast.walk(self.tree):
            self.parents.update((child, node) for child in ast.iter_child_nodes(node))
            if isinstance(node, ast.Import | ast.ImportFrom):
                self.imported.update(a.asname or a.name.partition(".")[0] for a in node.names)
            if isinstance(node, ast.Import):
                own = (a for a in node.names if a.name.partition(".")[0] in sys.stdlib_module_names)
                self.plain.update(a.asname or a.name.partition(".")[0] for a in own)
            elif isinstance(node, ast.ExceptHandler) and node.name:
                self.plain.add(node.name)
        for statement in self.tree.body:
            if isinstance(statement, ast.Assign) and _reads_variable(statement):
                self.flags.update(target.id for target in statement.targets if isinstance(target, ast.Name))

    # Where the fault is decided.

    def texts(self) -> Iterator[tuple[int, str]]:
        """Line and text of programs with a fault of their own that stand in texts; docstrings are prose."""
        for node in ast.walk(self.tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            if FAULT in node.value and node.value != FAULT and not isinstance(self.parents[node], ast.Expr):
                yield node.lineno, node.value

    def breaches(self) -> Iterator[Breach]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and node.value == FAULT and not self._is_flag(node):
                yield Breach(node.lineno, f'read {FAULT} once: PLANT = os.environ.get("{FAULT}") == "1"')
            if isinstance(node, ast.Name) and node.id in self.flags and isinstance(node.ctx, ast.Load):
                yield from self._of_use(node)
            if isinstance(node, ast.Name) and node.id in _HIDING:
                yield Breach(node.lineno, f"`{node.id}` can hide what the fault decides: write it out")
            if isinstance(node, ast.Attribute) and node.attr == "getenv" and not self._is_written_out(node):
                yield Breach(node.lineno, "read single variables of the environment, by their whole names")
            if isinstance(node, ast.Attribute) and node.attr == "environ" and not self._is_read_by_name(node):
                yield Breach(node.lineno, "read single variables of the environment, by their whole names")
        names = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        if self.flags and not self.flags & names and ast.dump(self.tree).count(repr(FAULT)) == 1:
            yield Breach(1, f"{', '.join(sorted(self.flags))} decides nothing: the case has no injected fault")

    def _is_read_by_name(self, environment: ast.Attribute) -> bool:
        """Whether the environment is asked for a variable that is written out, or handed on as a whole."""
        parent = self.parents[environment]
        if isinstance(parent, ast.Attribute) and parent.attr in ("get", "pop", "setdefault"):
            call = self.parents[parent]
            return isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[0], ast.Constant)
        if isinstance(parent, ast.Subscript):
            return isinstance(parent.slice, ast.Constant)
        is_copy = isinstance(parent, ast.Call) and dotted(parent.func, {}) == "dict"
        return is_copy or isinstance(parent, ast.Dict | ast.keyword)

    def _is_written_out(self, function: ast.Attribute) -> bool:
        """Whether `os.getenv` is called with a name that is written out."""
        call = self.parents[function]
        return isinstance(call, ast.Call) and bool(call.args) and isinstance(call.args[0], ast.Constant)

    def _is_flag(self, node: ast.AST) -> bool:
        statement = self._statement(node)
        return isinstance(statement, ast.Assign) and statement in self.tree.body

    def _of_use(self, use: ast.Name) -> Iterator[Breach]:
        node: ast.AST = use
        with_fault = True
        parent = self.parents[node]
        while isinstance(parent, ast.UnaryOp | ast.BoolOp):
            if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
                with_fault = not with_fault
            elif not (isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And)):
                break
            node, parent = parent, self.parents[parent]
        if isinstance(parent, ast.If) and parent.test is node:
            on, off = (
                (parent.body, parent.orelse) if with_fault else (parent.orelse, [*parent.body, ast.Expr(parent.test)])
            )
            yield from self._of_branch(parent, on, off)
        elif isinstance(parent, ast.IfExp) and parent.test is node:
            yield from self._of_choice(parent, parent.orelse if with_fault else parent.body)
        else:
            yield Breach(use.lineno, f"{use.id} may only decide an `if`, alone or joined by `and`")

    # The four rules.

    def _of_branch(self, branch: ast.If, on: Sequence[ast.stmt], off: Sequence[ast.stmt]) -> Iterator[Breach]:
        skipped = next(self._work(off, operators=True), None) or next(
            self._touched(off, self._path(branch, None)), None
        )
        if skipped is not None:
            yield Breach(skipped.lineno, f"{shown(skipped)} runs only without the fault: {_FIRST}")
            return
        if any(self._leaves(statement) for statement in off):  # what follows runs with the fault alone
            on = [*on, *following(self._block(branch), branch)]
        for statement in on:
            if self._states_verdict(statement):
                yield Breach(statement.lineno, "the fault states the verdict: change what is observed instead")
                return
        leaving = next((statement for statement in on if self._leaves(statement)), None)
        if leaving is not None:
            yield from self._of_leaving(branch, leaving)
        elif on:
            yield from self._of_change(branch, on)

    def _of_leaving(self, branch: ast.If, leaving: ast.stmt) -> Iterator[Breach]:
        path = self._path(branch, leaving)
        behind = next(self._work(path.behind, operators=True), None) or next(self._touched(path.behind, path), None)
        if behind is not None:
            text = f"the fault leaves before {shown(behind)} (line {behind.lineno})"
            yield Breach(leaving.lineno, f"{text}: put it behind the call, in a `finally` where the call can raise")
        elif not self._gives(path.before, arranged=True):
            yield Breach(leaving.lineno, "no call comes before the fault: it must come after the call under test")

    def _of_change(self, branch: ast.If, on: Sequence[ast.stmt]) -> Iterator[Breach]:
        path = self._path(branch, None)
        observed = self._observed(path)
        changed = {name for statement in on for name in stored(statement)}
        for name in sorted(changed & self.imported):
            yield Breach(branch.lineno, f"the fault replaces a part of {name}: spoil what the call gives back")
            return
        for node in self._run_after(branch):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in changed:
                yield Breach(branch.lineno, f"the fault replaces {shown(node)}, which is called after it: {_FIRST}")
                return
        handed = {name for s in on if isinstance(s, ast.Expr | ast.Assign | ast.AugAssign) for name in loaded(s)}
        if not changed & observed and (changed or not handed & observed):
            names = ", ".join(sorted(changed)) or "nothing"
            yield Breach(branch.lineno, f"the fault changes {names}, which no call before it gave or wrote to")
            return
        if changed and not changed & self._observed(path, arranged=False):
            taken = self._taken_after(branch, changed)
            if taken is not None:
                text = f"the fault changes an input of {shown(taken)} (line {taken.lineno}): spoil what it gives back"
                yield Breach(branch.lineno, text)
                return
        for name in sorted(changed & rules().references):
            yield Breach(branch.lineno, f"the fault spoils the reference ({name}): spoil the result of the call")
        for name in sorted(changed & self._ends_of_children(path)):
            text = f"the fault rewrites how a child ended ({name}): send the signal in the child, after the call"
            yield Breach(branch.lineno, text)
        if changed and not changed & self._read_after(branch):
            yield Breach(branch.lineno, f"nothing looks at {', '.join(sorted(changed))} after the fault")

    def _of_choice(self, choice: ast.IfExp, off: ast.expr) -> Iterator[Breach]:
        statement = self._statement(choice)
        for work in islice(self._work([ast.Expr(off)], operators=True), 1):
            yield Breach(work.lineno, f"{shown(work)} runs only without the fault: {_FIRST}")
            return
        node: ast.AST = choice
        while node is not statement:
            node = self.parents[node]
            if isinstance(node, ast.Call) and self._is_work(node):
                yield Breach(choice.lineno, f"the fault chooses an argument of {shown(node)}: spoil what it gives back")
                return
        observed = self._observed(self._path(statement, None))
        if not (set(loaded(choice)) | set(stored(statement))) & observed:
            yield Breach(choice.lineno, "the fault changes nothing that a call before it gave or wrote to")

    # What runs when.

    def _statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def _block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        parent = self.parents[statement]
        lists = (value for _, value in ast.iter_fields(parent) if isinstance(value, list))
        return next(block for block in lists if statement in block)

    def _path(self, place: ast.stmt, leaving: ast.stmt | None) -> _Path:
        before: list[ast.stmt] = []
        behind: list[ast.stmt] = []
        bound: list[_Binding] = []
        node: ast.AST = place
        reaches = True  # whether a fault that leaves skips what follows here as well
        while not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.Module)):
            parent = self.parents[node]
            if isinstance(node, ast.stmt):
                block = self._block(node)
                before = [*block[: block.index(node)], *before]
                behind += following(block, node) if reaches else []
                if isinstance(parent, _TRIES) and block is not parent.body:
                    before = [*parent.body, *before]
                if isinstance(parent, _TRIES) and block is parent.body:
                    reaches = reaches and not isinstance(leaving, ast.Raise)
                    behind += [*parent.orelse, *parent.finalbody] if reaches else []
                if isinstance(parent, _LOOPS) and isinstance(leaving, ast.Continue | ast.Break):
                    reaches = False
            elif isinstance(node, ast.ExceptHandler) and isinstance(parent, _TRIES):
                before = [*parent.body, *before]
            if isinstance(parent, _Binding):
                bound.append(parent)
            node = parent
        if isinstance(place, ast.If):
            before.append(ast.Expr(place.test))
        return _Path(before, bound, behind)

    def _run_after(self, branch: ast.stmt) -> Iterator[ast.expr]:
        """Expressions behind a branch, or anywhere in a loop around it, in this function or around it."""
        inside = set(ast.walk(branch))
        again = {node for loop in self._above(branch) if isinstance(loop, _LOOPS) for node in ast.walk(loop)} - inside
        end = branch.end_lineno or branch.lineno
        for function in self._above(branch):
            if isinstance(function, (*_FUNCTIONS, ast.Module)):
                for node in ast.walk(function):
                    if isinstance(node, ast.expr) and node not in inside and (node.lineno > end or node in again):
                        yield node

    def _read_after(self, branch: ast.stmt) -> set[str]:
        """Names that are looked at after a branch."""
        names = (node for node in self._run_after(branch) if isinstance(node, ast.Name))
        return {node.id for node in names if isinstance(node.ctx, ast.Load)}

    def _taken_after(self, branch: ast.stmt, names: set[str]) -> ast.expr | None:
        """A call or an operator after a branch that takes one of the names, and does more than compare."""
        for node in self._run_after(branch):
            is_operator = self._is_arithmetic(node) and not isinstance(getattr(node, "op", None), ast.Sub)
            is_call = isinstance(node, ast.Call) and last_name(node) not in rules().comparing
            is_taking = is_operator or (is_call and self._is_work(node) and not self._is_input(node, arranged=False))
            if is_taking and names & set(loaded(node)):
                return node
        return None

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node

    # What calls give.

    def _observed(self, path: _Path, *, arranged: bool = True) -> set[str]:
        """Names that hold what a call gave, or that a call could write to.

        Args:
            path: where the fault stands.
            arranged: whether calls count that only arrange or convert an input.
        """
        names: set[str] = set()
        for statement in path.before:
            for node in in_order(statement):
                names.update(self._given(node, names, arranged=arranged))
        for around in path.bound:
            names.update(self._given(around, names, arranged=arranged))
        return names

    def _given(self, node: ast.AST, known: set[str], *, arranged: bool) -> Iterator[str]:
        """Names that one statement adds to those that calls gave."""
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For | ast.AsyncFor | ast.NamedExpr):
            value = node.iter if isinstance(node, ast.For | ast.AsyncFor) else node.value
            if value is not None and (self._gives([ast.Expr(value)], arranged) or set(loaded(value)) & known):
                yield from stored(node)
            targets = node.targets if isinstance(node, ast.Assign) else []
            yield from (name for t in targets if isinstance(t, ast.Attribute | ast.Subscript) for name in stored(t))
        elif isinstance(node, ast.Match):
            if self._gives([ast.Expr(node.subject)], arranged) or set(loaded(node.subject)) & known:
                yield from (name for case in node.cases for name in stored(case.pattern))
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from stored(node)
        elif isinstance(node, ast.Expr):  # nobody takes the result: the call is made for what it writes
            for work in self._work([node]):
                yield from () if self._is_input(work, arranged) else loaded(work)
        elif isinstance(node, ast.Call) and self._is_work(node):
            yield from (name for key in node.keywords if key.arg == "out" for name in loaded(key.value))
            if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
                yield from () if self._is_input(node, arranged) else loaded(node.func.value)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            yield node.name

    def _gives(self, statements: Iterable[ast.stmt], arranged: bool) -> bool:
        """Whether a call among statements does more than make an input."""
        return any(not self._is_input(work, arranged) for work in self._work(statements))

    def _ends_of_children(self, path: _Path) -> set[str]:
        """Names that hold how a child process ended."""
        return {
            name
            for statement in path.before
            for node in ast.walk(statement)
            if isinstance(node, ast.Assign) and self._makes_child(node.value)
            for name in stored(node)
        }

    def _makes_child(self, value: ast.AST) -> bool:
        called = {
            node.func.id for node in ast.walk(value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        functions = [n for n in ast.walk(self.tree) if isinstance(n, ast.FunctionDef) and n.name in called]
        return any(
            dotted(node.func, {}).startswith(_CHILDREN)
            for place in (value, *functions)
            for node in ast.walk(place)
            if isinstance(node, ast.Call)
        )

    def _work(self, statements: Iterable[ast.stmt], *, operators: bool = False) -> Iterator[ast.expr]:
        """Calls and look-ups that may be what is tested, perhaps operators; a verdict and its message are none."""
        for statement in statements:
            for node in in_order(statement, _not_run_here):
                if isinstance(node, ast.expr) and (self._is_work(node) or (operators and self._is_arithmetic(node))):
                    yield node

    def _touched(self, statements: Iterable[ast.stmt], path: _Path) -> Iterator[ast.expr | ast.stmt]:
        """Whatever else in statements that the fault skips could be the call under test, by another name or by none.

        A deep copy, a thread, `y -= z`, `-y`, `y.mT`, an unpacking and `f"{y}"` all call what is under test. To look at
        what a call before the fault gave, by comparing it with constants, is the check.
        """
        given = self._observed(path)
        for statement in statements:
            for node in in_order(statement, _not_run_here):
                if isinstance(node, ast.Compare) and {*loaded(node)} <= given and not _has_names_alone(node):
                    continue
                if isinstance(node, ast.expr | ast.stmt) and self._touches(node):
                    yield node

    def _touches(self, node: ast.expr | ast.stmt) -> bool:
        if isinstance(node, _TOUCHING):
            return True
        if isinstance(node, ast.Assign):
            return any(isinstance(target, ast.Tuple | ast.List) for target in node.targets)
        if isinstance(node, ast.Call):
            return dotted(node.func, {}) not in {*rules().leaving, *rules().saying}
        if isinstance(node, ast.Attribute):
            is_of_module = isinstance(node.value, ast.Name) and node.value.id in self.imported
            return isinstance(node.ctx, ast.Load) and not is_of_module
        is_operator = isinstance(node, ast.Compare | ast.JoinedStr) or (
            isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not)
        )
        return is_operator and any(loaded(node))

    def _is_work(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.MatMult)
        if not isinstance(node, ast.Call | ast.Subscript):
            return False
        root: ast.expr = node
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        if not isinstance(root, ast.Name):
            return not isinstance(root, ast.Constant | ast.JoinedStr)
        return root.id not in rules().reporting and root.id not in self.plain and root.id not in _EXCEPTIONS

    def _is_arithmetic(self, node: ast.AST) -> bool:
        """Whether it is an operator on something that has a name, and no text that is put together."""
        if not isinstance(node, ast.BinOp) or not any(loaded(node)):
            return False
        return not any(
            isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
            for part in ast.walk(node)
        )

    def _is_input(self, node: ast.expr, arranged: bool) -> bool:
        """Whether a call only makes an input; unless `arranged` calls count, also one that arranges it."""
        name = last_name(node) if isinstance(node, ast.Call) else ""
        is_class = name[:1].isupper()
        return name in rules().constructors or (not arranged and (is_class or name in rules().arranging))

    def _leaves(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            return dotted(statement.value.func, {}) in rules().leaving
        return isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break)

    def _states_verdict(self, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and not self.is_child:
            return dotted(statement.value.func, {}) in ("sys.exit", "exit", "quit")
        return _is_report(statement)


def _is_report(node: ast.AST) -> bool:
    """Whether a statement returns a verdict: a number, or a number and a message."""
    if not isinstance(node, ast.Return):
        return False
    value = node.value.elts[0] if isinstance(node.value, ast.Tuple) and node.value.elts else node.value
    return isinstance(value, ast.Constant) and type(value.value) is int


def _has_names_alone(comparison: ast.Compare) -> bool:
    """Whether no side of a comparison is a constant: then it may be the operator under test."""
    return not any(isinstance(side, ast.Constant) for side in (comparison.left, *comparison.comparators))


def _not_run_here(node: ast.AST) -> bool:
    """Whether a node only states a verdict, or is a function that somebody else calls."""
    return _is_report(node) or isinstance(node, ast.FunctionDef | ast.Lambda)


def _reads_variable(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and part.value == FAULT for part in ast.walk(node))
