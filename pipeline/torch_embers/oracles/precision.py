"""PrecisionOracle: finds results that are less precise than fp32 accumulation with one rounding at the end.

Three ways of use: ``judge`` on a result and its reference, ``with PrecisionOracle():`` around code, and as a preload
around an unchanged script. Each floating result of an operator is compared with the same operator in fp64 on the same
inputs. What is allowed is what an honest implementation is (``numerics.allowance``), times a limit. An error beyond it
is looked at once more on parts of the inputs: one that grows along a dimension is that of an accumulator.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import layouts, numerics
from torch_embers.oracles.caller import user_line
from torch_embers.oracles.dispatch import (
    HIGHER_ORDER,
    SampledMode,
    generators_of,
    is_own_call,
    is_tracing,
    own_calls,
)
from torch_embers.oracles.finding import Difference, Finding

LIMIT = 8.0
"""Error in units of the honest one from which a single element is a finding. Operators that round intermediate results
to the type of the result (two or three roundings), or use approximations of functions, stay below."""
COMMUNICATING = ("c10d", "_c10d_", "_dtensor", "symm_mem")
"""Beginnings of namespaces whose operators wait for other processes: these would not know of a second call."""
RANDOM_TAG = "nondeterministic_seeded"
RANDOM = (
    "rand", "normal", "bernoulli", "multinomial", "dropout", "uniform", "exponential", "cauchy", "log_normal",
    "geometric", "poisson", "binomial", "random", "rrelu", "_sample_dirichlet", "_standard_gamma",
)  # fmt: skip
"""Beginnings of names of random operators: releases before 2.0 have no tags on them."""
UNDEFINED = ("empty", "new_empty", "resize", "set", "_efficientzerotensor", "_unsafe_view")
"""Beginnings of names whose result has no defined values, or which only handle memory."""
COPIES = (
    "clone", "copy", "_to_copy", "detach", "alias", "lift", "contiguous", "fill", "zero", "ones", "zeros", "full",
    "new_", "scalar_tensor", "arange", "linspace", "eye", "_local_scalar_dense", "isinf", "isnan", "equal",
)  # fmt: skip
"""Beginnings of names that compute nothing: a copy rounds once, a constant not at all."""
UNSTABLE = {
    "_fused_dropout": "random",
    "sign": "a step: moving the input by a rounding may cross it",
    "heaviside": "a step",
    "floor_divide": "a step: rounding the quotient may cross it",
    "nextafter": "defined by the type of the input",
    "frexp": "defined by the type of the input",
    "bucketize": "positions",
    "fake_quantize_per_tensor_affine": "a step",
    "linalg_eig": "eigenvectors are defined up to a factor",
    "linalg_eigh": "eigenvectors are defined up to a factor",
    "_linalg_eigh": "eigenvectors are defined up to a factor",
    "linalg_qr": "defined up to signs",
    "geqrf": "defined up to signs",
    "_linalg_svd": "vectors are defined up to a factor",
    "linalg_svd": "vectors are defined up to a factor",
    "_native_batch_norm_legit": "intermediate results are kept in a type of the kernel's own choice",
}
"""Operators that are not judged, each with its reason."""
NORMWISE = ("linalg_", "_linalg_", "inverse", "cholesky", "lu_", "triangular_solve", "ormqr", "_fft", "fft_", "_cdist")
"""Beginnings of names of operators whose error is bounded by the largest element, not by each element's own size."""
LOSSY = 4.0
"""Up to so many times what one rounding of the inputs to the type of the result changes, an error is that of rounded
intermediate results: noted, not reported."""
STEPS = (1, 4, 16)
"""Of each n elements of a dimension one is kept when an error is looked at again."""
GROWING = 1.25
"""Growth of the error when a dimension is four times as long: an accumulator's doubles."""
SHORTEST = 32
"""A shorter dimension shows no growth."""


@dataclass(frozen=True)
class Judgement:
    """One result against its reference.

    Attributes:
        excess: largest error in units of what an honest implementation may have.
        difference: the worst element.
        refusal: why nothing can be said; empty where something can.
        lossy: the error is no more than that of intermediate results rounded to the type of the result.
    """

    excess: float
    difference: Difference
    refusal: str = ""
    lossy: bool = False


