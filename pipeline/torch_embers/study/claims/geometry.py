"""What the shape of a tensor alone decides: its size, the least time of a copy, and which permutations move anything.

No tensor is made. Sizes are in bytes of 10**9 to the gigabyte, times in seconds.
"""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def gigabytes(shape: Sequence[int], element_bytes: int) -> float:
    """Size of a dense tensor."""
    return prod(shape) * element_bytes / 1e9


def fastest_copy(shape: Sequence[int], element_bytes: int, gigabytes_per_second: float) -> float:
    """Least time of a copy: every byte is read once and written once at the full bandwidth of the memory."""
    return 2 * gigabytes(shape, element_bytes) / gigabytes_per_second


def stays_contiguous(shape: Sequence[int], order: Sequence[int]) -> bool:
    """Whether a contiguous tensor stays so after ``permute(order)``, and ``contiguous()`` then copies nothing.

    PyTorch's rule: from the last dimension on, each stride is the product of the sizes behind it; a dimension of
    size 1 may have any stride.

    Raises:
        ValueError: ``order`` does not name every dimension once.
    """
    if sorted(order) != list(range(len(shape))):
        raise ValueError(f"{list(order)} is no order of {len(shape)} dimensions")
    moved = [d for d in order if shape[d] != 1]
    return moved == sorted(moved) or 0 in shape


def swaps(shape: Sequence[int]) -> tuple[int, int]:
    """How many of all swaps of two dimensions leave a contiguous tensor contiguous, and how many swaps there are."""
    kept = total = 0
    for a, b in combinations(range(len(shape)), 2):
        order = list(range(len(shape)))
        order[a], order[b] = order[b], order[a]
        kept += stays_contiguous(shape, order)
        total += 1
    return kept, total
