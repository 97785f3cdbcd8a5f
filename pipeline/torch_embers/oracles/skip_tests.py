"""What eight of PyTorch's tests of operators ask, written anew: each answers for one sample of an operator.

An answer is ``RIGHT``, ``None`` where the sample has nothing to ask about, or what is wrong in a few words.
Exceptions pass through: PyTorch's test would fail, too.
"""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import chance, lattice
from torch_embers.oracles.compare import WRONG, compare
from torch_embers.oracles.gradients import counted, real_results
from torch_embers.oracles.repeat import mapped, parts_in, tensors_in
from torch_embers.oracles.sweep import destinations

RIGHT = ""
DIFFERS = "result differs"
RESIZED = "was resized"
"""What torch says where it gives a destination with elements another size."""
Answer = Optional[str]


class Given(NamedTuple):
    """The arguments of one sample.

    Attributes:
        sample: as the database made it.
        args: positional arguments; the first is the input.
        kwargs: the others.
        finish: what PyTorch does to results before it takes gradients: it removes what is not unique.
        broadcasts: whether the input is smaller than the result, so that it cannot hold it.
    """

    sample: Any
    args: List[Any]
    kwargs: Dict[str, Any]
    finish: Callable[[Any], Any]
    broadcasts: bool

    @classmethod
    def of(cls, sample: Any) -> Given:
        """From a sample of the database."""
        finish = getattr(sample, "output_process_fn_grad", None) or _same
        broadcasts = bool(getattr(sample, "broadcasts_input", False))
        return cls(sample, [sample.input, *sample.args], dict(sample.kwargs), finish, broadcasts)

    def copied(self, change: Callable[[Any], Any] = torch.clone) -> Tuple[List[Any], Dict[str, Any]]:
        """Arguments for one call: each tensor copied by ``change``, or as it is where that gives none."""

        def copy(tensor: Any) -> Any:
            made = change(tensor.detach())
            return (tensor.detach().clone() if made is None else made).requires_grad_(tensor.requires_grad)

        args, kwargs = mapped([self.args, self.kwargs], copy)
        return args, kwargs


def _same(value: Any) -> Any:
    return value


def _lazy(tensor: Any) -> Any:
    return lattice.lay(tensor, "lazy")


def outcome(
    call: Callable[..., Any], given: Given, arguments: Tuple[List[Any], Dict[str, Any]], weigh: Any = _same
) -> Tuple[Any, List[Any]]:
    """The result of a call with the generators set, and the gradients of its leaves.

    Args:
        call: what is called.
        given: whose results they are.
        arguments: positional and named ones.
        weigh: changes the weights from which the gradients are taken.
    """
    args, kwargs = arguments
    leaves = [tensor for tensor in tensors_in([args, kwargs]) if tensor.requires_grad]
    result = chance.seeded(call)(*args, **kwargs)
    ends = [tensor for tensor in real_results(given.finish(result)) if tensor.requires_grad] if leaves else []
    if not ends:
        return result, []
    grads = torch.autograd.grad(ends, leaves, [weigh(counted(end)) for end in ends], allow_unused=True)
    return result, [torch.zeros_like(leaf) if grad is None else grad for grad, leaf in zip(grads, leaves)]


def difference(got: Any, expected: Any) -> str:
    """How two nestings of results differ, by what honest rounding may do; empty where they do not."""
    ours, theirs = parts_in(got), parts_in(expected)
    if len(ours) != len(theirs):
        return "other number of results"
    for one, other in zip(ours, theirs):
        said = compare(one.detach(), other.detach())
        if said.verdict == WRONG:
            return "shape or dtype differs" if said.why == "shape" else DIFFERS
    return RIGHT if ours or got == expected else DIFFERS


def _refuses(call: Callable[..., Any], args: Sequence[Any], kwargs: Dict[str, Any]) -> bool:
    try:
        return chance.seeded(call)(*args, **kwargs) is NotImplemented
    except Exception:  # noqa: BLE001 - whatever torch raises
        return True


def noncontiguous_samples(_op: Any, given: Given) -> Answer:
    """Whether results and gradients stay where every second element of memory is used."""

    def strided(tensor: Any) -> Any:
        return lattice.lay(tensor, "strided")

    if all(strided(tensor.detach()) is None for tensor in tensors_in([given.args, given.kwargs])):
        return None
    return difference(outcome(_op, given, given.copied(strided)), outcome(_op, given, given.copied()))


def out(op: Any, given: Given) -> Answer:
    """Whether ``out=`` is filled as it lies and keeps its memory; a cast that loses is refused."""
    args, kwargs = given.copied()
    expected = chance.seeded(op)(*args, **kwargs)
    if not tensors_in([expected]):
        return None
    if not op.supports_out:
        refused = _refuses(op, args, dict(kwargs, out=destinations(expected, "dense", "destination")[0]))
        return RIGHT if refused else "out= is accepted though declared absent"
    for layout in ("dense", "transposed", "strided", "rolled"):
        destination, _ = destinations(expected, layout, "destination")
        before = [(tensor.stride(), tensor.data_ptr()) for tensor in tensors_in([destination])]
        chance.seeded(op)(*args, **dict(kwargs, out=destination))
        why = difference(destination, tuple(expected) if isinstance(expected, (list, tuple)) else expected)
        if why:
            return why
        if before != [(tensor.stride(), tensor.data_ptr()) for tensor in tensors_in([destination])]:
            return "strides or memory of out= changed"
    if any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors_in([expected])):
        whole = mapped(destinations(expected, "dense", "destination")[0], lambda tensor: tensor.to(torch.int64))
        if not _refuses(op, args, dict(kwargs, out=whole)):
            return "out= of int64 is accepted for fractions"
    return RIGHT


