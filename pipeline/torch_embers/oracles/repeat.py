"""Run a call as it is and once more on dense copies, and tell what differs: the core of layout oracle and hunt."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, Optional, Sequence, Set, Tuple

import torch

from torch_embers.oracles import layouts, numerics
from torch_embers.oracles.compare import HONEST, REFUSED, WRONG, Reference, compare, real, same

if TYPE_CHECKING:
    from torch_embers.oracles.finding import Difference
    from torch_embers.oracles.oracle_rules import OracleRules, Skip

CHANGED = "was changed though it is not written to"
DRAWS = 3
"""Random changes of the inputs from which the spread of a reference is taken."""


@dataclass(frozen=True)
class Plan:
    """What is known of an operator before it is called.

    Attributes:
        op: with its namespace, without the overload.
        overload: of the operator.
        names: of the positional arguments.
        written: names of the arguments that it writes to.
        view: whether its result aliases an argument by its schema.
        random: whether it draws numbers.
        skip: the rule that leaves it out.
        ties: along what positions in its result count.
        may_alias: whether it may hand an argument on.
    """

    op: str
    overload: str = ""
    names: Tuple[str, ...] = ()
    written: Tuple[str, ...] = ()
    view: bool = False
    random: bool = False
    skip: Optional[Skip] = None
    ties: str = ""
    may_alias: bool = False

    def name(self, position: int) -> str:
        """Of the argument at a position."""
        return self.names[position] if position < len(self.names) else "argument %d" % position


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a call: see the attributes of ``Finding``."""

    severity: str
    place: str
    message: str
    difference: Optional[Difference] = None
    dtype: str = ""


@dataclass
class Examined:
    """What came of a call.

    Attributes:
        result: of the call itself, for the caller.
        problems: what is wrong, the worst first.
        refused: why nothing was decided; empty where something was.
        honest: values that differed by no more than rounding.
    """

    result: Any = None
    problems: List[Problem] = field(default_factory=list)
    refused: str = ""
    honest: int = 0


def plan_of(func: Any, rules: OracleRules) -> Plan:
    """Read an operator's schema and the rules for it."""
    schema = func._schema  # noqa: SLF001 - the only place that says what an operator writes to
    op = schema.name.replace("::", ".")
    written = tuple(arg.name for arg in schema.arguments if arg.alias_info is not None and arg.alias_info.is_write)
    view = any(ret.alias_info is not None and not ret.alias_info.is_write for ret in schema.returns)
    tags = {tag.name for tag in getattr(func, "tags", ())}
    random = "nondeterministic_seeded" in tags or any(arg.name == "generator" for arg in schema.arguments)
    names = tuple(arg.name for arg in schema.arguments)
    view = view or "inplace_view" in tags
    return Plan(
        op,
        func._overloadname,  # noqa: SLF001 - it has no other name
        names,
        written,
        view,
        random,
        rules.skip(op),
        rules.ties(op),
        rules.may_alias(op),
    )


def tensors_in(value: Any) -> List[Any]:
    """The plain tensors in nested lists, tuples and dictionaries."""
    return [tensor for tensor in numerics.tensors_of(value) if layouts.is_plain(tensor)]


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with each plain tensor replaced."""

    def plain(leaf: Any) -> Any:
        return change(leaf) if isinstance(leaf, torch.Tensor) and layouts.is_plain(leaf) else leaf

    return numerics.map_tensors(plain, value)


def parts_in(value: Any) -> List[Any]:
    """The plain tensors in a nesting, and positions and values of sparse ones."""
    found = []
    for tensor in numerics.tensors_of(value):
        if layouts.is_plain(tensor):
            found.append(tensor)
        elif layouts.is_sparse(tensor):
            found += layouts.parts(tensor)
    return found


def remade(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with each tensor of ``parts_in`` replaced."""

    def made(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if layouts.is_sparse(leaf):
            return layouts.rebuilt(leaf, *map(change, layouts.parts(leaf)))
        return change(leaf) if layouts.is_plain(leaf) else leaf

    return numerics.map_tensors(made, value)


def named(plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any]) -> List[Tuple[str, Any]]:
    """Each plain tensor argument with its name; members of lists, and parts of sparse ones, as ``self[0]``."""
    found = []
    pairs = [(plan.name(place), value) for place, value in enumerate(args)] + list(kwargs.items())
    for name, value in pairs:
        inside = parts_in(value)
        if isinstance(value, torch.Tensor) and len(inside) < 2:
            found += [(name, tensor) for tensor in inside]
        else:
            found += [("%s[%d]" % (name, place), tensor) for place, tensor in enumerate(inside)]
    return found


