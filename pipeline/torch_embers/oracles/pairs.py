"""Two ways of computing the same thing, and the fp64 truth that says which of them is wrong.

A difference alone says nothing: two honest implementations differ by roundings. So each side is judged by itself
against the same function in fp64 on the CPU.
"""

from __future__ import annotations

from typing import Any, Callable, List, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.finding import Finding
from torch_embers.oracles.measure import Outputs, outputs_of
from torch_embers.oracles.precision import LIMIT, LOSSY, Judgement, judge


class CannotCompareError(RuntimeError):
    """The machine or build cannot compare; the message says why."""


class Truth:
    """What a function gives in fp64 on the CPU, and how an honest implementation errs.

    Args:
        run: the function.
        inputs: its arguments.
        gradients: whether gradients are wanted, too.
    """

    def __init__(self, run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool) -> None:
        self._run, self._gradients = run, gradients
        at_home = numerics.map_tensors(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, list(inputs))
        self._wide = tuple(numerics.in_precision(at_home, torch.float64))
        self._exact = outputs_of(run, self._wide, gradients)
        self._honest = outputs_of(run, tuple(numerics.in_precision(at_home, torch.float32)), gradients)
        self._count = numerics.terms(at_home)

    def judged(self, place: str, result: torch.Tensor) -> Judgement:
        """One result against the truth; rounded intermediate results are marked as such."""
        exact, honest = self._exact[place], self._honest[place]
        judgement = judge(result, exact, count=self._count, honest=honest)
        if not LIMIT < judgement.excess < float("inf"):
            return judgement
        fine = judge(
            result, exact, count=self._count, honest=honest, sensitivity=self._moves(place, numerics.FP32_ROUNDING)
        )
        if fine.excess <= LIMIT or result.dtype not in numerics.LOW_PRECISION:
            return fine
        coarse = judge(result, exact, honest=honest, sensitivity=self._moves(place, torch.finfo(result.dtype).eps / 2))
        return fine if coarse.excess > LOSSY and not coarse.refusal else Judgement(0.0, fine.difference, lossy=True)

    def places(self, outputs: Outputs) -> List[str]:
        """Results that can be judged."""
        return [p for p, t in outputs.items() if p in self._exact and t.dtype in numerics.CHECKED]

    def _moves(self, place: str, rounding: float) -> torch.Tensor:
        return numerics.sensitivity_of(
            lambda inputs: outputs_of(self._run, inputs, self._gradients)[place],
            self._wide,
            [numerics.comparable(self._exact[place])],
            rounding,
        )[0]


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
        here, there = truth.judged(place, trusted[place]), truth.judged(place, suspect[place])
        both = ((first, here), (second, there))
        wrong = [name for name, judged in both if judged.excess > LIMIT and not judged.refusal]
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