def out_warning(op: Any, given: Given) -> Answer:
    """Whether torch warns where it resizes a destination with elements, and nowhere else."""
    args, kwargs = given.copied()
    expected = chance.seeded(op)(*args, **kwargs)
    if not op.supports_out or not tensors_in([expected]):
        return None
    plain = tuple(expected) if isinstance(expected, (list, tuple)) else expected
    fitting = [(destinations(expected, layout, "destination")[0], False) for layout in ("dense", "transposed")]
    empty = mapped(plain, lambda tensor: tensor.new_empty(0))
    wider = mapped(plain, lambda tensor: tensor.new_zeros([length + 1 for length in tensor.shape] or [2]))
    for destination, expects in (*fitting, (empty, False), (wider, True)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            chance.seeded(op)(*args, **dict(kwargs, out=destination))
        if any(RESIZED in str(one.message) for one in said) != expects:
            return "no warning of a resize" if expects else "warns of a resize without need"
        if why := difference(destination, plain):
            return why
    return RIGHT


def variant_consistency_eager(op: Any, given: Given) -> Answer:
    """Whether method, operator, aliases and in-place forms give what the function gives, gradients included."""
    first = given.args[0]
    if not tensors_in([first]) or not isinstance(first, torch.Tensor):
        return None
    expected = outcome(op, given, given.copied())
    for form in _forms(op, "get_method", "get_operator", "method_variant"):
        if why := difference(outcome(form, given, given.copied()), expected):
            return why
    in_place = _forms(op, "get_inplace", "get_inplace_operator", "inplace_variant")
    results = tensors_in([expected[0]])
    fits = not given.broadcasts and all(torch.can_cast(result.dtype, first.dtype) for result in results)
    for form in in_place:
        args, kwargs = given.copied()
        if not fits:
            if not _refuses(form, [args[0].detach().clone(), *args[1:]], kwargs):
                return "an in-place form that must refuse does not"
            continue

        def copied_first(tensor: Any, *rest: Any, **named: Any) -> Any:
            return form(tensor.clone(), *rest, **named)  # noqa: B023 - called before the next form

        if not op.supports_inplace_autograd:
            args, kwargs = mapped([args, kwargs], lambda tensor: tensor.detach())
        got = outcome(copied_first, given, (args, kwargs))
        wanted = mapped(expected[0], lambda tensor: tensor.to(first.dtype))
        if why := difference(got[0], wanted) or (difference(got[1], expected[1]) if got[1] else RIGHT):
            return why
    return RIGHT


def _forms(op: Any, *names: str) -> List[Callable[..., Any]]:
    """Forms of an operator and, by the last name, of its aliases."""
    found = [getattr(op, name)() for name in names[:-1] if hasattr(op, name)]
    for alias in getattr(op, "aliases", ()):
        found += [getattr(alias, names[-1], None), *([alias.op] if names[-1] == "method_variant" else [])]
    return [form for form in found if form is not None]


def math_view(op: Any, given: Given) -> Answer:
    """Whether an input with the negative bit, or the conjugate bit where it is complex, gives the same result."""
    first = given.args[0]
    tensors = tensors_in([first])
    if not any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors):
        return None
    expected = outcome(op, given, given.copied())
    turned, _ = given.copied(_lazy)
    args, kwargs = given.copied()
    if why := difference(outcome(op, given, ([turned[0], *args[1:]], kwargs), _lazy), expected):
        return why
    form = op.get_inplace() if hasattr(op, "get_inplace") else None
    result = expected[0]
    if form is None or given.broadcasts or not isinstance(result, torch.Tensor) or result.dtype != tensors[0].dtype:
        return RIGHT
    turned, _ = mapped(given.copied(_lazy), lambda tensor: tensor.detach())
    args, kwargs = mapped(given.copied(), lambda tensor: tensor.detach())
    got = chance.seeded(form)(turned[0], *args[1:], **kwargs)
    if not (got.is_neg() or got.is_conj()):
        return "the in-place form loses the bit"
    return difference(got, result)


def numpy_ref(op: Any, given: Given) -> Answer:
    """Whether the reference in NumPy that the database names gives the same to seven digits."""
    if getattr(op, "ref", None) is None:
        return None
    theirs = given.sample.numpy()
    expected = op.ref(theirs.input, *theirs.args, **theirs.kwargs)
    args, kwargs = given.copied()
    got = tensors_in([chance.seeded(op)(*args, **kwargs)])
    wanted = [torch.as_tensor(one) for one in (expected if isinstance(expected, (list, tuple)) else [expected])]
    if len(got) != len(wanted):
        return "other number of results"
    for one, other in zip(got, wanted):
        if one.shape != other.shape:
            return "shape or dtype differs"
        try:
            torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-7, equal_nan=True, check_dtype=False)
        except AssertionError:
            return DIFFERS
    return RIGHT


def works(op: Any, given: Given) -> Answer:
    """Whether a call works, and its gradients where leaves want one; what it raises passes through."""
    outcome(op, given, given.copied())
    return RIGHT