def is_written(plan: Plan, name: str) -> bool:
    """Whether an argument or the list that it is in is written to."""
    return name.partition("[")[0] in plan.written


def shared_with(plan: Plan, tensors: Sequence[Tuple[str, Any]]) -> Dict[str, List[str]]:
    """Destinations that are also read as other arguments: the name of each, and of those arguments."""
    written = [(name, tensor) for name, tensor in tensors if is_written(plan, name) and tensor.numel()]
    read = [(name, tensor) for name, tensor in tensors if not is_written(plan, name)] if written else []
    found = {
        name: [
            other
            for other, argument in read
            if tensor.data_ptr() == argument.data_ptr() and _identical(tensor, argument)
        ]
        for name, tensor in written
    }
    return {name: others for name, others in found.items() if others}


class _Copies:
    """Dense copies of tensors; the same tensor twice gives the same copy twice.

    A destination that is also an argument gets one copy as each: what is read must not depend on what is written.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.known: Dict[Tuple[Any, ...], Any] = {}

    def of_call(self, args: Sequence[Any], kwargs: Dict[str, Any]) -> Tuple[List[Any], Dict[str, Any]]:
        """The arguments of a call with each tensor replaced by its copy."""
        place = [(self.plan.name(number), value) for number, value in enumerate(args)]
        new = [remade(value, partial(self, is_written(self.plan, name))) for name, value in place]
        return new, {name: remade(value, partial(self, is_written(self.plan, name))) for name, value in kwargs.items()}

    def __call__(self, written: bool, tensor: Any) -> Any:
        place = layouts.address(tensor) if tensor.numel() else id(tensor)
        lazy = (tensor.is_conj(), tensor.is_neg())
        key = (written, place, tensor.storage_offset(), tensor.size(), tensor.stride(), tensor.dtype, lazy)
        if key not in self.known:
            self.known[key] = layouts.twin(tensor)
        return self.known[key]


def undefined(tensors: Sequence[Tuple[str, Any]], plan: Plan) -> str:
    """Why the result of a call that writes is undefined: destinations that overlap themselves or other arguments."""
    if not plan.written:
        return ""
    written = [tensor for name, tensor in tensors if is_written(plan, name)]
    for tensor in written:
        if layouts.overlaps_itself(tensor):
            return "a destination overlaps itself"
        for _, other in tensors:
            if other is not tensor and layouts.share_memory(tensor, other) and not _identical(tensor, other):
                return "a destination overlaps another argument"
    return ""


def _identical(one: Any, other: Any) -> bool:
    form = (one.storage_offset(), one.size(), one.stride(), one.dtype)
    return form == (other.storage_offset(), other.size(), other.stride(), other.dtype)


def examine(
    func: Callable[..., Any], plan: Plan, args: Sequence[Any], kwargs: Dict[str, Any], rules: OracleRules
) -> Examined:
    """Call ``func`` as asked, and once more on dense copies, and compare.

    An exception of the call itself passes through; one of the repetition is noted as a refusal.
    """
    tensors = named(plan, args, kwargs)
    if why := undefined(tensors, plan):
        return _called(func, plan, args, kwargs, rules, tensors, why)
    copies = _Copies(plan)
    twins = copies.of_call(args, kwargs)
    before = _Copies(plan).of_call(args, kwargs) if plan.written else twins
    written = [(name, tensor) for name, tensor in tensors if is_written(plan, name)]
    # now: the call may give a tensor other memory
    pairs = [(name, tensor, copies(is_written(plan, name), tensor)) for name, tensor in tensors]
    read_too = frozenset(other for others in shared_with(plan, tensors).values() for other in others)
    watches = layouts.watch([tensor for _, tensor in written], rules.largest)
    shapes = [(tensor.size(), tensor.stride(), tensor.storage_offset()) for _, tensor in written]
    done = Examined(func(*args, **kwargs))
    for watch in watches:
        done.problems += _around(watch, written)
    for (name, tensor), (size, stride, offset) in zip(written, shapes):
        if tensor.numel() and tensor.size() == size and (tensor.stride(), tensor.storage_offset()) != (stride, offset):
            said = "%s had strides %s and has %s" % (name, list(stride), list(tensor.stride()))
            done.problems.append(Problem("broken_promise", "strides of " + name, said))
    if plan.skip is not None and "outside" in plan.skip.checks:
        return done
    try:
        again = func(*twins[0], **twins[1])
    except (RuntimeError, TypeError, ValueError, NotImplementedError, IndexError) as error:
        done.refused = "the dense twin fails: %s" % str(error).partition("\n")[0]
        return done
    _compare_all(done, func, plan, rules, pairs, again, before, read_too)
    return done


def _called(
    func: Callable[..., Any],
    plan: Plan,
    args: Sequence[Any],
    kwargs: Dict[str, Any],
    rules: OracleRules,
    tensors: Sequence[Tuple[str, Any]],
    why: str,
) -> Examined:
    """A call whose result is undefined: only memory outside its destinations is looked at."""
    written = [(name, tensor) for name, tensor in tensors if is_written(plan, name)]
    watches = layouts.watch([tensor for _, tensor in written], rules.largest)
    done = Examined(func(*args, **kwargs), refused=why)
    for watch in watches:
        done.problems += _around(watch, written)
    return done


def _around(watch: layouts.Watch, written: Sequence[Tuple[str, Any]]) -> List[Problem]:
    outside = watch.outside()
    if not outside:
        return []
    names = [name for name, tensor in written if any(tensor is other for other in watch.tensors)]
    said = "memory outside %s was changed, at bytes %s of its storage" % (" and ".join(names), outside)
    return [Problem("outside_write", "around " + names[0], said)]


def _compare_all(
    done: Examined,
    func: Callable[..., Any],
    plan: Plan,
    rules: OracleRules,
    pairs: Sequence[Tuple[str, Any, Any]],
    again: Any,
    before: Tuple[Any, Any],
    read_too: FrozenSet[str],
) -> None:
    tensors = [(name, tensor) for name, tensor, _ in pairs]
    written = [(tensor, copy) for name, tensor, copy in pairs if is_written(plan, name)]
    fresh = [tensor for tensor in outputs(done.result) if not any(tensor is other for other, _ in written)]
    own = [tensor for tensor in outputs(again) if not any(tensor is other for _, other in written)]
    places = ["result" if len(fresh) == 1 else "result %d" % number for number in range(len(fresh))]
    results = list(zip(places, fresh, own))
    if plan.skip is not None and "first" in plan.skip.checks:
        results = results[:1]
    if len(fresh) != len(own):
        done.problems.append(Problem("wrong_value", "result", "%d results, %d dense" % (len(fresh), len(own))))
    addresses = {layouts.address(tensor) for _, tensor in tensors if tensor.numel()}
    references = _References(func, before, plan)
    for number, (place, got, expected) in enumerate(results):
        if got.numel() and not plan.may_alias:
            done.problems += _sharing(got, place, addresses)
        _compare_one(done, plan, rules, place, got, expected, references, number, tensors)
    for name, tensor, copy in pairs:
        if is_written(plan, name):
            if _compared(plan, name):
                _compare_one(done, plan, rules, name, tensor, copy, references, name, tensors)
        elif name in read_too:
            continue  # it is a destination as well
        elif layouts.overlaps_itself(tensor):
            continue  # an operator that updates it (statistics, without saying so) leaves what it wrote last
        elif compare(tensor, copy, None, rules.yardstick).verdict == WRONG:
            done.problems.append(Problem("wrong_value", name, CHANGED))
    done.problems.sort(key=lambda problem: problem.severity != "outside_write")


def _compared(plan: Plan, name: str) -> bool:
    """Whether a destination's values are compared: of buffers for the backward only the first result is."""
    return plan.skip is None or "first" not in plan.skip.checks or name.partition("[")[0] == plan.written[0]


