"""What a file's text shows of the arguments of its calls: dtype, layout, infinity, constants, and which are one tensor.

Statements of a function are followed in order, and a branch adds to what a name may be. A function of the
same file gets what its calls there give it; what comes from elsewhere is taken for anything, so that a fact stands only
where the text shows it. Words of facts:

- ``float16``, ``bfloat16``, ... : a dtype; ``complex`` for all complex ones
- ``transposed``, ``expanded``, ``strided`` (skips elements), ``overlapping``, ``channels_last``, ``dense``,
  ``permuted images`` (four axes in another order): a layout; ``torch.contiguous_format`` is ``channels_last``, too,
  in a file that turns tensors into that format
- ``-inf``, ``inf``: may hold it; ``added -inf``: by a sum, through which a gradient flows back (a fill and ``where``
  end it); ``triangular``: only on one side of the diagonal, as in a causal mask
- ``tensor``, ``numpy``: made by torch, by NumPy; ``cuda``: moved there; ``module:NAME``: an object of torch.nn
- ``given``: an argument that is not None; ``=1``, ``='mean'``, ``=torch.preserve_format``: a constant
- ``mixed signs``: a list of constants with both in one pair; ``distinct``: no number twice
- ``is N``: the very expression of argument N
- ``first column of N``: a view of argument N that is broadcast over it
"""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torch_embers import toml_models
from torch_embers.torch_names import INFINITY, OWN, ROOT, SIGNS, dotted, names_of, operator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Facts = frozenset[str]
NOTHING: Facts = frozenset()
LAYOUTS = frozenset({"dense", "permuted images", "transposed", "expanded", "strided", "overlapping", "channels_last"})
ADDED = frozenset({"added -inf"})
INFINITE = frozenset({"-inf", "inf"}) | ADDED
TRAINS = re.compile(r"loss|Module|backward|requires_grad|Parameter|Distribution|log_prob|autograd|optim", re.IGNORECASE)
"""Names by which a file has to do with gradients; decoding and data have none."""
COLUMNS_LAST = ["0", "3", "1", "2"]
"""`permute` with these axes makes a channels-last tensor of a dense one."""


class _Words(toml_models.Entry):
    """``data/call_facts.toml``: names of torch by what they do."""

    dtypes: dict[str, tuple[str, ...]]
    operators: dict[str, tuple[str, ...]]
    makers: tuple[str, ...]
    makers_of_single_precision: frozenset[str]

    @cached_property
    def dtype_of(self) -> dict[str, str]:
        """Dtype of each name."""
        return {name: dtype for dtype, names in self.dtypes.items() for name in names}

    @cached_property
    def does(self) -> dict[str, str]:
        """What each operator does to the facts of its tensor."""
        named = {name: does for does, names in self.operators.items() for name in names}
        return named | dict.fromkeys(self.dtype_of, "converts")

    @cached_property
    def likes(self) -> frozenset[str]:
        """Makers that take the dtype of a tensor."""
        return frozenset([*(f"{name}_like" for name in self.makers), *(f"new_{name}" for name in self.makers)])


WORDS = toml_models.load(_Words, "call_facts.toml")
KINDS = frozenset(WORDS.dtypes)


@dataclass(frozen=True, slots=True, order=True)
class Shown:
    """A call of torch, or of what may be a tensor, with what the text shows of its arguments.

    Attributes:
        line: in the file, from 1.
        name: as ``torch_names.Use`` has it; for the call of a module that of its class with ``()`` behind.
        arguments: facts by name, or by place, from 0; the tensor of a method is at 0.
        tracked: whether gradients are recorded, as far as the text shows.
    """

    line: int
    name: str
    arguments: tuple[tuple[str, Facts], ...]
    tracked: bool

    def of(self, place: str) -> Facts | None:
        """The facts of an argument, by ``2:weight``, ``2`` or ``weight``; None where it is not given."""
        given = dict(self.arguments)
        return next((given[key] for key in place.split(":") if key in given), None)


