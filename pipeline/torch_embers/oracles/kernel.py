"""check_kernel: finds out whether a hand-written or generated kernel is right, also for the inputs of a real training.

The usual check (one set of uniform inputs, ``allclose`` at the usual tolerance) passes kernels that accumulate in bf16,
return memory that happens to hold the right values, change their inputs, or answer from a cache. Each of these is
looked for by name. The candidate runs before the reference does, so that no result of the reference lies in memory that
it could pick up; each run gets inputs of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.draws import DISTRIBUTIONS, Draw
from torch_embers.oracles.finding import Finding, describe
from torch_embers.oracles.growth import EXCESS, Accumulation, Point, accumulation
from torch_embers.oracles.habits import habits
from torch_embers.oracles.measure import Comparison, arguments, compare
from torch_embers.oracles.precision import LIMIT

SIZES = (16, 64, 256, 1024, 4096)
"""Numbers of terms by default: bf16 loses the first increments at 256, fp16 at 2,048."""
PASSED, FOUND, REFUSED = "passed", "findings", "refused"
_USUAL: Dict[torch.dtype, Tuple[float, float]] = {
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
}
"""Relative and absolute tolerances of ``torch.testing.assert_close``."""


@dataclass(frozen=True)
class UsualCheck:
    """What a check by tolerance says of one set of inputs.

    Attributes:
        distribution: of the inputs.
        n: size of the inputs.
        place: which result or gradient.
        passed: whether it lies within the tolerance.
        zero_passes: whether results of zeros would, too.
    """

    distribution: str
    n: int
    place: str
    passed: bool
    zero_passes: bool


@dataclass(frozen=True)
class KernelReport:
    """What ``check_kernel`` found.

    Attributes:
        verdict: ``passed``, ``findings`` or ``refused`` (the check would show nothing; see ``refusals``).
        findings: in the shape of all oracles, the worst first.
        refusals: why a part of the check shows nothing.
        points: error against count, for a plot.
        usual: what a check by tolerance says.
        accumulation: the statement on the accumulator, if there is one.
        tolerance: relative and absolute, of the usual check.
    """

    verdict: str
    findings: Tuple[Finding, ...]
    refusals: Tuple[str, ...]
    points: Tuple[Point, ...]
    usual: Tuple[UsualCheck, ...]
    accumulation: Optional[Accumulation]
    tolerance: Tuple[float, float]

    @property
    def passed(self) -> bool:
        """Whether everything was checked and nothing found."""
        return self.verdict == PASSED

    def text(self) -> str:
        """The report in plain words."""
        lines = ["verdict: %s" % self.verdict]
        lines += [describe(finding) for finding in self.findings]
        lines += ["refused: %s" % refusal for refusal in self.refusals]
        failing = {check.distribution for check in self.usual if not check.passed}
        passing = sorted({check.distribution for check in self.usual} - failing)
        lines.append(
            "usual check (rtol %g, atol %g): passes at every size for %s"
            % (*self.tolerance, ", ".join(passing) or "no distribution")
        )
        return "\n".join(lines)


def check_kernel(
    candidate: Callable[..., Any],
    reference: Callable[..., Any],
    make_inputs: Callable[[Draw], Tuple[Any, ...]],
    *,
    counts: Optional[Callable[..., torch.Tensor]] = None,
    sizes: Sequence[int] = SIZES,
    distributions: Sequence[str] = DISTRIBUTIONS,
    tolerance: Optional[Tuple[float, float]] = None,
    gradients: bool = True,
    device: str = "cpu",
    seed: int = 0,
    name: str = "",
) -> KernelReport:
    """Check a kernel against a reference that is run in fp64.

    Args:
        candidate: the kernel; any callable, so also an operator of ``torch.library`` that starts Triton or CUDA code.
        reference: the same in plain PyTorch. It is run in fp64 and in fp32 and must not cast to a fixed type.
        make_inputs: gets a ``Draw`` and returns the positional arguments; ``draw.n`` is the number of terms.
        counts: gets the arguments and returns the number of terms per row of the first result; ``draw.n`` by default,
            and then the type of an accumulator is not named.
        sizes: values of ``draw.n``.
        distributions: names from ``draws.DISTRIBUTIONS``.
        tolerance: relative and absolute tolerance of your usual check; by default those of ``torch.testing``.
        gradients: compare gradients, too, where both sides have them.
        device: where inputs are put.
        seed: of the inputs.
        name: of the kernel in the report.

    Returns:
        A report; ``report.text()`` is readable, ``report.findings`` has the shape of all oracles.

    Raises:
        UnusableReferenceError: the reference does not compute in fp64, or has no floating result in common.
        ValueError: no size or distribution is given, one of them means nothing, or ``make_inputs`` gives no arguments.
    """
    name = name or str(getattr(candidate, "__name__", candidate))
    _usable(sizes, distributions)
    compared: List[Tuple[Draw, Comparison]] = []
    for distribution in distributions:
        for n in sizes:
            draw = Draw(distribution, n, seed, device)
            inputs = arguments(make_inputs, draw)
            rows = None if counts is None else counts(*inputs)
            found = compare(candidate, reference, inputs, gradients=gradients, counts=rows, n=n)
            compared += [(draw, comparison) for comparison in found]
    used = tolerance or _USUAL[compared[0][1].result.dtype]
    usual = tuple(_usual_check(draw, comparison, used) for draw, comparison in compared)
    points = tuple(point for draw, comparison in compared for point in comparison.points(draw.distribution))
    findings, statement = _statements(name, compared, points)
    smallest = Draw(distributions[0], min(sizes), seed, device)
    findings += habits(name, candidate, reference, make_inputs, smallest, gradients)
    refusals = _refusals(compared, usual, used)
    verdict = FOUND if findings else REFUSED if refusals else PASSED
    return KernelReport(verdict, tuple(findings), refusals, points, usual, statement, used)


def _usable(sizes: Sequence[int], distributions: Sequence[str]) -> None:
    """Refuse what no input can be drawn by.

    Raises:
        ValueError: it says what.
    """
    if not sizes or any(n != int(n) or n < 1 for n in sizes):
        raise ValueError("sizes must be whole numbers above zero, at least one of them: %r" % (tuple(sizes),))
    unknown = [one for one in distributions if one not in DISTRIBUTIONS]
    if unknown or not distributions:
        said = "no distribution %r" % unknown[0] if unknown else "no distribution is given"
        raise ValueError("%s: use %s" % (said, ", ".join(DISTRIBUTIONS)))


def _usual_check(draw: Draw, comparison: Comparison, tolerance: Tuple[float, float]) -> UsualCheck:
    """What ``allclose`` against the honest result says, and what it would say of zeros."""
    bound = tolerance[1] + tolerance[0] * comparison.honest.abs()
    got = numerics.comparable(comparison.result)
    shaped = got.shape == comparison.honest.shape
    return UsualCheck(
        distribution=draw.distribution,
        n=draw.n,
        place=comparison.place,
        passed=shaped and bool(((got - comparison.honest).abs() <= bound).all()),
        zero_passes=bool((comparison.honest.abs() <= bound).all()),
    )


def _refusals(
    compared: Sequence[Tuple[Draw, Comparison]], usual: Sequence[UsualCheck], tolerance: Tuple[float, float]
) -> Tuple[str, ...]:
    """Why the check, or a part of it, shows nothing."""
    found = []
    blind = sorted({check.distribution for check in usual if check.zero_passes and check.place.startswith("result")})
    if blind:
        found.append(
            "the tolerance (rtol %g, atol %g) would let a tensor of zeros pass with %s inputs: use a smaller atol"
            % (*tolerance, ", ".join(blind))
        )
    places = {comparison.place for _, comparison in compared}
    blank = (p for p in sorted(places) if all(c.judgement.refusal for _, c in compared if c.place == p))
    found += ["%s: the terms cancel, so that zeros would pass; use other inputs" % place for place in blank]
    return tuple(found)


def _statements(
    name: str, compared: Sequence[Tuple[Draw, Comparison]], points: Sequence[Point]
) -> Tuple[List[Finding], Optional[Accumulation]]:
    """One finding per result that is wrong or too imprecise, and the statement on the accumulator."""
    findings: List[Finding] = []
    first: Optional[Accumulation] = None
    for place in sorted({comparison.place for _, comparison in compared}):
        mine = [(draw, comparison) for draw, comparison in compared if comparison.place == place]
        line = [point for point in points if point.place == place]
        grown = accumulation(line, counted=all(comparison.counted for _, comparison in mine))
        wrong = [(d, c) for d, c in mine if c.judgement.excess > LIMIT and not c.judgement.lossy]
        infinite = [(d, c) for d, c in wrong if c.judgement.excess == float("inf")]
        imprecise = [point for point in line if point.excess >= EXCESS]
        severity = "wrong_gradient" if place.startswith("gradient") else "wrong_value"
        if infinite:
            findings.append(_finding(name, *infinite[0], severity, _wrong(infinite)))
        elif grown is not None:
            first = first or grown
            draw, worst = _worst([(d, c) for d, c in mine if d.distribution in grown.distributions])
            findings.append(_finding(name, draw, worst, "low_precision", statement_of(grown)))
        elif wrong:
            findings.append(_finding(name, *_worst(wrong), severity, _wrong(wrong)))
        elif imprecise:
            text = "errs %.3g times as much as fp32 accumulation with one rounding at the end, at every count alike"
            excess = max(point.excess for point in imprecise)
            findings.append(_finding(name, *_worst(mine), "low_precision", text % excess))
    return findings, first


def _worst(compared: Sequence[Tuple[Draw, Comparison]]) -> Tuple[Draw, Comparison]:
    return max(compared, key=lambda pair: pair[1].judgement.excess)


def _wrong(compared: Sequence[Tuple[Draw, Comparison]]) -> str:
    names = sorted({draw.distribution for draw, _ in compared})
    sizes = sorted({draw.n for draw, _ in compared})
    return "is wrong with %s inputs, first at n = %d" % (", ".join(names), sizes[0])


def statement_of(grown: Accumulation) -> str:
    """The statement on an accumulator in plain words."""
    spared = ", ".join(grown.spared)
    like = " (as a sum in %s does)" % grown.accumulator if grown.accumulator else ""
    text = (
        "accumulates in low precision%s: with %s inputs its error grows with the number of terms "
        "(exponent %.2g) to %.3g times that of fp32 accumulation at %d terms"
    )
    text %= (like, ", ".join(grown.distributions), grown.slope, grown.worst.excess, grown.worst.count)
    return text + ("; %s inputs do not show it" % spared if spared else "")


def _finding(name: str, draw: Draw, comparison: Comparison, severity: str, text: str) -> Finding:
    result = comparison.result
    return Finding(
        oracle="precision",
        op=name,
        overload="",
        severity=severity,
        message="%s: its %s %s" % (name, comparison.place, text),
        layouts=("inputs: %s, n = %d, seed %d" % (draw.distribution, draw.n, draw.seed),),
        dtype=str(result.dtype).replace("torch.", ""),
        device=result.device.type,
        place=comparison.place,
        difference=comparison.judgement.difference,
    )
