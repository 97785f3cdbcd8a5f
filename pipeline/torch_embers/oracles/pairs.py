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
from torch_embers.oracles.precision import LIMIT, Judgement, judge


class CannotCompareError(RuntimeError):
    """The machine or build cannot compare; the message says why."""


def truth_of(run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool) -> Truth:
    """The truth on the CPU, wherever the inputs lie."""
    at_home = numerics.map_tensors(lambda x: x.cpu() if isinstance(x, torch.Tensor) else x, list(inputs))
    return Truth(run, tuple(at_home), gradients)


class PairOracle:
    """Compares two ways of running a function.

    Attributes:
        findings: of all checks.
    """

    def __init__(self) -> None:
        self.findings: List[Finding] = []

    def check(self, run: Callable[..., Any], *inputs: Any, gradients: bool = True, name: str = "") -> List[Finding]:
        """Run the function both ways on the same inputs; what differs, also kept in ``findings``.

        Args:
            run: the function.
            inputs: its arguments, on any device.
            gradients: compare gradients, too.
            name: of the function in findings; by default its own.

        Raises:
            CannotCompareError: the machine or the build cannot compare it.
        """
        found = self._compared(run, inputs, gradients, name or str(getattr(run, "__name__", run)))
        self.findings += found
        return found

    def _compared(self, run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool, name: str) -> List[Finding]:
        raise NotImplementedError


def judged(truth: Truth, place: str, result: torch.Tensor) -> Judgement:
    """One result against the truth; rounded intermediate results are marked as such."""
    judgement = judge(result, truth.exact[place], count=truth.count, honest=truth.honest[place])
    if not LIMIT < judgement.excess < float("inf"):
        return judgement
    return truth.second_look(place, result, truth.count, truth.moves(place))


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
        wrong = [name for name, one in both if one.excess > LIMIT and not (one.refusal or one.lossy)]
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