def judge(
    result: torch.Tensor,
    reference: torch.Tensor,
    *,
    count: float = 1.0,
    honest: Optional[torch.Tensor] = None,
    sensitivity: Optional[torch.Tensor] = None,
    limit: float = LIMIT,
) -> Judgement:
    """Compare a result with an fp64 reference.

    Args:
        result: what is judged; fp32, bf16, fp16 or complex64.
        reference: the same values computed in fp64.
        count: terms that flow into one element.
        honest: an honest implementation's result on the same inputs.
        sensitivity: see ``numerics.allowance``.
        limit: error in units of the honest one from which an element is wrong.
    """
    dtype = numerics.real_type(result.dtype)
    got, expected = numerics.comparable(result), numerics.comparable(reference)
    if got.shape != expected.shape:
        return Judgement(float("inf"), Difference(got=str(tuple(got.shape)), expected=str(tuple(expected.shape))))
    fair = None if honest is None else numerics.rounded(numerics.comparable(honest), dtype)
    allowed = numerics.allowance(expected, dtype, count, fair, sensitivity)
    odd = numerics.finite_mismatch(got, expected, dtype, fair)
    if bool(odd.any()):
        place = int(odd.flatten().to(torch.int8).argmax())
        return Judgement(float("inf"), numerics.element(got, expected, dtype, place, allowed, wrong=int(odd.sum())))
    if numerics.zero_passes(expected, limit * allowed):
        return Judgement(0.0, Difference(total=expected.numel()), "the allowance would let a zero tensor pass")
    excess, difference = numerics.worst(got, expected, dtype, allowed, limit)
    return Judgement(excess, difference)


class PrecisionOracle(SampledMode):
    """Compares each floating result of each operator with fp64 while the block runs.

    Args:
        ops: names (``aten.sum`` or ``sum``) to look at; all by default.
        every: look at each n-th call of an operator (the first always), for long trainings; once an optimizer has
            stepped, at all calls of one step in n on average (``SampledMode``).
        limit: error in units of the honest one from which a result is a finding.
        on_finding: is called with each new finding.

    Attributes:
        findings: one per operator and user's line.
        checked: calls that were compared, by operator.
        skipped: calls that were not, by reason.
        refused: results that could not be decided, by operator and reason; also counted in ``skipped``.
        lossy: calls that err no more than rounded intermediate results do, by operator; no findings.
    """

    def __init__(
        self,
        ops: Optional[Sequence[str]] = None,
        every: int = 1,
        limit: float = LIMIT,
        on_finding: Optional[Callable[[Finding], None]] = None,
    ) -> None:
        super().__init__(max(1, every))
        self.findings: List[Finding] = []
        self.checked: Dict[str, int] = Counter()
        self.skipped: Dict[str, int] = Counter()
        self.lossy: Dict[str, int] = Counter()
        self.refused: Dict[Tuple[str, str], int] = Counter()
        self._ops = None if ops is None else frozenset(name.split(".")[-1] for name in ops)
        self._limit = limit
        self._on_finding = on_finding
        self._calls: Dict[str, int] = Counter()
        self._operators: Dict[Any, Operator] = {}
        self._seen: Dict[Tuple[str, str], int] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        """Run the operator as the user does, and look at the result."""
        kwargs = kwargs or {}
        operator = self._operators.get(func)
        if operator is None:
            operator = self._operators[func] = Operator(func)
        if is_own_call() or not self._due(operator):
            return func(*args, **kwargs)
        call = PrecisionCall(operator, args, kwargs)
        if reason := "recorded for later, without values" if is_tracing() else call.reason_to_skip():
            self.skipped[reason] += 1
            if reason == HIGHER_ORDER:
                self.refused[operator.qualified, reason] += 1
            return func(*args, **kwargs)
        try:
            before = call.saved()
        except Exception as error:  # noqa: BLE001 - whatever fails here must not reach the user
            self._refuse(call, "no copy of its arguments: %s" % type(error).__name__)
            return func(*args, **kwargs)
        generators = generators_of(func)
        result = func(*args, **kwargs)
        after = generators_of(func)
        if after is None or generators is None:
            self._look(call, before, result)
        elif after.differ_from(generators):
            self.skipped["random"] += 1
        else:
            self._look(call, before, result)
            after.put_back()
        return result

    def _due(self, operator: Operator) -> bool:
        """Whether this call of an operator is one of those that are looked at; the first of each is."""
        if self._ops is not None and operator.name not in self._ops:
            return False
        self._calls[operator.name] += 1
        return self.in_steps or not (self._calls[operator.name] - 1) % self.every

    def _look(self, call: PrecisionCall, before: Inputs, result: Any) -> None:
        outputs = [tensor for tensor in numerics.tensors_of(result) if tensor.dtype in numerics.CHECKED]
        if not outputs:
            self.skipped["no floating result"] += 1
            return
        try:
            with own_calls():
                judged = list(judge_call(call, before, result, self._limit))
        except Exception as error:  # noqa: BLE001 - an operator without fp64 may refuse in any way
            self._refuse(call, "no fp64 reference: %s" % type(error).__name__)
            return
        self.checked[call.operator.name] += 1
        for number, judgement in judged:
            if judgement.refusal:
                self._refuse(call, judgement.refusal)
            elif judgement.lossy:
                self.lossy[call.operator.name] += 1
            elif judgement.excess > self._limit:
                self._report(call, before, numerics.tensors_of(result), number, judgement)

    def _refuse(self, call: PrecisionCall, why: str) -> None:
        self.skipped[why] += 1
        self.refused[call.operator.qualified, why] += 1

    def looked(self) -> Dict[str, Any]:
        """What was compared, and what could not be decided, as plain data."""
        refused = [[op, why, count] for (op, why), count in sorted(self.refused.items())]
        return {"compared": sum(self.checked.values()), "refused": refused}

    def _report(
        self, call: PrecisionCall, before: Inputs, results: List[torch.Tensor], number: int, judgement: Judgement
    ) -> None:
        line, source = user_line()
        operator, output = call.operator, results[number]
        self._seen[operator.name, line] += 1
        if self._seen[operator.name, line] > 1:
            return
        with own_calls():
            growing = grows_along(operator.func, before, number)
        finding = Finding(
            oracle="precision",
            op=operator.qualified,
            overload=operator.overload,
            severity="low_precision",
            message=sentence(operator.qualified, output.dtype, judgement, growing),
            layouts=tuple(layouts.describe(tensor) for tensor in numerics.tensors_of([before[0], before[1]])),
            dtype=str(output.dtype).replace("torch.", ""),
            device=output.device.type,
            place="result" if len(results) == 1 else "result %d" % number,
            difference=judgement.difference,
            line=line,
            source=source,
        )
        self.findings.append(finding)
        if self._on_finding is not None:
            self._on_finding(finding)


