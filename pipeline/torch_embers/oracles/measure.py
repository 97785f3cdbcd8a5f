"""A candidate beside its reference on one set of inputs: results and gradients, each with fp64 and honest values."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.growth import Point, one_by_one
from torch_embers.oracles.precision import LIMIT, LOSSY, Judgement, judge

if TYPE_CHECKING:
    from torch_embers.oracles.draws import Draw

_COTANGENT_SEED = 20_011
_SUSPECT = 2.0
"""Error in units of the honest one from which the condition of the problem is looked at, too."""
Outputs = Dict[str, torch.Tensor]
"""Results and gradients by place: ``result``, ``result 1``, ``gradient of argument 0``."""


class UnusableReferenceError(ValueError):
    """The reference or the inputs cannot be used for a check."""


def arguments(make_inputs: Callable[[Draw], Any], draw: Draw) -> Tuple[Any, ...]:
    """What a caller's function gives for a draw; a tensor alone is one argument and not its rows.

    Raises:
        UnusableReferenceError: it gives neither a tuple, a list nor a tensor.
    """
    made = make_inputs(draw)
    if isinstance(made, torch.Tensor):
        return (made,)
    if not isinstance(made, (tuple, list)):
        raise UnusableReferenceError("make_inputs must give a tuple of arguments, and gave %s" % type(made).__name__)
    return tuple(made)


@dataclass(frozen=True)
class Comparison:
    """One result or gradient of a candidate, with what it should be.

    Attributes:
        place: which one.
        result: of the candidate.
        reference: in fp64, on the CPU.
        honest: of the reference in fp32, rounded once to the type of the result; in fp64, on the CPU.
        judgement: element by element.
        counts: terms per row of the result; None where they are the same everywhere.
        n: size of the inputs.
        moved: how far each element moves when the inputs move by one fp32 rounding; None where nothing is suspicious.
    """

    place: str
    result: torch.Tensor
    reference: torch.Tensor
    honest: torch.Tensor
    judgement: Judgement
    counts: Optional[torch.Tensor]
    n: int
    moved: Optional[torch.Tensor] = None

    @property
    def counted(self) -> bool:
        """Whether the number of terms is known for each row."""
        return self.counts is not None and self.counts.shape[:1] == self.result.shape[:1] != ()

    def rough_excess(self) -> float:
        """Root-mean-square error over all elements in units of the honest one."""
        got = numerics.comparable(self.result)
        if got.shape != self.reference.shape:
            return math.inf
        usable = torch.isfinite(self.reference) & torch.isfinite(self.honest) & torch.isfinite(got)
        error, honest = (_rms((values - self.reference)[usable]) for values in (got, self.honest))
        rounding = torch.finfo(numerics.real_type(self.result.dtype)).eps / 8 * _rms(self.reference[usable])
        return error / max(honest, rounding) if error else 0.0

    def points(self, distribution: str) -> List[Point]:
        """Error against count: rows with about the same count (powers of two) make one point."""
        got = numerics.comparable(self.result)
        if got.shape != self.reference.shape or not got.numel():
            return []
        if self.counts is None or not self.counted:
            point = self._point(distribution, float(self.n), slice(None), got)
            return [point] if point else []
        counts = self.counts.double().cpu()
        bins = counts.clamp(min=1).log2().round()
        found = []
        for value in torch.unique(bins[counts > 0]):
            rows = (bins == value) & (counts > 0)
            point = self._point(distribution, float(counts[rows].mean()), rows, got)
            found += [point] if point else []
        return found

    def _point(self, distribution: str, count: float, rows: Any, got: torch.Tensor) -> Optional[Point]:
        expected, honest, result = self.reference[rows], self.honest[rows], got[rows]
        usable = torch.isfinite(expected) & torch.isfinite(honest) & torch.isfinite(result)
        scale = _rms(expected[usable])
        if not scale:
            return None
        rounding = torch.finfo(numerics.real_type(self.result.dtype)).eps / 8  # what one makes, at the least
        floor = max(rounding, one_by_one(distribution, count))
        if self.moved is not None:
            floor = max(floor, math.sqrt(max(1.0, count)) * _rms(self.moved[rows][usable]) / scale)
        return Point(
            distribution=distribution,
            n=self.n,
            count=count,
            error=_rms((result - expected)[usable]) / scale,
            honest=max(_rms((honest - expected)[usable]) / scale, floor),
            elements=int(usable.sum()),
            place=self.place,
        )


def _rms(values: torch.Tensor) -> float:
    return float(values.pow(2).mean().sqrt()) if values.numel() else 0.0


def copied(inputs: Tuple[Any, ...]) -> Tuple[Any, ...]:
    """Fresh copies of all tensors, with the same strides."""
    return tuple(numerics.map_tensors(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, list(inputs)))


def outputs_of(run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool) -> Outputs:
    """Results and, where there are any, gradients for cotangents that are the same for each implementation."""
    ready = [
        part.requires_grad_() if gradients and isinstance(part, torch.Tensor) and part.is_floating_point() else part
        for part in copied(inputs)
    ]
    with torch.set_grad_enabled(gradients):
        results = numerics.tensors_of(run(*ready))
    found = {
        "result" if len(results) == 1 else "result %d" % number: tensor.detach()
        for number, tensor in enumerate(results)
    }
    wanted = [number for number, part in enumerate(ready) if isinstance(part, torch.Tensor) and part.requires_grad]
    ends = [tensor for tensor in results if tensor.requires_grad]
    if not (gradients and wanted and ends):
        return found
    slopes = torch.autograd.grad(
        ends, [ready[number] for number in wanted], [_cotangent(tensor) for tensor in ends], allow_unused=True
    )
    for number, slope in zip(wanted, slopes):
        if slope is not None:
            found["gradient of argument %d" % number] = slope.detach()
    return found


def _cotangent(result: torch.Tensor) -> torch.Tensor:
    """Normal values that bf16 and fp16 hold exactly, so that all implementations get the same ones."""
    generator = torch.Generator()
    generator.manual_seed(_COTANGENT_SEED + result.numel())
    drawn = (torch.randn(result.shape, generator=generator) * 16).round() / 16
    return drawn.to(result.dtype).to(result.device)


def steps(n: int) -> float:
    """The count for ``numerics.allowance``: a sum term by term in fp32 may lose up to n roundings, all one way."""
    return max(float(n), (n / LIMIT) ** 2)


class Truth:
    """What a function gives in fp64, and what honest fp32 makes of it.

    Args:
        run: the function, in plain PyTorch.
        inputs: its arguments.
        gradients: whether gradients are wanted, too.

    Attributes:
        exact: results and gradients in fp64.
        honest: the same in fp32.
        count: how many terms can flow into an element.
    """

    def __init__(self, run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool) -> None:
        self._run, self._gradients = run, gradients
        self._wide = tuple(numerics.in_precision(list(inputs), torch.float64))
        self.exact = outputs_of(run, self._wide, gradients)
        self.honest = outputs_of(run, tuple(numerics.in_precision(list(inputs), torch.float32)), gradients)
        self.count = numerics.terms(list(inputs))

    def places(self, got: Outputs) -> List[str]:
        """Results that can be judged."""
        return [place for place, tensor in got.items() if place in self.exact and tensor.dtype in numerics.CHECKED]

    def excess(self, got: Outputs) -> float:
        """Largest error of all results in units of the honest one."""
        judged = [
            judge(got[place], self.exact[place], count=self.count, honest=self.honest[place])
            for place in self.places(got)
        ]
        return max([0.0, *(one.excess for one in judged)])

    def second_look(self, place: str, result: torch.Tensor, count: float, moved: torch.Tensor) -> Judgement:
        """Judge with the condition of the problem: where terms cancel, honest implementations differ, too.

        Args:
            place: of the result.
            result: what is judged.
            count: terms that flow into an element.
            moved: how far each element moves when the inputs move by one fp32 rounding.
        """
        exact, honest = self.exact[place], self.honest[place]
        fine = judge(result, exact, count=count, honest=honest, sensitivity=moved)
        if fine.refusal or fine.excess <= LIMIT or result.dtype not in numerics.LOW_PRECISION:
            return fine
        moved_more = self.moves(place, torch.finfo(result.dtype).eps / 2)
        coarse = judge(result, exact, honest=honest, sensitivity=moved_more)
        return dataclasses.replace(fine, lossy=bool(coarse.refusal) or coarse.excess <= LOSSY)

    def moves(self, place: str, rounding: float = numerics.FP32_ROUNDING) -> torch.Tensor:
        """How far each element of a result moves when the inputs move by one rounding."""
        return numerics.sensitivity_of(
            lambda inputs: outputs_of(self._run, inputs, self._gradients)[place],
            self._wide,
            [numerics.comparable(self.exact[place])],
            rounding,
        )[0]


def compare(
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Tuple[Any, ...],
    *,
    gradients: bool,
    counts: Optional[torch.Tensor],
    n: int,
) -> List[Comparison]:
    """Run the candidate, then the reference in fp64 and in fp32.

    Raises:
        UnusableReferenceError: the reference does not compute in fp64, or returns nothing that the candidate returns.
    """
    got = outputs_of(candidate, inputs, gradients)
    truth = Truth(reference, inputs, gradients)
    exact = truth.exact
    low = [p for p, t in exact.items() if t.is_floating_point() and t.dtype is not torch.float64]
    if low:
        raise UnusableReferenceError(
            "the reference computes its %s in %s when its inputs are fp64; let it keep the type of its inputs"
            % (low[0], exact[low[0]].dtype)
        )
    places = truth.places(got)
    if not places:
        raise UnusableReferenceError("candidate and reference have no floating result below fp64 in common")
    found = []
    for place in places:
        result = got[place]
        fair = numerics.comparable(truth.honest[place].to(result.dtype))
        judgement = judge(result, exact[place], count=steps(n), honest=truth.honest[place])
        one = Comparison(place, result, numerics.comparable(exact[place]), fair, judgement, counts, n)
        suspect = judgement.excess < float("inf") and max(judgement.excess, one.rough_excess()) > _SUSPECT
        if suspect:
            moved = truth.moves(place)
            judgement = truth.second_look(place, result, steps(n), moved)
            one = dataclasses.replace(one, judgement=judgement, moved=moved)
        found.append(one)
    return found
