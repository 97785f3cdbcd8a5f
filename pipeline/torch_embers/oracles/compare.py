"""Compare two results of one computation against the error that honest rounding makes, not against a fixed tolerance.

Two orders of summation give two roundings, and both are right. So a difference counts only where the value is farther
from a reference in double precision than an honest implementation may be: by rounding its result, by the error that
the dense twin makes itself, and by what a change of the inputs in their last place does to the result. The last term is
what makes cancellation harmless: where terms cancel, a small change of the inputs moves the result far.

A tolerance that would let a tensor of zeros pass decides nothing: then the comparison is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

import torch

from torch_embers.oracles.finding import Difference
from torch_embers.oracles.numerics import position, ulp

EQUAL, HONEST, WRONG, REFUSED = "equal", "honest", "wrong", "refused"
DOUBLE = (torch.float64, torch.complex128)
ZEROS_PASS = "the tolerance would let a tensor of zeros pass"


@dataclass(frozen=True)
class Yardstick:
    """How far an honest result may be from the reference; the numbers and their reasons are in data/oracles.toml.

    Attributes:
        ulps: of the result itself.
        spread: times what a change of the inputs in their last place does.
        twin: times the largest error of the dense twin.
        blind: ulps of the largest element, where there is no reference.
    """

    ulps: float = 8.0
    spread: float = 16.0
    twin: float = 8.0
    blind: float = 256.0


@dataclass(frozen=True)
class Reference:
    """The computation in double precision.

    Attributes:
        value: of the result.
        spread: what a change of the inputs in their last place does to it, at most, per element.
    """

    value: Any
    spread: Any


@dataclass(frozen=True)
class TensorComparison:
    """What a comparison says: one of EQUAL, HONEST, WRONG, REFUSED, the worst element, and why it was refused."""

    verdict: str
    difference: Optional[Difference] = None
    why: str = ""


def real(tensor: Any) -> Any:
    """The same values in double precision: complex128 for complex, float64 for the others."""
    return tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)


def same(got: Any, expected: Any) -> bool:
    """Whether two tensors agree in shape, dtype and every value, NaN being equal to NaN."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return False
    if got.dtype == torch.complex32:  # cannot be compared itself
        got, expected = real(got), real(expected)
    if torch.equal(got, expected):
        return True
    if not (got.is_floating_point() or got.is_complex()):
        return False
    return bool(((got == expected) | (torch.isnan(got) & torch.isnan(expected))).all())


def compare(
    got: Any,
    twin: Any,
    refer: Optional[Callable[[], Optional[Reference]]] = None,
    yardstick: Optional[Yardstick] = None,
) -> TensorComparison:
    """Compare a result with that of the dense twin.

    Args:
        got: the result in question.
        twin: the result of the same operator on dense copies.
        refer: computes the reference when it is needed; None, or a None from it, where there is none.
        yardstick: what honest rounding may do.
    """
    if same(got, twin):
        return TensorComparison(EQUAL)
    if got.shape != twin.shape or got.dtype != twin.dtype:
        shape = "%s%s" % (str(got.dtype).replace("torch.", ""), list(got.shape))
        wanted = "%s%s" % (str(twin.dtype).replace("torch.", ""), list(twin.shape))
        return TensorComparison(
            WRONG, Difference((), shape, wanted, None, None, None, got.numel(), got.numel()), "shape"
        )
    if not (got.is_floating_point() or got.is_complex()):
        return TensorComparison(WRONG, _exact(got, twin))
    measure = yardstick or Yardstick()
    if _close(got, twin, measure.ulps / 2):
        return TensorComparison(HONEST)
    reference = refer() if refer is not None else None
    if reference is None or reference.value.shape != got.shape:
        return _judge(got, twin, real(twin), measure.blind * ulp(_largest(real(twin)), got.dtype), "no reference")
    expected = reference.value
    own = _largest((real(twin) - expected).abs()) * measure.twin
    allowed = measure.ulps * ulp(expected, got.dtype) + measure.spread * reference.spread + own
    if got.dtype in DOUBLE or not bool((reference.spread > 0).any()):
        # no reference is more precise than double, and whole numbers have no last place to move: rounding is left
        allowed = torch.clamp(allowed, min=measure.blind * float(ulp(_largest(expected), got.dtype)))
    return _judge(got, twin, expected, allowed, "")


def _close(got: Any, twin: Any, ulps: float) -> bool:
    """Whether no element differs by more than a few ulps: then no reference is needed."""
    expected = real(twin)
    error = (real(got) - expected).abs()
    fine = (error <= ulps * ulp(expected, got.dtype)) | (got == twin) | (torch.isnan(got) & torch.isnan(twin))
    return bool(fine.all())


def _judge(got: Any, twin: Any, expected: Any, allowed: Any, why: str) -> TensorComparison:
    error = (real(got) - expected).abs()
    defined = torch.isfinite(allowed) & torch.isfinite(expected.abs())
    # where the reference or its spread is no number, an overflow or a pole is near: there the twin alone is asked
    agree = (got == twin) | (torch.isnan(got) & torch.isnan(twin))
    lost = torch.isfinite(got.abs()) != torch.isfinite(twin.abs())
    wrong = torch.where(defined, ~(error <= allowed), lost) & ~agree
    if not bool(wrong.any()):
        return (
            TensorComparison(REFUSED, None, ZEROS_PASS)
            if _zeros_pass(twin, expected, allowed, defined)
            else TensorComparison(HONEST)
        )
    return TensorComparison(WRONG, _worst(got, expected, error, allowed, wrong), why)


def _zeros_pass(twin: Any, expected: Any, allowed: Any, defined: Any) -> bool:
    """Whether a tensor of zeros would be taken for right though other values are expected."""
    told = torch.where(defined, expected.abs() > allowed, ~torch.isfinite(twin.abs()))
    other = torch.where(defined, expected != 0, twin != 0)
    return bool(other.any()) and not bool(told.any())


def _largest(values: Any) -> Any:
    """The largest finite magnitude as a tensor without axes."""
    magnitude = values.abs()
    finite = torch.where(torch.isfinite(magnitude), magnitude, torch.zeros_like(magnitude))
    return finite.max() if finite.numel() else torch.zeros((), dtype=torch.float64)


def _worst(got: Any, expected: Any, error: Any, allowed: Any, wrong: Any) -> Difference:
    weight = torch.where(torch.isfinite(error), error, torch.full_like(error, float("inf")))
    flat = torch.where(wrong, weight, torch.full_like(weight, -1.0)).flatten()
    place = int(flat.argmax())
    index = position(place, tuple(got.shape))
    value, miss = expected.flatten()[place], float(error.flatten()[place])
    unit = float(ulp(value, got.dtype))
    size = float(value.abs())
    limit = allowed.expand(got.shape).flatten()[place] if allowed.dim() == 0 else allowed.flatten()[place]
    return Difference(
        index,
        number(got.flatten()[place]),
        number(value),
        miss / unit if miss == miss else None,
        miss / size if size and miss == miss else None,
        float(limit),
        int(wrong.sum()),
        got.numel(),
    )


def _exact(got: Any, twin: Any) -> Difference:
    wrong = got != twin
    place = int(wrong.flatten().to(torch.uint8).argmax())
    return Difference(
        position(place, tuple(got.shape)),
        number(got.flatten()[place]),
        number(twin.flatten()[place]),
        None,
        None,
        0.0,
        int(wrong.sum()),
        got.numel(),
    )


def number(value: Any) -> str:
    """A scalar tensor as short text."""
    item = value.item()
    return "%.9g" % item if isinstance(item, float) else str(item)
