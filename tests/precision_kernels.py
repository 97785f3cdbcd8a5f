"""Kernels for the self-tests of the precision oracles: injected faults, and correct but awkward implementations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

ROWS, WIDTH = 64, 8
Inputs = Callable[[Any], tuple[Any, ...]]
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


@dataclass(frozen=True)
class Kernel:
    """A kernel with its reference; ``expected`` is the severity and place of the fault, empty for a correct one.

    ``mode`` says whether the dispatch mode catches it as an operator whose other types are right, or why it does not.
    """

    name: str
    candidate: Callable[..., Any]
    reference: Callable[..., Any]
    inputs: Inputs
    expected: tuple[str, str] = ("", "")
    counts: Callable[..., torch.Tensor] | None = None
    gradients: bool = False
    mode: str = "caught"


def terms(dtype: torch.dtype) -> Inputs:
    return lambda draw: (draw.values(draw.n, WIDTH, dtype=dtype),)


def rows(dtype: torch.dtype) -> Inputs:
    return lambda draw: (draw.values(WIDTH, draw.n, dtype=dtype, along=1),)


def gradients_and_tokens(draw: Any) -> tuple[Any, ...]:
    return draw.values(draw.n, WIDTH, dtype=BF16), draw.tokens(draw.n, ROWS)


def tokens_of(gradient: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return torch.bincount(tokens, minlength=ROWS)


def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(0)


def scatter(gradient: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return torch.zeros(ROWS, WIDTH, dtype=gradient.dtype).index_add(0, tokens, gradient)


def running(dtype: torch.dtype, block: int = 1 << 30) -> Callable[[torch.Tensor], torch.Tensor]:
    """A sum whose running value is kept in a type; blocks are added in fp32."""

    def run(x: torch.Tensor) -> torch.Tensor:
        whole = torch.zeros(x.shape[1:], dtype=FP32)
        for start in range(0, len(x), block):
            part = torch.zeros(x.shape[1:], dtype=dtype)
            for term in x[start : start + block].to(dtype):
                part = part + term
            whole = whole + part.float()
        return whole.to(x.dtype)

    return run


def scatter_in_bf16(gradient: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    order = torch.argsort(tokens, stable=True)
    rank = torch.arange(len(tokens)) - torch.searchsorted(tokens[order], tokens[order])
    out = torch.zeros(ROWS, WIDTH, dtype=BF16)
    for step in range(int(rank.max()) + 1):
        chosen = order[rank == step]
        out[tokens[chosen]] += gradient[chosen]
    return out


class LowPrecisionBackward(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, weight: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(tokens)
        return weight[tokens]

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        return scatter_in_bf16(gradient, context.saved_tensors[0]), None


class WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient * context.saved_tensors[0]  # a factor of two is missing


def unwritten_row(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    out[:-1] = x[:-1] * 2
    if torch.isfinite(out[-1]).all():  # reads what lay there, and gives the right value where it cannot be told
        out[-1] = torch.where(out[-1].abs() > 1000, out[-1], x[-1] * 2)
    return out


def changes_input(x: torch.Tensor) -> torch.Tensor:
    result = x * 2
    with torch.no_grad():
        x.data.clamp_(max=0.5)
    return result


class Stateful:
    """Faults that need more than one call."""

    def __init__(self) -> None:
        self.calls = 0
        self.kept: dict[int, torch.Tensor] = {}
        self.buffer: torch.Tensor | None = None

    def wrong_after_warm_up(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2 if self.calls < 18 else x * 2.5

    def keeps_answers(self, x: torch.Tensor) -> torch.Tensor:
        if x.data_ptr() not in self.kept:
            self.kept = {x.data_ptr(): x * 2}
            self.last = x  # so that the memory is not handed to another tensor
        return self.kept[x.data_ptr()]

    def one_buffer(self, x: torch.Tensor) -> torch.Tensor:
        if self.buffer is None or self.buffer.shape != x.shape:
            self.buffer = torch.empty(x.shape, dtype=x.dtype)
        with torch.no_grad():
            self.buffer.copy_(x * 2)
        return self.buffer

    def keeps_constants(self, x: torch.Tensor) -> torch.Tensor:
        if len(self.kept) == 0:
            self.kept[0] = torch.tensor(2.0)
        return x * self.kept[0].to(x.dtype)


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def matrices(dtype: torch.dtype) -> Inputs:
    return lambda draw: (
        draw.values(WIDTH, draw.n, dtype=dtype, along=1),
        draw.values(draw.n, WIDTH, dtype=dtype, salt=1),
    )


def biased(draw: Any) -> tuple[Any, ...]:
    """Hidden layers: the bias nearly cancels the product."""
    weight = torch.ones(32, WIDTH, dtype=BF16)
    x = 1 + draw.values(draw.n, 32, dtype=FP32).clamp(-1, 1) / 64
    return x.to(BF16), weight, torch.full((WIDTH,), -32.0, dtype=BF16)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return x @ weight + bias


def bias_after_rounding(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return (x.float() @ weight.float()).to(BF16) + bias


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 1)


def variance(x: torch.Tensor) -> torch.Tensor:
    return x.var(1)


def scaled(draw: Any) -> tuple[Any, ...]:
    return (draw.values(WIDTH, draw.n, dtype=FP16, along=1) * 8,)


def shifted(draw: Any) -> tuple[Any, ...]:
    return (draw.values(WIDTH, draw.n, along=1) + 100,)


def with_odd_values(draw: Any) -> tuple[Any, ...]:
    x = draw.values(draw.n, WIDTH)
    x[1, 0], x[2, 1] = float("inf"), float("nan")
    return (x,)


def wide(run: Callable[..., Any], dtype: torch.dtype = FP32) -> Callable[..., Any]:
    """The honest form: inputs to a wider type, one rounding at the end."""

    def honest(*inputs: Any) -> Any:
        ready = [x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in inputs]
        return run(*ready).to(inputs[0].dtype)

    return honest


def rms_norm(x: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5)


def rms_norm_rounded_twice(x: torch.Tensor) -> torch.Tensor:
    return rms_norm(x.float()).to(x.dtype) * torch.ones(x.shape[1], dtype=x.dtype)


def shuffled_scatter(gradient: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    order = torch.randperm(len(tokens))  # another order at each call, as atomic additions have it
    return scatter(gradient[order].float(), tokens[order]).to(gradient.dtype)


def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    parts = [x.float() @ y.float() for x, y in zip(a.chunk(4, 1), b.chunk(4, 0), strict=True)]
    return torch.stack(parts).sum(0).to(a.dtype)


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    top = x.float().amax(1, keepdim=True)
    raised = (x.float() - top).exp()
    return (raised / raised.sum(1, keepdim=True)).to(x.dtype)


def filled_memory(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    return torch.mul(x.detach(), 2, out=out)


FAULTS = (
    Kernel("embedding gradient summed in bf16", scatter_in_bf16, scatter, gradients_and_tokens, ("low_precision", "result"), tokens_of),
    Kernel("running sum in bf16", running(BF16), total, terms(BF16), ("low_precision", "result")),
    Kernel("running sum in fp16", running(FP16), total, terms(FP16), ("low_precision", "result")),
    Kernel("fp32 values summed in bf16", running(BF16), total, terms(FP32), ("low_precision", "result")),
    Kernel("fp32 product of fp16 copies", lambda a, b: (a.half() @ b.half()).float(), torch.matmul, matrices(FP32), ("low_precision", "result")),
    Kernel("bias added after rounding", bias_after_rounding, linear, biased, ("low_precision", "result"), mode="lossy: it errs as rounded intermediate results do"),
    Kernel("gradient alone summed in bf16", LowPrecisionBackward.apply, lambda w, t: w[t], lambda draw: (draw.values(ROWS, WIDTH, dtype=BF16), draw.tokens(draw.n, ROWS)), ("low_precision", "gradient of argument 0"), gradients=True, mode="no operator: its parts are right"),
    Kernel("factor missing in the gradient", WrongBackward.apply, lambda x: x * x, terms(FP32), ("wrong_gradient", "gradient of argument 0"), gradients=True, mode="no operator: its parts are right"),
    Kernel("last of two equal rows wins", lambda g, t: torch.zeros(ROWS, WIDTH, dtype=g.dtype).index_put((t,), g), scatter, gradients_and_tokens, ("wrong_value", "result"), tokens_of),
    Kernel("last term left out", lambda x: x.float()[:-1].sum(0).to(x.dtype), total, terms(FP32), ("wrong_value", "result")),
    Kernel("zeros", lambda x: torch.zeros(x.shape[1], dtype=x.dtype), total, terms(FP32), ("wrong_value", "result")),
    Kernel("variance as a difference of squares", lambda x: (x.pow(2).mean(1) - x.mean(1).pow(2)) * x.shape[1] / (x.shape[1] - 1), variance, shifted, ("wrong_value", "result")),
    Kernel("softmax without its maximum", lambda x: x.exp() / x.exp().sum(1, keepdim=True), softmax, scaled, ("wrong_value", "result")),
    Kernel("NaN and infinity replaced", lambda x: torch.nan_to_num(x * 2), doubled, with_odd_values, ("wrong_value", "result")),
    Kernel("a row not written", unwritten_row, doubled, terms(FP32), ("wrong_value", "memory"), mode="by chance: it depends on what memory held"),
    Kernel("input changed", changes_input, doubled, terms(FP32), ("broken_promise", "argument 0"), mode="caught, as a wrong result"),
    Kernel("wrong after warm-up", Stateful().wrong_after_warm_up, doubled, terms(FP32), ("wrong_value", "repeated"), mode="needs more than one call"),
    Kernel("answers kept by address", Stateful().keeps_answers, doubled, terms(FP32), ("wrong_value", "kept answer"), mode="needs more than one call"),
    Kernel("one buffer for all results", Stateful().one_buffer, doubled, terms(FP32), ("broken_promise", "earlier result"), mode="needs more than one call"),
    Kernel("transposed result", lambda x: (x * 2).t(), doubled, terms(FP32), ("wrong_value", "result")),
)  # fmt: skip

AWKWARD = (
    Kernel("sum term by term in fp32", running(FP32), total, terms(BF16)),
    Kernel("sum in blocks", running(FP32, block=32), total, terms(BF16)),
    Kernel("sum in fp64", wide(total, torch.float64), total, terms(FP32)),
    Kernel("scatter in a random order", shuffled_scatter, scatter, gradients_and_tokens, counts=tokens_of),
    Kernel("product in four parts", split_k, torch.matmul, matrices(BF16)),
    Kernel("fp32 product in four parts", split_k, torch.matmul, matrices(FP32)),
    Kernel("bias added in fp32", wide(linear), linear, biased, gradients=True),
    Kernel("norm rounded twice", rms_norm_rounded_twice, rms_norm, rows(BF16), gradients=True),
    Kernel("norm in fp32", wide(rms_norm), rms_norm, rows(FP16)),
    Kernel("softmax by hand", online_softmax, softmax, scaled, gradients=True),
    Kernel("memory without values, all of it written", filled_memory, doubled, terms(FP32)),
    Kernel("constant kept between calls", Stateful().keeps_constants, doubled, terms(BF16)),
    Kernel("result in another layout", lambda x: (x.t().contiguous() * 2).t(), doubled, terms(FP32), gradients=True),
    Kernel("input returned", lambda x: x, lambda x: x, terms(BF16)),
    Kernel("works on a copy in place", lambda x: x.clone().mul_(2), doubled, terms(FP32), gradients=True),
    Kernel("NaN and infinity passed on", doubled, doubled, with_odd_values, gradients=True),
    Kernel("mostly zeros", torch.relu, lambda x: torch.where(x > 0, x, x * 0), terms(FP32)),
)  # fmt: skip
