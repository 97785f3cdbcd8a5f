"""A fused embedding gradient and RMSNorm backward that sums in bf16: what hides it, and what shows it.

``python bench/embedding_kernel.py OUT`` writes two pictures and what was measured: error of a row's gradient against
how often its token occurs, and the loss of a small model trained by SGD and by AdamW, with an honest kernel and with
the one that sums in bf16. Everything is plain PyTorch on the CPU.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch

VOCABULARY, WIDTH, TOKENS = 64, 16, 8192
ROWS = 1024
"""Rows of the table for ``check_kernel``: with evenly spread tokens each gets few of them, as in a real vocabulary."""
STEPS = 60
HOT = 4
"""The loss is that of so many most frequent tokens: their sums are the long ones."""
RATES = {"SGD": 0.5, "AdamW": 0.01}
"""Learning rates at which the loss falls over the whole run."""
EPSILON = 1e-5
OPTIMIZERS = ("SGD", "AdamW")
KERNELS = {"fp32 sums": torch.float32, "bf16 sums": torch.bfloat16}


def norm_backward(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Gradient of RMSNorm (without a weight) with respect to its input, row by row."""
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPSILON)
    return gradient * scale - x * scale.pow(3) * (gradient * x).mean(-1, keepdim=True)


def reference(gradient: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Gradient of an embedding table followed by RMSNorm, in the type of its inputs.

    Args:
        gradient: of the normalised rows, tokens x width.
        rows: of the table, tokens x width, before the norm.
        tokens: which row of the table each is.
    """
    part = norm_backward(gradient, rows)
    return torch.zeros(ROWS, part.shape[1], dtype=part.dtype).index_add(0, tokens, part)


def kernel(gradient: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor, sums: torch.dtype) -> torch.Tensor:
    """The same as one fused kernel for bf16 would do it: the norm in fp32, sums in the type ``sums``."""
    part = norm_backward(gradient.float(), rows.float()).to(sums)
    order = torch.argsort(tokens, stable=True)
    rank = torch.arange(len(tokens)) - torch.searchsorted(tokens[order], tokens[order])
    order = order[torch.argsort(rank, stable=True)]  # first tokens of all rows, then second ones, ...
    table = torch.zeros(ROWS, part.shape[1], dtype=sums)
    start = 0
    for size in torch.bincount(rank).tolist():
        chosen = order[start : start + size]
        table[tokens[chosen]] += part[chosen]
        start += size
    return table.to(gradient.dtype)


def planted(gradient: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The kernel with the injected fault: it sums in bf16."""
    return kernel(gradient, rows, tokens, torch.bfloat16)


def honest(gradient: torch.Tensor, rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """The kernel without the fault."""
    return kernel(gradient, rows, tokens, torch.float32)


def make_inputs(draw: Any) -> tuple[torch.Tensor, ...]:
    """Inputs for ``check_kernel``."""
    kind = {"dtype": torch.bfloat16}
    return (
        draw.values(draw.n, WIDTH, **kind),
        draw.values(draw.n, WIDTH, salt=1, **kind),
        draw.tokens(draw.n, ROWS),
    )


def counts(_gradient: torch.Tensor, _rows: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """How many terms flow into each row of the table."""
    return torch.bincount(tokens, minlength=ROWS)


class Fused(torch.autograd.Function):
    """Rows of a table after RMSNorm, with the fused kernel as backward pass."""

    @staticmethod
    def forward(context: Any, table: torch.Tensor, tokens: torch.Tensor, sums: torch.dtype) -> torch.Tensor:
        rows = table[tokens]
        context.save_for_backward(rows, tokens)
        context.sums = sums
        return rows * torch.rsqrt(rows.pow(2).mean(-1, keepdim=True) + EPSILON)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        rows, tokens = context.saved_tensors
        low = kernel(gradient.to(torch.bfloat16), rows.to(torch.bfloat16), tokens, context.sums)
        return low[:VOCABULARY].to(gradient.dtype), None, None


def batches(distribution: str) -> Any:
    """Tokens and the ones that follow them: after each token one other is likely."""
    generator = torch.Generator().manual_seed(1)
    weights = torch.arange(1, VOCABULARY + 1).double() ** (-1.0 if distribution == "zipf" else 0.0)
    after = torch.randperm(VOCABULARY, generator=generator)
    while True:
        tokens = torch.multinomial(weights, TOKENS, replacement=True, generator=generator)
        noise = torch.randint(0, VOCABULARY, (TOKENS,), generator=generator)
        follows = torch.rand(TOKENS, generator=generator) < 0.8
        yield tokens, torch.where(follows, after[tokens], noise)


def train(optimizer: str, sums: torch.dtype, distribution: str, steps: int = STEPS) -> list[float]:
    """Loss of the most frequent tokens at each step: a table, RMSNorm and a linear layer that is not trained."""
    torch.manual_seed(0)
    table = (torch.randn(VOCABULARY, WIDTH)).requires_grad_()
    head = torch.randn(WIDTH, VOCABULARY)
    rule = getattr(torch.optim, optimizer)([table], lr=RATES[optimizer])
    losses = []
    for (tokens, following), _ in zip(batches(distribution), range(steps), strict=False):
        each = torch.nn.functional.cross_entropy(Fused.apply(table, tokens, sums) @ head, following, reduction="none")
        rule.zero_grad()
        each.mean().backward()
        rule.step()
        losses.append(float(each.detach()[tokens < HOT].mean()))
    return losses


def measure() -> dict[str, Any]:
    """Losses by optimizer, distribution and kernel."""
    return {
        optimizer: {
            distribution: {name: train(optimizer, sums, distribution) for name, sums in KERNELS.items()}
            for distribution in ("zipf", "uniform")
        }
        for optimizer in OPTIMIZERS
    }


def draw_losses(losses: dict[str, Any], folder: Path) -> None:
    """One picture: loss against step, an axis per optimizer."""
    from torch_embers import drawing

    figure, axes = drawing.new(7.2, 3.2, columns=2, sharey=True)
    for axis, optimizer in zip(axes, OPTIMIZERS, strict=True):
        for place, (name, values) in enumerate(losses[optimizer]["zipf"].items()):
            axis.plot(values, label=name, color=drawing.colours()[place], linestyle=drawing.DASHES[place])
        axis.set_title(f"{optimizer}, learning rate {RATES[optimizer]:g}")
        axis.set_xlabel("step")
    axes[0].set_ylabel(f"loss of the {HOT} most frequent tokens")
    axes[0].legend()
    drawing.note(figure, [f"{TOKENS} tokens a step, frequencies by Zipf's law, {VOCABULARY} rows of {WIDTH}"])
    drawing.save(figure, folder, "embedding-kernel-loss")


def main(folder: Path) -> None:
    """Write both pictures and the figures behind them."""
    from torch_embers.api.kernels import plot_growth
    from torch_embers.oracles.kernel import check_kernel

    torch.set_num_threads(1)
    report = check_kernel(
        planted, reference, make_inputs, counts=counts, tolerance=(1.6e-2, 1e-2), name="fused embedding gradient"
    )
    plot_growth(report, folder, "embedding-kernel-error")
    losses = measure()
    draw_losses(losses, folder)
    early = {
        f"{optimizer} {distribution} {name}": [round(values[step], 3) for step in (0, 5, 10, 20, 40, 59)]
        for optimizer, by_tokens in losses.items()
        for distribution, by_kernel in by_tokens.items()
        for name, values in by_kernel.items()
    }
    print(report.text())
    print(json.dumps(early))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