def shown_in(tree: ast.Module) -> list[Shown]:
    """The calls of a file, in its order.

    Raises:
        RecursionError: it is nested too deeply.
    """
    first = _Reader(names_of(tree), {}, {})
    first.body(tree.body)
    reader = _Reader(first.names, first.calls, first.returns)
    reader.untracked = not _trains(tree)
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    reader.turns_channels_last = bool(attributes & {"channels_last", "channels_last_3d"})
    reader.body(tree.body)
    return reader.found


def _trains(tree: ast.Module) -> bool:
    """Whether a file has to do with gradients: a module, a parameter, a distribution or a loss stands in it."""
    for node in ast.walk(tree):
        names = [getattr(node, key, "") for key in ("id", "attr", "name", "arg")]
        if any(isinstance(name, str) and TRAINS.search(name) for name in names):
            return True
    return False


class _Reader(ast.NodeVisitor):
    """Follows statements; ``known`` has the facts of names, ``self.x`` among them.

    ``given`` and ``returned`` have what an earlier reading found of the functions of the file: facts by place and name
    of their arguments, and of what they return.
    """

    def __init__(
        self, names: dict[str, set[str]], given: Mapping[str, Mapping[str, Facts]], returned: Mapping[str, Facts]
    ) -> None:
        self.names = names
        self.given, self.returned = given, returned
        self.calls: dict[str, dict[str, Facts]] = {}
        self.returns: dict[str, Facts] = {}
        self.function = ""
        self.known: dict[str, Facts] = {}
        self.found: list[Shown] = []
        self.depth = 0
        self.untracked = 0
        self.turns_channels_last = False

    # ---- statements

    def body(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.visit(statement)

    def generic_visit(self, node: ast.AST) -> Facts:
        """Expressions first, then the statements in a statement, each of which may run or not."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.visit(child)
        if isinstance(node, ast.For | ast.AsyncFor):
            self._bind(node.target, NOTHING)
        self.depth += 1
        for inner in _blocks(node):
            self.body(inner)
        self.depth -= 1
        return NOTHING

    def visit_Assign(self, node: ast.Assign) -> None:
        facts = self.visit(node.value)
        for target in node.targets:
            self._bind(target, facts)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._bind(node.target, self.visit(node.value) if node.value else NOTHING)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._bind(node.target, self._sign(node, node.op, node.target, node.value, "i"))

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returns[self.function] = self.returns.get(self.function, NOTHING) | self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and self._sets_gradients(node.value):
            self.untracked = int(self._turns_off(node.value))
        self.visit(node.value)

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        off = 0
        for item in node.items:
            self.visit(item.context_expr)
            off += self._turns_off(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, NOTHING)
        before = self.untracked
        self.untracked += off
        self.body(node.body)
        self.untracked = before

    visit_AsyncWith = visit_With

    def _turns_off(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Call) and self._sets_gradients(node):
            return any(isinstance(part, ast.Constant) and part.value is False for part in node.args)
        called = node.func if isinstance(node, ast.Call) else node
        return bool(dotted(called, self.names) & {"torch.no_grad", "torch.inference_mode"})

    def _sets_gradients(self, node: ast.Call) -> bool:
        return "torch.set_grad_enabled" in dotted(node.func, self.names)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Facts:
        before, depth, outer = self.known, self.depth, self.function
        self.known, self.depth = {**before, **self._arguments(node)}, 0
        if isinstance(node, ast.Lambda):
            self.visit(node.body)
        else:
            self.function = node.name
            tracked = self.untracked
            self.untracked += sum(map(self._turns_off, node.decorator_list))
            self.body(node.body)
            self.untracked = tracked
        fields = {name: facts for name, facts in self.known.items() if name.startswith("self.")}
        self.known, self.depth, self.function = {**before, **fields}, depth, outer
        return NOTHING

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def _arguments(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> dict[str, Facts]:
        """What the arguments of a function may be."""
        spec = node.args
        placed = [*spec.posonlyargs, *spec.args]
        given = {} if isinstance(node, ast.Lambda) else self.given.get(node.name, {})
        made = {}
        for place, each in enumerate(placed[1:] if placed and placed[0].arg in OWN else placed):
            made[each.arg] = given.get(str(place), NOTHING)
        for each in (*placed, *spec.kwonlyargs, *filter(None, (spec.vararg, spec.kwarg))):
            by_name = given.get(each.arg, NOTHING) | self._annotated(each.annotation)
            made[each.arg] = made.get(each.arg, NOTHING) | by_name
        return made

    def _annotated(self, node: ast.expr | None) -> Facts:
        named = [dotted(part, self.names) for part in ast.walk(node) if isinstance(part, ast.expr)] if node else []
        return frozenset({"tensor"}) if any("torch.Tensor" in meanings for meanings in named) else NOTHING

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """What ``__init__`` gives ``self`` holds in the other methods."""
        before = self.known
        self.known = {name: facts for name, facts in before.items() if not name.startswith("self.")}
        self.body(sorted(node.body, key=lambda part: getattr(part, "name", "") != "__init__"))
        self.known = before

    def _bind(self, target: ast.expr, facts: Facts) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._bind(part, NOTHING)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, NOTHING)
        elif isinstance(target, ast.Subscript):
            self.visit(target.slice)
            if name := _name(target.value):
                # finite numbers may be put wherever infinity was
                filled = self.known.get(name, NOTHING) - (NOTHING if facts & INFINITE else INFINITE)
                self.known[name] = filled | (facts & INFINITE)
        elif name := _name(target):
            may_be_old = self.depth or (name.startswith("self.") and facts)
            self.known[name] = facts | (self.known.get(name, NOTHING) if may_be_old else NOTHING)

    # ---- expressions

    def visit_Constant(self, node: ast.Constant) -> Facts:
        return NOTHING if node.value is None else frozenset({f"={node.value!r}"})

    def visit_BinOp(self, node: ast.BinOp) -> Facts:
        return self._sign(node, node.op, node.left, node.right)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Facts:
        made: Facts = self.visit(node.value)
        self._bind(node.target, made)
        return made

    def visit_IfExp(self, node: ast.IfExp) -> Facts:
        self.visit(node.test)
        made: Facts = self.visit(node.body) | self.visit(node.orelse)
        return made

    def visit_ListComp(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Facts:
        """Its names are its own."""
        before = self.known
        self.known = dict(before)
        for part in node.generators:
            self.visit(part.iter)
            self._bind(part.target, NOTHING)
            for test in part.ifs:
                self.visit(test)
        for value in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(value)
        self.known = before
        return NOTHING

    visit_SetComp = visit_GeneratorExp = visit_DictComp = visit_ListComp

    def visit_Name(self, node: ast.Name | ast.Attribute) -> Facts:
        if (name := _name(node)) in self.known:
            return self.known[name]
        for meaning in dotted(node, self.names):
            head, _, last = meaning.rpartition(".")
            if last == "inf":
                return frozenset({"inf"})
            if meaning == "torch.contiguous_format" and self.turns_channels_last:
                return frozenset({f"={meaning}", "channels_last"})
            if head == ROOT:
                return frozenset({WORDS.dtype_of[last]} if last in WORDS.dtype_of else {f"={meaning}"})
        if isinstance(node, ast.Attribute):
            owner: Facts = self.visit(node.value)
            if WORDS.does.get(node.attr) == "transposes":
                return (owner - LAYOUTS) | {"transposed"}
            return owner if node.attr == "data" else NOTHING
        return NOTHING

    visit_Attribute = visit_Name

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Facts:
        inner: Facts = self.visit(node.operand)
        if isinstance(node.op, ast.USub):
            numbers = {f"=-{fact[1:]}" for fact in inner if fact.startswith("=")}
            return _flipped(frozenset(fact for fact in inner if not fact.startswith("=")) | numbers)
        return inner & (KINDS | {"tensor", "numpy"})

    def visit_Compare(self, node: ast.Compare) -> Facts:
        sides = [node.left, *node.comparators]
        made = [self.visit(side) for side in sides]
        for place, sign in enumerate(node.ops):
            self._keep_sign(node.lineno, sign, sides[place : place + 2], made[place : place + 2])
        return frozenset({"bool"}) | (frozenset().union(*made) & {"tensor", "numpy"})

    def visit_Tuple(self, node: ast.Tuple | ast.List) -> Facts:
        parts = [self.visit(part) for part in node.elts]
        made = frozenset().union(*parts) & (INFINITE | KINDS)
        with contextlib.suppress(ValueError):
            value = ast.literal_eval(node)
            made |= {f"={value!r}"}
            pairs = zip(value[::2], value[1::2], strict=False)
            if any(isinstance(a, int) and isinstance(b, int) and a * b < 0 for a, b in pairs):
                made |= {"mixed signs"}
            if value and all(isinstance(each, bool) for each in value):
                made |= {"bool"}
        return made

    visit_List = visit_Tuple

    def visit_Subscript(self, node: ast.Subscript) -> Facts:
        owner: Facts = self.visit(node.value)
        index = self.visit(node.slice)
        if isinstance(node.ctx, ast.Load):
            self._keep(node.lineno, "Tensor.__getitem__", [("0", owner), ("1", index)])
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        slices = [part for part in parts if isinstance(part, ast.Slice)]
        for part in slices:
            for end in (part.lower, part.upper, part.step):
                if end is not None:
                    self.visit(end)
        kept = owner & (KINDS | INFINITE | {"tensor", "numpy", "cuda", "transposed", "triangular"})
        if "bool" in index:  # what a mask chooses is mostly what is finite
            kept -= INFINITE
        return kept | {"strided"} if any(part.step is not None for part in slices) else kept

    # ---- calls

    def _sign(
        self, node: ast.BinOp | ast.AugAssign, sign: ast.operator, a: ast.expr, b: ast.expr, way: str = ""
    ) -> Facts:
        left, right = self.visit(a), self.visit(b)
        self._keep_sign(node.lineno, sign, (a, b), (left, right), way)
        return _arithmetic(sign, left, right)

    def _keep_sign(
        self,
        line: int,
        sign: ast.operator | ast.cmpop,
        sides: Sequence[ast.expr],
        facts: Sequence[Facts],
        way: str = "",
    ) -> None:
        if word := SIGNS.get(type(sign)):
            arguments = [("0", facts[0]), ("1", facts[1] | _relations(sides[1], sides[:1]))]
            self._keep(line, f"Tensor.__{way}{word}__", arguments)

    def _keep(self, line: int, name: str, arguments: Sequence[tuple[str, Facts]]) -> None:
        self.found.append(Shown(line, name, tuple(arguments), tracked=not self.untracked))

    def visit_Call(self, node: ast.Call) -> Facts:
        names = sorted(dotted(node.func, self.names))
        positional = [part for part in node.args if not isinstance(part, ast.Starred)]
        starred = len(positional) < len(node.args)
        nodes, given = list(positional), [self.visit(part) for part in node.args]
        owner: Facts = NOTHING
        if not names and isinstance(node.func, ast.Attribute):
            owner = self.visit(node.func.value)
            nodes, given = [node.func.value, *nodes], [owner, *given]
        elif not names:
            self.visit(node.func)
        keywords = {word.arg or "**": self.visit(word.value) for word in node.keywords}
        arguments = [(str(place), facts) for place, facts in enumerate(given)] if not starred else [("0", owner)]
        arguments = [(place, facts | _is_given(part)) for (place, facts), part in zip(arguments, nodes, strict=False)]
        for word in node.keywords:
            more = _relations(word.value, nodes) | _is_given(word.value)
            name = "0" if word.arg == "input" and not nodes else word.arg or "**"
            arguments.append((name, keywords[word.arg or "**"] | more))
        if len(nodes) > 1 and arguments[1:]:
            place, facts = arguments[1]
            arguments[1] = (place, facts | _relations(nodes[1], nodes[:1]))
        return self._result(node, names, given, keywords, arguments)

    def _result(
        self,
        node: ast.Call,
        names: Sequence[str],
        given: Sequence[Facts],
        keywords: Mapping[str, Facts],
        arguments: Sequence[tuple[str, Facts]],
    ) -> Facts:
        """Keep a call, and say what it returns."""
        for kind in self._classes(node.func):
            behind = arguments if names or not isinstance(node.func, ast.Attribute) else arguments[1:]
            shifted = [(str(int(at) - 1) if at.isdigit() and behind is not arguments else at, of) for at, of in behind]
            self._keep(node.lineno, f"{kind}()", shifted)
        if not names:
            own = _name(node.func).removeprefix("self.")
            if own:
                self._hand_over(own, given if isinstance(node.func, ast.Name) else given[1:], keywords)
            if not isinstance(node.func, ast.Attribute):
                return _builtin(node, given) | self.returned.get(own, NOTHING)
            if own in self.returned:
                return self.returned[own]
            self._keep(node.lineno, f"Tensor.{node.func.attr}", arguments)
            return self._made(node, node.func.attr, given, keywords, is_method=True)
        made: Facts = NOTHING
        for name in map(operator, names):
            self._keep(node.lineno, name, arguments)
            head, _, last = name.rpartition(".")
            if name.startswith("torch.nn.") and last[:1].isupper():
                made |= {f"module:{name}"}
            elif name.partition(".")[0] == "numpy":
                made |= {"numpy"} | _infinite(given)
            elif name.partition(".")[0] == ROOT:
                made |= self._made(node, last, given, keywords, is_method=head == "Tensor")
        return made

    def _hand_over(self, function: str, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> None:
        """Keep what a function of the file gets."""
        taken = self.calls.setdefault(function, {})
        for place, facts in [*((str(place), facts) for place, facts in enumerate(given)), *keywords.items()]:
            # what a caller masked the function may handle by a branch of its own, so infinity stays behind
            handed = {fact for fact in facts - INFINITE if not fact.startswith("=")}
            taken[place] = taken.get(place, NOTHING) | handed

    def _classes(self, node: ast.expr) -> list[str]:
        """The classes of torch.nn of which a called object may be."""
        known = self.known.get(_name(node), NOTHING)
        return sorted(fact.removeprefix("module:") for fact in known if fact.startswith("module:"))

    def _made(
        self, node: ast.Call, op: str, given: Sequence[Facts], keywords: Mapping[str, Facts], *, is_method: bool
    ) -> Facts:
        """What an operator returns; one in place changes its tensor, too."""
        first = given[0] if given else keywords.get("input", NOTHING)
        in_place = op.endswith("_") and not op.startswith("_")
        made = _returned(node, op.rstrip("_") if in_place else op, first, given, keywords)
        if in_place and is_method and isinstance(node.func, ast.Attribute) and (name := _name(node.func.value)):
            self.known[name] = self.known.get(name, NOTHING) | (made & INFINITE)
        return made


def _returned(node: ast.Call, op: str, first: Facts, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> Facts:
    """The facts of what an operator returns."""
    kept = first & (KINDS | INFINITE | {"tensor", "cuda", "numpy", "triangular"})
    does = WORDS.does.get(op, "")
    if does == "fills":
        made = _filled(op, kept, first & LAYOUTS, given, keywords) | (keywords.get("dtype", NOTHING) & KINDS)
    elif does == "computes":
        made = (keywords.get("dtype", NOTHING) & KINDS or kept & KINDS) | (kept & {"tensor", "cuda"})
    elif does == "compares":
        made = frozenset({"tensor", "bool"})
    elif does:
        made = _viewed(node, op, kept, first & LAYOUTS)
    elif op in WORDS.makers or op in WORDS.likes:
        made = _new(op, kept, given, keywords)
    else:
        made = _other(op, first, kept, given, keywords)
    return made | {"cuda"} if any("cuda" in fact for fact in keywords.get("device", NOTHING)) else made


def _viewed(node: ast.Call, op: str, kept: Facts, layout: Facts) -> Facts:
    """The same numbers in another form."""
    does = WORDS.does[op]
    layout -= {"dense"} if does != "views" else NOTHING
    if does == "transposes":
        axes = [ast.unparse(part) for part in node.args[-4:]]
        if op == "permute" and axes == sorted(axes):
            return kept | layout
        made = kept | {"channels_last" if op == "permute" and axes == COLUMNS_LAST else "transposed"}
        return made | {"permuted images"} if op == "permute" and len(axes) == len(COLUMNS_LAST) else made
    if does == "converts":
        return (kept - KINDS) | (layout - {"overlapping"}) | {WORDS.dtype_of[op]}
    added = {"expands": {"expanded"}, "parts": {"strided"}}.get(does, NOTHING)
    return kept | (NOTHING if does == "copies" else layout) | added


def _other(op: str, first: Facts, kept: Facts, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> Facts:
    """Operators that need a rule of their own."""
    layout = first & LAYOUTS
    if op in ("to", "type"):
        return _converted(kept | layout, given[1:], keywords)
    if op.startswith(("to_sparse_cs", "sparse_cs")):
        return frozenset({op.removeprefix("to_").removesuffix("_tensor"), "tensor"})
    if op in ("unfold", "as_strided") and len(given) > 2:
        size, step = (_numbers(facts) for facts in given[2:4]) if op == "unfold" and len(given) > 3 else ([], [])
        return kept if size and step and max(size) <= min(step) else kept | {"overlapping"}
    if op == "device":
        return frozenset().union(*given)
    made = {
        "contiguous": kept | (_memory_format(keywords) or {"dense"}),
        "cpu": (kept | layout) - {"cuda"},
        "cuda": kept | layout | {"cuda"},
        "numpy": kept | layout | {"numpy"},
        "from_numpy": frozenset({"tensor"}),
        "triu": kept | {"triangular"},
        "tril": kept | {"triangular"},
    }
    return made.get(op, NOTHING)


def _numbers(facts: Facts) -> list[int]:
    """The whole numbers that an argument may be, as far as the text shows."""
    return [int(fact[1:]) for fact in facts if fact[1:].isdecimal() and fact.startswith("=")]


def _memory_format(keywords: Mapping[str, Facts]) -> Facts:
    wanted = keywords.get("memory_format", NOTHING)
    return frozenset({"channels_last"}) if wanted & {"=torch.channels_last", "=torch.channels_last_3d"} else NOTHING


def _converted(owner: Facts, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> Facts:
    """After ``to``: what is not known to be a device could be a dtype."""
    wanted = frozenset().union(*given, *keywords.values())
    made = owner | {"cuda"} if any("cuda" in fact for fact in wanted) else owner
    if given or "dtype" in keywords:
        device_alone = all(any(fact.startswith("='c") for fact in facts) for facts in given) and "dtype" not in keywords
        made = made if device_alone else (made - KINDS) | (wanted & KINDS)
    return (made - LAYOUTS) | formats if (formats := _memory_format(keywords)) else made


def _filled(op: str, kept: Facts, layout: Facts, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> Facts:
    """What a fill leaves: the numbers of both."""
    if op == "nan_to_num":
        return kept - INFINITE
    if op == "where":
        made = frozenset().union(*given[1:3]) & (KINDS | INFINITE - ADDED)
        if any(not facts & INFINITE for facts in given[1:3]):  # one side may be there to replace what is infinite
            made -= frozenset().union(*(facts & INFINITE for facts in given[1:3] if "tensor" in facts))
        return made | {"tensor"} | _triangular(given[:1])
    value = frozenset().union(*given[1:], *(keywords.get(name, NOTHING) for name in ("value", "fill_value")))
    if op in ("masked_fill", "index_fill"):
        kept -= ADDED if value & INFINITE or not _is_number(value) else INFINITE
        return kept | layout | (value & INFINITE) | {"tensor"} | _triangular(given[1:2])
    if op == "stack":
        return kept | {"tensor"}
    return ((kept & KINDS) if op != "full" else NOTHING) | (value & INFINITE) | {"tensor"}


def _triangular(given: Sequence[Facts]) -> Facts:
    return frozenset().union(*given) & {"triangular"}


def _new(op: str, kept: Facts, given: Sequence[Facts], keywords: Mapping[str, Facts]) -> Facts:
    dtype = keywords.get("dtype", NOTHING) & KINDS
    made = frozenset({"tensor"} if op in WORDS.likes or op == "as_tensor" else {"tensor", "dense"}) | dtype
    made |= {"distinct"} if op == "arange" else NOTHING
    if op in ("tensor", "as_tensor"):
        made |= _infinite(given) | (ADDED if "requires_grad" in keywords else NOTHING)
        made |= frozenset().union(*given) & {"bool"} if not dtype else NOTHING
    elif not dtype and op in WORDS.likes:
        made |= kept & KINDS
    elif not dtype and op in WORDS.makers_of_single_precision and "**" not in keywords and "dtype" not in keywords:
        made |= {"float32"}
    return made


def _infinite(given: Sequence[Facts]) -> Facts:
    return frozenset().union(*given) & INFINITE


def _builtin(node: ast.Call, given: Sequence[Facts]) -> Facts:
    """``float("-inf")`` is infinity under another name."""
    if isinstance(node.func, ast.Name) and node.func.id == "float" and node.args:
        text = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
        word = text.strip().lower() if isinstance(text, str) else ""
        if word.lstrip("+-") in INFINITY:
            return frozenset({"-inf" if word.startswith("-") else "inf"})
    return _infinite(given) if isinstance(node.func, ast.Name) and node.func.id in ("float", "int") else NOTHING


def _arithmetic(sign: ast.operator, left: Facts, right: Facts) -> Facts:
    """What an operator of two operands makes: a dtype stays where the other has it, too, or is a number of the text."""
    made = (left | right) & {"tensor", "numpy", "cuda", "triangular"}
    if isinstance(sign, ast.Add | ast.Sub):
        infinite = (left | (right if isinstance(sign, ast.Add) else _flipped(right))) & INFINITE
        made |= infinite | (ADDED if "-inf" in infinite else NOTHING)
    elif isinstance(sign, ast.Mult | ast.Div):
        made |= left & INFINITE
    if left & KINDS == right & KINDS or _is_number(right):
        made |= left & KINDS
    elif _is_number(left):
        made |= right & KINDS
    if _is_number(right):
        made |= left & {"transposed", "channels_last"}
    if not (left | right) & (LAYOUTS - {"dense"}):
        made |= (left | right) & {"dense"}
    return made


def _is_number(facts: Facts) -> bool:
    return any(fact.startswith("=") for fact in facts)


def _flipped(facts: Facts) -> Facts:
    other = {"-inf": "inf", "inf": "-inf"}
    return frozenset(other.get(fact, fact) for fact in facts)


def _is_given(node: ast.expr) -> Facts:
    return NOTHING if isinstance(node, ast.Constant) and node.value is None else frozenset({"given"})


def _relations(node: ast.expr, others: Sequence[ast.expr]) -> Facts:
    """Which of other expressions this is, or a view of; ``x[:, :1]`` and ``x[:, 0, None]`` are the first column."""
    made = {f"is {place}" for place, other in enumerate(others) if _same(node, other)}
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
        rows, *rest = [ast.unparse(part) for part in node.slice.elts]
        if rows in (":", "...") and rest in ([":1"], ["0:1"], ["0", "None"]):
            made |= {f"first column of {place}" for place, other in enumerate(others) if _same(node.value, other)}
    return frozenset(made)


def _same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are one name, however they are used."""
    return bool(_name(one)) and _name(one) == _name(other)


def _name(node: ast.expr) -> str:
    """``x`` or ``self.x``; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return ""


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements that a statement holds, also in its handlers and cases."""
    for field in ("body", "orelse", "finalbody"):
        if inner := getattr(node, field, None):
            yield inner
    for part in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        yield part.body
