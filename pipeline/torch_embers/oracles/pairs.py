"""Two ways of computing the same thing, and the fp64 truth that says which of them is wrong.

A difference alone says nothing: two honest implementations differ by roundings. So each side is judged by itself
against the same function in fp64 on the CPU.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.measure import Outputs, Truth
from torch_embers.oracles.precision import LIMIT, LOSSY, Judgement, judge


class CannotCompareError(RuntimeError):
    """The machine or build cannot compare; the message says why."""


def truth_of(run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool) -> Truth:
    """The truth on the CPU, wherever the inputs lie."""
    at_home = numerics.map_tensors(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, list(inputs))
    return Truth(run, tuple(at_home), gradients)


def judged(truth: Truth, place: str, result: torch.Tensor) -> Judgement:
    """One result against the truth; rounded intermediate results are marked as such."""
    exact, honest = truth.exact[place], truth.honest[place]
    judgement = judge(result, exact, count=truth.count, honest=honest)
    if not LIMIT < judgement.excess < float("inf"):
        return judgement
    moved = truth.moves(place, numerics.FP32_ROUNDING)
    fine = judge(result, exact, count=truth.count, honest=honest, sensitivity=moved)
    if fine.excess <= LIMIT or result.dtype not in numerics.LOW_PRECISION:
        return fine
    moved = truth.moves(place, torch.finfo(result.dtype).eps / 2)
    coarse = judge(result, exact, honest=honest, sensitivity=moved)
    return fine if coarse.excess > LOSSY and not coarse.refusal else Judgement(0.0, fine.difference, lossy=True)


def differing(
    oracle: str, op: str, truth: Truth, sides: Tuple[Tuple[str, Outputs], Tuple[str, Outputs]]
) -> List[Finding]:
    """Results that one side gets right and the other wrong.

    Args:
        oracle: name of the oracle.
        op: what was run.
        truth: of the same function and inputs.
        sides: a name and the results of each way; the second is the one under suspicion.
    """
    (first, trusted), (second, suspect) = sides
    found = []
    for place in truth.places(suspect):
        if place not in trusted:
            continue
        here, there = judged(truth, place, trusted[place]), judged(truth, place, suspect[place])
        both = ((first, here), (second, there))
        wrong = [name for name, one in both if one.excess > LIMIT and not one.refusal]
        if len(wrong) != 1:
            continue  # both right; or both wrong, which the precision oracle reports
        worst = (here if wrong == [first] else there).difference
        result = suspect[place]
        found.append(
            Finding(
                oracle=oracle,
                op=op,
                overload="",
                severity="wrong_gradient" if place.startswith("gradient") else "wrong_value",
                message="%s: %s is wrong with %s and right with %s"
                % (op, place, wrong[0], second if wrong == [first] else first),
                dtype=str(result.dtype).replace("torch.", ""),
                device=result.device.type,
                place=place,
                difference=worst,
            )
        )
    return found
