"""Faults of kernels that values on fresh inputs do not show: memory not written, inputs changed, answers kept."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.dispatch import DispatchMode
from torch_embers.oracles.draws import Draw
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.measure import Outputs, Truth, arguments, copied, outputs_of
from torch_embers.oracles.precision import LIMIT

RUNS = 5
"""Repetitions after which a kernel that changes with warm-up (autotuning, a counter, a cache) has changed."""
_EMPTY = ("empty", "new_empty", "empty_strided", "new_empty_strided", "empty_like")
POISONS = (float("nan"), -24_000.0)
"""NaN spreads to whatever is computed from it; a large number passes a test for NaN."""
_FREED = 4
"""Blocks of each size that are filled and freed, so that an allocator hands out one of them next."""
_WORSE = 4.0
"""A run is another one's contradiction when its error is so many times as large."""


class PoisonedMemory(DispatchMode):
    """Fills each tensor that is made without values (``torch.empty``) while the block runs: what reads it shows."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        """Fill what ``empty`` returns."""
        result = func(*args, **(kwargs or {}))
        name = str(getattr(func, "overloadpacket", func)).split(".")[-1]
        if name in _EMPTY and isinstance(result, torch.Tensor):
            poison(result, self._value)
        return result


def poison(tensor: torch.Tensor, value: float) -> None:
    """Fill a tensor with a value that no result can hold by chance."""
    if tensor.is_floating_point() or tensor.is_complex():
        tensor.fill_(value)
    elif tensor.dtype is not torch.bool and not tensor.is_quantized:
        tensor.fill_(113)  # fits each integer type


def poison_freed(like: Outputs, value: float) -> None:
    """Leave poisoned blocks of the results' sizes with the allocator, for kernels that allocate by themselves."""
    blocks = [torch.empty_like(tensor) for tensor in like.values() for _ in range(_FREED)]
    for block in blocks:
        poison(block, value)


def habits(
    name: str,
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    make_inputs: Callable[[Draw], Tuple[Any, ...]],
    draw: Draw,
    gradients: bool,
) -> List[Finding]:
    """What is wrong with a kernel beyond its values: one finding per fault.

    Args:
        name: of the kernel in findings.
        candidate: the kernel.
        reference: in plain PyTorch.
        make_inputs: as in ``check_kernel``.
        draw: a small set of inputs.
        gradients: run the backward pass, too.
    """
    inputs = arguments(make_inputs, draw)
    others = arguments(make_inputs, Draw(draw.distribution, draw.n, draw.seed + 1))
    truth = Truth(reference, inputs, gradients)
    first = outputs_of(candidate, inputs, gradients)
    usual = truth.excess(first)
    bound = max(LIMIT, _WORSE * usual) if usual < float("inf") else LIMIT
    found: List[Finding] = []

    def add(severity: str, place: str, text: str) -> None:
        device = next(iter(first.values())).device.type
        found.append(Finding("precision", name, "", severity, "%s %s" % (name, text), device=device, place=place))

    for number in changed_arguments(candidate, inputs):
        add("broken_promise", "argument %d" % number, "changes its argument %d" % number)
    poisoned = [_poisoned(candidate, inputs, gradients, first, value) for value in POISONS]
    repeated = max(truth.excess(outputs_of(candidate, inputs, gradients)) for _ in range(RUNS))
    if usual <= bound < repeated:
        add("wrong_value", "repeated", "is right at the first call and wrong at a later one with the same inputs")
    if _follows(*poisoned) or (max(usual, repeated) <= bound < max(truth.excess(one) for one in poisoned)):
        add("wrong_value", "memory", "reads memory that it has not written")
    _kept(candidate, reference, inputs, others, bound, add)
    return found


def _poisoned(
    candidate: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool, first: Outputs, value: float
) -> Outputs:
    poison_freed(first, value)
    with PoisonedMemory(value):
        return outputs_of(candidate, inputs, gradients)


def _follows(first: Outputs, second: Outputs) -> bool:
    """Whether results are NaN at other places with one poison than with the other."""
    pairs = ((tensor, second[place]) for place, tensor in first.items() if place in second)
    return any(bool((torch.isnan(x) != torch.isnan(y)).any()) for x, y in pairs if x.shape == y.shape)


def changed_arguments(candidate: Callable[..., Any], inputs: Tuple[Any, ...]) -> List[int]:
    """Positions of the arguments whose values the kernel changes."""
    given = copied(inputs)
    with torch.no_grad():
        candidate(*given)
    return [
        number
        for number, (before, after) in enumerate(zip(inputs, given))
        if any(not _same(x, y) for x, y in zip(numerics.tensors_of(before), numerics.tensors_of(after)))
    ]


def _same(before: torch.Tensor, after: torch.Tensor) -> bool:
    if before.shape != after.shape or before.dtype is not after.dtype:
        return False
    return bool(((before == after) | ((before != before) & (after != after))).all())


def _kept(
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Tuple[Any, ...],
    others: Tuple[Any, ...],
    bound: float,
    add: Callable[[str, str, str], None],
) -> None:
    """Answers kept from an earlier call: other values in the same memory, and results that a later call overwrites."""
    mine, second = numerics.tensors_of(list(inputs)), numerics.tensors_of(list(others))
    if any(x.shape != y.shape or x.dtype is not y.dtype for x, y in zip(mine, second)):
        return
    given = copied(inputs)
    with torch.no_grad():
        before = numerics.tensors_of(candidate(*given))
        copies = [tensor.clone() for tensor in before]
        for place, tensor in zip(numerics.tensors_of(list(given)), second):
            place.copy_(tensor)
        after = numerics.tensors_of(candidate(*given))
    own = {tensor.data_ptr() for tensor in numerics.tensors_of(list(given))}
    if any(not _same(x, y) for x, y in zip(before, copies) if x.data_ptr() not in own):
        add("broken_promise", "earlier result", "overwrites the result of an earlier call")
    names = ["result"] if len(after) == 1 else ["result %d" % number for number in range(len(after))]
    if Truth(reference, others, gradients=False).excess(dict(zip(names, after))) > bound:
        add("wrong_value", "kept answer", "keeps answers: new values in the memory of earlier inputs change nothing")
