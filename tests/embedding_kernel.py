"""A fused embedding gradient and RMSNorm backward in plain PyTorch that sums in bf16, and one that does not."""

from __future__ import annotations

from typing import Any

import torch

WIDTH = 16
ROWS = 1024
"""Rows of the table: with evenly spread tokens each gets few of them, as in a real vocabulary."""
EPSILON = 1e-5


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