Inputs = Tuple[Tuple[Any, ...], Dict[str, Any]]
"""Arguments and keyword arguments."""


class Operator:
    """What is the same for all calls of an operator: it is read once, because a training makes thousands of calls.

    Attributes:
        base: the name without the mark of an in-place operator.
        mutable: whether it writes to an argument.
        reason: why no call of it is judged; empty where some are.
    """

    def __init__(self, func: Any) -> None:
        self.func = func
        self.qualified = str(getattr(func, "overloadpacket", func)).replace("::", ".")
        self.name = self.qualified.split(".")[-1]
        self.overload = str(getattr(func, "_overloadname", "default"))
        self.base = self.name.rstrip("_") or self.name
        schema = getattr(func, "_schema", None)
        self.mutable = schema is not None and bool(schema.is_mutable)
        self.reason = HIGHER_ORDER if schema is None else self._left_out(schema)

    def _left_out(self, schema: Any) -> str:
        if any(a.alias_info is not None and not a.alias_info.is_write for a in schema.arguments):
            return "a view"
        if self.qualified.startswith(COMMUNICATING):
            return "other processes take part in the call"
        if self.base.startswith(COPIES) or self.base.startswith(UNDEFINED):
            return "computes nothing"
        if self.base.startswith(RANDOM) or RANDOM_TAG in str(getattr(self.func, "tags", "")):
            return "random"
        return UNSTABLE.get(self.base, "")