def _sharing(got: Any, place: str, addresses: Set[int]) -> List[Problem]:
    """New memory was promised: neither an argument's, nor the same for two elements."""
    if layouts.address(got) in addresses:
        return [Problem("broken_promise", place, "the result shares memory with an argument")]
    if layouts.overlaps_itself(got):
        return [Problem("broken_promise", place, "elements of the result share memory")]
    return []


def outputs(value: Any) -> List[Any]:
    """The tensors among the results of a call; a sparse one as the dense one that it stands for."""
    found = numerics.tensors_of(value)
    return [tensor.to_dense() if layouts.is_sparse(tensor) else tensor for tensor in found if _is_compared(tensor)]


def _is_compared(tensor: Any) -> bool:
    return layouts.is_plain(tensor) or layouts.is_sparse(tensor)


class _References:
    """The call in double precision, made at most once and only when it is asked for."""

    def __init__(self, func: Callable[..., Any], before: Tuple[Any, Any], plan: Plan) -> None:
        self.func, self.before, self.plan = func, before, plan
        self.runs: Optional[List[Tuple[List[Any], Dict[str, Any]]]] = None

    def __call__(self, key: Any) -> Optional[Reference]:
        if self.runs is None:
            try:
                self.runs = [self._run(draw) for draw in range(DRAWS + 1)]
            except Exception:  # noqa: BLE001 - an operator without double precision says so in many ways
                self.runs = []
        values = [fresh[key] if isinstance(key, int) else by_name[key] for fresh, by_name in self.runs]
        if not values or not (values[0].is_floating_point() or values[0].is_complex()):
            return None
        spread = torch.zeros_like(values[0].abs())
        for value in values[1:]:
            if value.shape != values[0].shape:
                return None
            spread = torch.maximum(spread, (value - values[0]).abs())
        return Reference(values[0], spread)

    def _run(self, draw: int) -> Tuple[List[Any], Dict[str, Any]]:
        generator = torch.Generator().manual_seed(draw)
        known: Dict[int, Any] = {}

        def wide(tensor: Any) -> Any:
            if id(tensor) not in known:
                known[id(tensor)] = widened(tensor, generator if draw else None)
            return known[id(tensor)]

        args, kwargs = remade(self.before[0], wide), remade(self.before[1], wide)
        args, kwargs = [double(value) for value in args], {key: double(value) for key, value in kwargs.items()}
        written = {name: tensor for name, tensor in named(self.plan, args, kwargs) if is_written(self.plan, name)}
        result = outputs(self.func(*args, **kwargs))
        fresh = [tensor for tensor in result if not any(tensor is other for other in written.values())]
        return fresh, written


