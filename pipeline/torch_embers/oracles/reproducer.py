"""Write a case file that repeats one call with captured tensors, as small as it can be while the problem stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import layouts, numerics
from torch_embers.oracles.repeat import Plan, Problem, examine, is_written, named

if TYPE_CHECKING:
    from torch_embers.oracles.oracle_rules import OracleRules

FAULT = "observed = [~part if part.dtype is part.bool().dtype else part + 1 for part in observed]"
"""What the case file injects."""
MARGIN = 16
"""Elements behind the last one of a rebuilt tensor: where a write outside would go."""


@dataclass(frozen=True)
class Laid:
    """A tensor as plain facts: how it lies in memory, and its values as a dense tensor."""

    size: Tuple[int, ...]
    stride: Tuple[int, ...]
    offset: int
    values: Any
    conjugated: bool = False
    negated: bool = False

    @property
    def form(self) -> Tuple[Any, ...]:
        """Size, strides and offset."""
        return self.size, self.stride, self.offset

    def build(self) -> Any:
        """The tensor in memory of its own, filled with 77 around it, or with 1 where values may be positions."""
        reach = sum((size - 1) * stride for size, stride in zip(self.size, self.stride)) if self.values.numel() else 0
        length = self.offset + reach + 1 + MARGIN
        exact = not (self.values.is_floating_point() or self.values.is_complex())
        room = torch.full((length,), 1 if exact else 77, dtype=torch.int64).to(self.values.device, self.values.dtype)
        values = self.values.conj().resolve_conj() if self.conjugated else -self.values if self.negated else self.values
        places = torch.arange(length).as_strided(self.size, self.stride, self.offset)
        room[places.flatten().to(room.device)] = values.flatten()
        laid = room.as_strided(self.size, self.stride, self.offset)
        if self.conjugated:
            return laid.conj()
        return torch._neg_view(laid) if self.negated else laid  # noqa: SLF001 - the only way to such a view


def laid_of(tensor: Any) -> Laid:
    """The facts of a tensor; its values are copied."""
    values = layouts.twin(tensor).detach()
    return Laid(
        tuple(tensor.size()), tuple(tensor.stride()), tensor.storage_offset(), values, tensor.is_conj(), tensor.is_neg()
    )


class Origin:
    """The arguments of a call as they were before it."""

    def __init__(self, args: Sequence[Any], kwargs: Dict[str, Any], plan: Plan) -> None:
        tensors = [tensor for _, tensor in named(plan, args, kwargs)]
        self.device = tensors[0].device.type if tensors else "cpu"
        self.args: Any = _keep(list(args))
        self.kwargs: Any = _keep(kwargs)


def _keep(value: Any) -> Any:
    def kept(leaf: Any) -> Any:
        return laid_of(leaf) if isinstance(leaf, torch.Tensor) and layouts.is_plain(leaf) else leaf

    return numerics.map_tensors(kept, value)


def _change(value: Any, change: Callable[[Laid], Any]) -> Any:
    return numerics.map_tensors(lambda leaf: change(leaf) if isinstance(leaf, Laid) else leaf, value)


def _all(value: Any) -> List[Laid]:
    found: List[Laid] = []
    _change(value, found.append)
    return found


Arguments = Tuple[Any, Any]


class Shrinker:
    """Makes the arguments of a failing call smaller: fewer elements, plainer values, plainer layouts of the others."""

    def __init__(self, func: Callable[..., Any], plan: Plan, severity: str, rules: OracleRules) -> None:
        self.func, self.plan, self.severity, self.rules = func, plan, severity, rules
        self.left = rules.shrink
        self.resizes: Optional[bool] = None

    def fails(self, arguments: Arguments) -> bool:
        """Whether the call has a problem of the same severity; one that resizes destinations is another call."""
        if self.left <= 0:
            return False
        self.left -= 1
        args, kwargs = (_change(part, Laid.build) for part in arguments)
        written = [tensor for name, tensor in named(self.plan, args, kwargs) if is_written(self.plan, name)]
        sizes = [tensor.size() for tensor in written]
        try:
            found = examine(self.func, self.plan, args, kwargs, self.rules)
        except Exception:  # noqa: BLE001 - arguments that do not fit each other are refused in many ways
            return False
        resized = [tensor.size() for tensor in written] != sizes
        if self.resizes is None:
            self.resizes = resized
        if resized != self.resizes:  # a destination of the wrong size writes over what lies behind it, by any operator
            return False
        return any(problem.severity == self.severity for problem in found.problems)

    def shrink(self, arguments: Arguments) -> Optional[Arguments]:
        """The smallest arguments that were found; None where the call does not fail when it is repeated."""
        if not self.fails(arguments):
            return None
        for step in (_narrower, _packed, _denser, _plainer):
            going = True
            while going:
                going = False
                for smaller in step(arguments):
                    if self.fails(smaller):
                        arguments, going = smaller, True
                        break
        return arguments


def _narrower(arguments: Arguments) -> List[Arguments]:
    """Each length that an axis has, cut wherever it occurs: to 2, to a half, by one."""
    lengths = sorted({size for laid in _all(list(arguments)) for size in laid.size if size > 1}, reverse=True)
    cuts = [(old, new) for old in lengths for new in sorted({1, 2, old // 2, old - 1}) if 0 < new < old]
    return [_mapped(arguments, partial(_cut, old=old, new=new)) for old, new in cuts]


def _mapped(arguments: Arguments, change: Callable[[Laid], Laid]) -> Arguments:
    return _change(arguments[0], change), _change(arguments[1], change)


def _cut(laid: Laid, old: int, new: int) -> Laid:
    values = laid.values
    for axis, size in enumerate(laid.size):
        if size == old:
            values = values.narrow(axis, 0, new)
    return replace(laid, size=tuple(values.shape), values=values.contiguous())


def _packed(arguments: Arguments) -> List[Arguments]:
    """The same order of axes with the smallest strides that keep gaps as gaps, and a small offset."""

    def pack(laid: Laid) -> Laid:
        order = sorted(range(len(laid.size)), key=lambda axis: laid.stride[axis])
        strides, room, was = list(laid.stride), 1, 1
        for axis in order:
            if laid.stride[axis] == 0:
                continue
            gap = 2 if laid.stride[axis] > was else 1
            strides[axis] = room * gap
            room, was = strides[axis] * laid.size[axis], laid.stride[axis] * laid.size[axis]
        return replace(laid, stride=tuple(strides), offset=min(laid.offset, 3))

    packed = _mapped(arguments, pack)
    return [] if _facts(packed) == _facts(arguments) else [packed]


def _denser(arguments: Arguments) -> List[Arguments]:
    """One tensor after the other made dense."""
    made = []
    for number, laid in enumerate(_all(list(arguments))):
        dense = replace(laid, stride=layouts.dense_strides(laid.size), offset=0, conjugated=False, negated=False)
        if dense.form != laid.form or laid.conjugated or laid.negated:
            made.append(_replaced(arguments, number, dense))
    return made


def _plainer(arguments: Arguments) -> List[Arguments]:
    """One tensor after the other filled with 1, 2, 3 ..."""
    made = []
    for number, laid in enumerate(_all(list(arguments))):
        plain = _counted(laid.values)
        if (
            laid.values.numel()
            and not torch.equal(plain, laid.values)
            and laid.values.dtype not in (torch.bool, torch.int64)
        ):
            made.append(_replaced(arguments, number, replace(laid, values=plain)))
    return made


def _counted(values: Any) -> Any:
    count = torch.arange(1, values.numel() + 1, device=values.device) % 8
    return count.to(values.dtype).reshape(values.shape)


def _replaced(arguments: Arguments, number: int, new: Laid) -> Arguments:
    left = [number]

    def change(laid: Laid) -> Laid:
        left[0] -= 1
        return new if left[0] == -1 else laid

    return _change(arguments[0], change), _change(arguments[1], change)


def _facts(arguments: Arguments) -> List[Tuple[Any, ...]]:
    return [laid.form for laid in _all(list(arguments))]


def write(func: Any, plan: Plan, origin: Origin, problem: Problem, rules: OracleRules, call: str = "") -> str:
    """The text of a case file; empty where the call cannot be repeated or is too large to be written.

    Args:
        func: what is called.
        plan: of the operator.
        origin: the arguments.
        problem: what is wrong with it.
        rules: limits.
        call: Python source of ``func``; of an operator of the dispatcher it follows from the plan.
    """
    shrinker = Shrinker(func, plan, problem.severity, rules)
    arguments = shrinker.shrink((origin.args, origin.kwargs))
    if arguments is None or any(laid.values.numel() > rules.reproducer for laid in _all(list(arguments))):
        return ""
    try:
        return case_text(plan, arguments, problem, rules, call)
    except ValueError:
        return ""


def source_of(plan: Plan) -> str:
    """Python source of an operator of the dispatcher."""
    namespace, _, name = plan.op.partition(".")
    return "torch.ops.%s.%s.%s" % (namespace, name, plan.overload or "default")


def case_text(plan: Plan, arguments: Arguments, problem: Problem, rules: OracleRules, call: str = "") -> str:
    """A standalone case file for one call; one that ends the process is made in a child.

    Raises:
        ValueError: an argument has no text.
    """
    args = ", ".join(literal(value) for value in arguments[0])
    kwargs = ", ".join("%s=%s" % (name, literal(value)) for name, value in arguments[1].items())
    written = [place for place, name in enumerate(plan.names[: len(arguments[0])]) if name in plan.written]
    keys = [name for name in arguments[1] if name in plan.written]
    seen = problem.message if problem.severity != "wrong_value" else "%s differs" % problem.place
    dies = problem.severity == "crash"
    text = rules.case_file["frame"].format(
        sentence="Calls %s on tensors that are not dense, and on dense copies. The results must agree; %s."
        % (plan.op, seen),
        call=call or source_of(plan),
        gradients=rules.case_file["gradients"] if call.startswith("gradients(") else "",
        given=", ".join(part for part in (args, kwargs) if part),
        written=repr(written),
        keys=repr(keys),
        fault="os.abort()" if dies else FAULT,
        check=rules.case_file["dies" if dies else "compared"],
    )
    return text.replace('signature = "mismatch"', 'signature = "signal"') if dies else text


def literal(value: Any) -> str:
    """Python source that makes a value again.

    Raises:
        ValueError: there is none.
    """
    if isinstance(value, Laid):
        return _laid_literal(value)
    if value is None or isinstance(value, (bool, int, str)):
        return repr(value)
    if isinstance(value, float):
        return repr(value) if value == value and abs(value) != float("inf") else "float(%r)" % str(value)
    if isinstance(value, complex):
        return repr(value)
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return str(value)
    if isinstance(value, torch.device):
        return "torch.device(%r)" % str(value)
    if isinstance(value, (list, tuple)):
        inside = ", ".join(literal(part) for part in value)
        return "[%s]" % inside
    raise ValueError("no text for %s" % type(value).__name__)


def _laid_literal(laid: Laid) -> str:
    values = (
        "count"
        if laid.values.numel() and torch.equal(_counted(laid.values), laid.values)
        else repr(laid.values.flatten().tolist())
    )
    values = values.replace("nan", "float('nan')").replace("inf", "float('inf')") if values != "count" else repr(values)
    flags = "".join(", %s=True" % name for name in ("conjugated", "negated") if getattr(laid, name))
    return "laid(%s, %s, %s, %d, %s%s)" % (values, laid.values.dtype, laid.size, laid.offset, laid.stride, flags)