class PrecisionCall:
    """One call of an operator, as a dispatch mode sees it."""

    def __init__(self, operator: Operator, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> None:
        self.operator, self.args, self.kwargs = operator, args, kwargs

    def saved(self) -> Inputs:
        """Copies of what the operator may overwrite, and of nothing else."""
        if not self.operator.mutable:
            return self.args, self.kwargs
        copy = numerics.map_tensors(
            lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, [self.args, self.kwargs]
        )
        return copy[0], copy[1]

    def reason_to_skip(self) -> str:
        """Why this call is not judged; empty where it is."""
        if self.operator.reason:
            return self.operator.reason
        if self.kwargs.get("rounding_mode"):
            return UNSTABLE["floor_divide"]
        tensors = numerics.tensors_of([self.args, self.kwargs])
        if any(tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_nested for tensor in tensors):
            return "sparse, nested or quantised"
        if not any(tensor.dtype in numerics.CHECKED for tensor in tensors):
            return "no floating input"
        return ""


def judge_call(call: PrecisionCall, inputs: Inputs, result: Any, limit: float) -> Iterable[Tuple[int, Judgement]]:
    """Each floating result of one call, by its number, against the same call in fp64.

    Raises:
        Exception: the operator refuses fp64.
    """
    func = call.operator.func
    wide = numerics.in_precision(list(inputs), torch.float64)
    kept = numerics.in_precision(wide, torch.float64) if call.operator.mutable else wide
    references = numerics.tensors_of(func(*kept[0], **kept[1]))
    results = numerics.tensors_of(result)
    count = numerics.terms(list(inputs))
    for number, (tensor, reference) in enumerate(zip(results, references)):
        if tensor.dtype not in numerics.CHECKED or reference.dtype not in (torch.float64, torch.complex128):
            continue
        if numerics.plainly_honest(tensor, reference, count, limit):
            continue
        judgement = judge(tensor, reference, count=count, limit=limit)
        if judgement.excess > limit and not judgement.refusal:
            judgement = _second_look(call, inputs, wide, number, tensor, references, limit)
        yield number, judgement


def _second_look(
    call: PrecisionCall,
    inputs: Inputs,
    wide: Any,
    number: int,
    tensor: torch.Tensor,
    references: List[torch.Tensor],
    limit: float,
) -> Judgement:
    """The dear part, for suspects alone: what an honest implementation does here, and how the result is conditioned."""
    operator = call.operator
    honest = honest_results(operator.func, inputs)
    fair = honest[number] if number < len(honest) and honest[number].shape == tensor.shape else None
    before = [numerics.comparable(reference) for reference in references]

    def run(moved: Any) -> Any:
        kept = numerics.in_precision(moved, torch.float64)
        return operator.func(*kept[0], **kept[1])

    def coarse_factor(leaf: Any) -> Any:
        """A factor such as a learning rate, rounded to the type of the result: kernels may keep it so."""
        return float(torch.tensor(leaf, dtype=tensor.dtype)) if type(leaf) is float else leaf

    def judged(rounding: float, bound: float) -> Judgement:
        is_coarse = rounding != numerics.FP32_ROUNDING
        start = numerics.map_tensors(coarse_factor, wide) if is_coarse else wide
        moves = numerics.sensitivity_of(run, start, before, rounding)[number]
        if operator.base.startswith(NORMWISE) and moves.numel():
            moves = torch.full_like(moves, float(torch.nan_to_num(moves, nan=0.0).max()))
        terms = 1 if is_coarse else numerics.terms(list(inputs))
        return judge(tensor, references[number], count=terms, honest=fair, sensitivity=moves, limit=bound)

    judgement = judged(numerics.FP32_ROUNDING, limit)
    if judgement.refusal or judgement.excess <= limit or tensor.dtype not in numerics.LOW_PRECISION:
        return judgement
    coarse = judged(torch.finfo(tensor.dtype).eps / 2, LOSSY)
    return dataclasses.replace(judgement, lossy=bool(coarse.refusal) or coarse.excess <= LOSSY)


def honest_results(func: Any, inputs: Inputs) -> List[torch.Tensor]:
    """What the operator gives for low-precision inputs when it computes in fp32 throughout; empty for fp32 inputs."""
    if not any(tensor.dtype in numerics.LOW_PRECISION for tensor in numerics.tensors_of(list(inputs))):
        return []
    narrow = numerics.in_precision(list(inputs), torch.float32)
    return numerics.tensors_of(func(*narrow[0], **narrow[1]))


def grows_along(func: Any, inputs: Inputs, number: int = 0) -> Optional[int]:
    """The length of a dimension along which a result's error grows as that of an accumulator; None if there is none.

    The call is repeated with each fourth and each sixteenth element of each such dimension of all inputs.
    """
    sizes = {int(size) for tensor in numerics.tensors_of(list(inputs)) for size in tensor.shape if size >= SHORTEST}
    for size in sorted(sizes, reverse=True):
        try:
            errors = [_error_of_part(func, inputs, number, size, step) for step in STEPS]
        except Exception:  # noqa: BLE001, S112 - lengths that must agree with another argument: no answer from this one
            continue
        if errors[0] >= GROWING * errors[1] >= GROWING * GROWING * errors[2]:
            return size
    return None


def _error_of_part(func: Any, inputs: Inputs, number: int, size: int, step: int) -> float:
    """Root-mean-square relative error of a result of a call whose dimensions of this size are thinned out."""

    def cut(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        for dim, found in enumerate(leaf.shape):
            leaf = leaf[(slice(None),) * dim + (slice(None, None, step),)] if found == size else leaf
        return leaf.detach().clone()

    part = numerics.map_tensors(cut, list(inputs))
    wide = numerics.in_precision(part, torch.float64)
    result = numerics.comparable(numerics.tensors_of(func(*part[0], **part[1]))[number])
    reference = numerics.comparable(numerics.tensors_of(func(*wide[0], **wide[1]))[number])
    scale = float(reference.pow(2).mean().sqrt())
    return float((result - reference).pow(2).mean().sqrt()) / scale if scale else 0.0


def sentence(op: str, dtype: torch.dtype, judgement: Judgement, growing: Optional[int]) -> str:
    """The finding in plain words."""
    worst = judgement.difference
    name = str(dtype).replace("torch.", "")
    if judgement.excess == float("inf"):
        return "%s gives %s in %s where fp64 gives %s" % (op, worst.got, name, worst.expected)
    text = "%s in %s errs by %.3g ulps, %.3g times what fp32 accumulation with one rounding at the end does" % (
        op,
        name,
        worst.ulps or 0.0,
        judgement.excess,
    )
    if growing is None:
        return text
    return text + "; the error grows along the dimension of %d elements: it accumulates in low precision" % growing
