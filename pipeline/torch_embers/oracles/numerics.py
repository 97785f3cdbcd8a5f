"""Errors of a result: distance from an fp64 reference in ULPs, and how much an honest implementation is allowed.

An honest implementation multiplies and adds in fp32 and rounds once, into the type of the result. Its error is one
rounding of the result, plus what roundings in fp32 make of the inputs. The second part is estimated from two sides: by
the size of the result, and by moving the inputs by one fp32 rounding and looking how far the result moves. Everything
is compared in fp64 on the CPU, because some devices (MPS) have no fp64.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional, Tuple

import torch

from torch_embers.oracles.finding import Difference

FP32_ROUNDING = 2.0**-24
"""Relative error of one rounding to nearest in fp32."""
LOW_PRECISION = (torch.bfloat16, torch.float16)
CHECKED = (torch.float32, *LOW_PRECISION, torch.complex64)
"""Types for which fp64 is a reference; a result in fp64 has none above it."""
_MOVES = 2
"""Evaluations with moved inputs: one can miss an element by chance, each further one costs as much as the reference."""


def tensors_of(tree: Any) -> List[torch.Tensor]:
    """Tensors of nested lists, tuples and dictionaries, in order."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (list, tuple)):
        return [tensor for part in tree for tensor in tensors_of(part)]
    if isinstance(tree, dict):
        return [tensor for part in tree.values() for tensor in tensors_of(part)]
    return []


def map_tensors(change: Callable[[Any], Any], tree: Any) -> Any:
    """The same nested lists, tuples and dictionaries with each leaf changed (``change`` gets every leaf)."""
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_tensors(change, part) for part in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_tensors(change, part) for part in tree)
    if isinstance(tree, dict):
        return {name: map_tensors(change, part) for name, part in tree.items()}
    return change(tree)


def in_precision(tree: Any, dtype: torch.dtype) -> Any:
    """A detached copy with every floating tensor and every floating ``torch.dtype`` in ``dtype`` (complex likewise).

    Tensors without floating values are copied, so that nothing that runs on the result can reach the original.
    """
    wide = torch.complex128 if dtype is torch.float64 else torch.complex64

    def change(leaf: Any) -> Any:
        if isinstance(leaf, torch.dtype):
            return wide if leaf.is_complex else dtype if leaf.is_floating_point else leaf
        if not isinstance(leaf, torch.Tensor):
            return leaf
        copy = leaf.detach().clone()
        return copy.to(wide if leaf.is_complex() else dtype) if leaf.is_floating_point() or leaf.is_complex() else copy

    return map_tensors(change, tree)


def moved(tree: Any, seed: int, rounding: float = FP32_ROUNDING) -> Any:
    """A copy with each floating value of an fp64 tree moved by one rounding, up or down."""
    generator = torch.Generator()
    generator.manual_seed(seed)

    def change(leaf: Any) -> Any:
        if not (isinstance(leaf, torch.Tensor) and (leaf.is_floating_point() or leaf.is_complex())):
            return leaf
        sign = torch.randint(0, 2, leaf.shape, generator=generator).to(torch.float64) * 2 - 1
        return leaf * (1 + rounding * sign.to(leaf.device))

    return map_tensors(change, tree)


def comparable(tensor: torch.Tensor) -> torch.Tensor:
    """The values in fp64 on the CPU; complex numbers get a last dimension of two."""
    dense = tensor.detach().cpu()
    return torch.view_as_real(dense.to(torch.complex128).resolve_conj()) if dense.is_complex() else dense.double()


def real_type(dtype: torch.dtype) -> torch.dtype:
    """The type of the parts of a complex type; others stay."""
    return torch.float32 if dtype is torch.complex64 else torch.float64 if dtype is torch.complex128 else dtype