def widened(tensor: Any, generator: Any = None) -> Any:
    """A floating tensor in double precision, changed by one unit of its own dtype at random where asked for."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor.clone()
    wide = real(tensor.detach()).clone().requires_grad_(tensor.requires_grad)
    if generator is None:
        return wide
    signs = torch.randint(0, 2, tuple(tensor.shape), generator=generator, dtype=torch.float64, device="cpu") * 2 - 1
    unit = signs.to(tensor.device) * torch.finfo(tensor.dtype).eps
    return (wide.detach() * (1 + unit)).requires_grad_(tensor.requires_grad)


def double(value: Any) -> Any:
    """A dtype that is given as an argument, in double precision."""
    if isinstance(value, torch.dtype):
        if value.is_complex:
            return torch.complex128
        return torch.float64 if value.is_floating_point else value
    return value


def _compare_one(
    done: Examined,
    plan: Plan,
    rules: OracleRules,
    place: str,
    got: Any,
    twin: Any,
    references: _References,
    key: Any,
    tensors: Sequence[Tuple[str, Any]],
) -> None:
    found = compare(got, twin, lambda: references(key), rules.yardstick)
    places = plan.ties and got.dtype == torch.int64 and got.shape == twin.shape
    if found.verdict == WRONG and places and tied(plan, tensors, got, twin):
        return
    done.honest += found.verdict == HONEST
    if found.verdict == REFUSED:
        done.refused = done.refused or found.why
    if found.verdict == WRONG:
        dtype = str(got.dtype).replace("torch.", "")
        done.problems.append(
            Problem("wrong_value", place, "differs from the same call on dense copies", found.difference, dtype)
        )


def tied(plan: Plan, tensors: Sequence[Tuple[str, Any]], got: Any, twin: Any) -> bool:
    """Whether two tensors of positions name places with equal values in the first argument."""
    source = tensors[0][1]
    try:
        if plan.ties == "dim":
            return _tied_along_dim(source, got, twin)
        axes = int(plan.ties[-1])
        flat = source.contiguous().flatten(-axes)
        one, other = got.flatten(-axes), twin.flatten(-axes)
        return same(flat.gather(-1, one), flat.gather(-1, other))
    except (RuntimeError, IndexError):
        return False


def _tied_along_dim(source: Any, got: Any, twin: Any) -> bool:
    """The axis is the one that makes the shapes fit and the values agree; reduced axes are put back."""
    if got.dim() == 0:
        flat = source.contiguous().flatten()
        return same(flat[got], flat[twin])
    for axis in range(source.dim()):
        one, other = (got, twin) if got.dim() == source.dim() else (got.unsqueeze(axis), twin.unsqueeze(axis))
        rest = [size for place, size in enumerate(source.shape) if place != axis]
        if [size for place, size in enumerate(one.shape) if place != axis] != rest:
            continue
        inside = int(max(one.max(), other.max())) < source.size(axis)
        if inside and same(source.gather(axis, one), source.gather(axis, other)):
            return True
    return False