def ulp(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Distance to the next number of ``dtype`` at each fp64 value (at zero: the smallest normal number's)."""
    limits = torch.finfo(dtype)
    size = torch.nan_to_num(values.abs(), nan=1.0, posinf=limits.max).clamp(min=limits.tiny, max=limits.max)
    exponent = torch.frexp(size)[1].double() - 1
    return torch.pow(torch.full_like(size, 2.0), exponent) * limits.eps


def rounded(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The fp64 values after one rounding to ``dtype``, again in fp64."""
    return values.to(dtype).double()


def terms(inputs: Any) -> int:
    """How many numbers can at most flow into one element of the result."""
    return max([1, *(int(tensor.numel()) for tensor in tensors_of(inputs))])


def allowance(
    reference: torch.Tensor,
    dtype: torch.dtype,
    count: float,
    honest: Optional[torch.Tensor] = None,
    sensitivity: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """The error of an honest implementation at each element; at least one fp32 rounding of the largest element.

    Args:
        reference: fp64 values.
        dtype: type of the result.
        count: how many terms flow into an element; rounding errors in fp32 add up like a random walk.
        honest: values of an honest implementation on the same inputs, in fp64; its own error is always allowed.
        sensitivity: how far an element moves when the inputs move by one fp32 rounding.
    """
    allowed = ulp(reference, dtype) / 2
    inner = reference.abs() * FP32_ROUNDING
    sizes = inner[torch.isfinite(inner)]
    if sizes.numel():  # 1 + erf(x) in fp32 has no smaller error, however small the result
        allowed = allowed + sizes.max()
    if sensitivity is not None:
        inner = inner + sensitivity
    allowed = allowed + math.sqrt(max(1.0, count)) * torch.nan_to_num(inner, nan=0.0, posinf=0.0)
    if honest is not None:
        allowed = torch.maximum(allowed, torch.nan_to_num((honest - reference).abs(), nan=0.0, posinf=0.0))
    return allowed


def plainly_honest(result: torch.Tensor, reference: torch.Tensor, count: float, limit: float) -> bool:
    """Whether all errors lie below what ``allowance`` is at least, so that nothing remains to be judged.

    A few passes over the values instead of dozens: nearly all results of a training end here. False says nothing.
    """
    dtype = real_type(result.dtype)
    limits = torch.finfo(dtype)
    if result.shape != reference.shape or not result.numel():
        return False
    error, size = (comparable(result) - comparable(reference)).abs_(), comparable(reference).abs()
    largest = float(size.max())
    if not largest < limits.max / 2:
        return False
    inner = math.sqrt(max(1.0, count)) * FP32_ROUNDING
    most = largest * (limits.eps / 2 + inner + FP32_ROUNDING) + limits.tiny * limits.eps
    if largest and limit * most >= largest:  # zeros may pass: that is for ``zero_passes`` to say
        return False
    return bool((error <= size.mul_(limit * (limits.eps / 4 + inner)).add_(limit * largest * FP32_ROUNDING)).all())


def sensitivity_of(
    run: Callable[[Any], Any], inputs: Any, references: List[torch.Tensor], rounding: float = FP32_ROUNDING
) -> List[torch.Tensor]:
    """How far each element of each result moves when the fp64 inputs move by one rounding."""
    found = [torch.zeros_like(reference) for reference in references]
    for seed in range(_MOVES):
        results = [comparable(tensor) for tensor in tensors_of(run(moved(inputs, seed, rounding)))]
        for place, (before, after) in enumerate(zip(references, results)):
            if before.shape == after.shape:
                found[place] = torch.maximum(found[place], (after - before).abs())
    return found


def finite_mismatch(
    result: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype, honest: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """Where a result is NaN or infinite and should not be, or the other way round.

    A value at the edge of the type may round either way, and what overflows in an honest fp32 implementation may
    overflow in the result.
    """
    expected = rounded(reference, dtype)
    same = _kind(result) == _kind(expected)
    edge = torch.isfinite(reference) & (reference.abs() >= torch.finfo(dtype).max * (1 - torch.finfo(dtype).eps))
    if honest is not None:
        same = same | (_kind(result) == _kind(honest))
    return ~(same | edge)


def _kind(values: torch.Tensor) -> torch.Tensor:
    """0 for a finite value, 1 and -1 for the infinities, 2 for NaN."""
    return torch.isnan(values) * 2 + torch.isinf(values) * torch.nan_to_num(values, nan=0.0).sign()


def worst(
    result: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype, allowed: torch.Tensor, limit: float
) -> Tuple[float, Difference]:
    """The element with the largest error in units of what is allowed, and that ratio.

    Args:
        result: values to judge, in fp64.
        reference: values of the fp64 reference.
        dtype: type of the result.
        allowed: what ``allowance`` gave.
        limit: ratio above which an element counts as wrong.
    """
    usable = torch.isfinite(result) & torch.isfinite(reference)
    error = torch.where(usable, (result - reference).abs(), torch.zeros_like(reference))
    excess = error / allowed
    if not excess.numel():
        return 0.0, Difference()
    flat = int(excess.argmax())
    return float(excess.flatten()[flat]), element(
        result, reference, dtype, flat, allowed, wrong=int((excess > limit).sum())
    )


def element(
    result: torch.Tensor, reference: torch.Tensor, dtype: torch.dtype, flat: int, allowed: torch.Tensor, wrong: int
) -> Difference:
    """One element of a result, by its number in row-major order."""
    got, expected = float(result.flatten()[flat]), float(reference.flatten()[flat])
    error = abs(got - expected)
    finite = math.isfinite(error)
    return Difference(
        index=position(flat, tuple(reference.shape)),
        got="%.9g" % got,
        expected="%.9g" % expected,
        ulps=error / float(ulp(reference.flatten()[flat].reshape(1), dtype)[0]) if finite else None,
        relative=error / abs(expected) if finite and expected else None,
        allowed=float(allowed.flatten()[flat]),
        wrong=wrong,
        total=reference.numel(),
    )


def position(place: int, shape: Tuple[int, ...]) -> Tuple[int, ...]:
    """The index of the ``place``-th element in the order of rows."""
    index = []
    for size in reversed(shape):
        index.append(place % size)
        place //= size
    return tuple(reversed(index))


def zero_passes(reference: torch.Tensor, allowed: torch.Tensor) -> bool:
    """Whether a result of zeros would lie within the allowance although the reference is not zero."""
    usable = torch.isfinite(reference)
    return bool((reference[usable] != 0).any()) and bool((reference.abs() <= allowed)[usable].all())
