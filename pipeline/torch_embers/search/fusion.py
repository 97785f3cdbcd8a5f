"""Several orders of the same items become one."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Key = tuple[str, int]
"""Repository and number of an item."""


def fuse(orders: Iterable[Sequence[Key]], constant: int) -> list[Key]:
    """Reciprocal rank fusion: every order gives an item ``1 / (constant + rank)``, the first has rank 1.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009.

    Args:
        orders: items, best first, each at most once per order; an order need not hold all items.
        constant: the larger, the less the first places count.

    Returns:
        All items of all orders, best first; equal ones by repository and number.
    """
    scores: defaultdict[Key, float] = defaultdict(float)
    for order in orders:
        for rank, key in enumerate(order, start=1):
            scores[key] += 1 / (constant + rank)
    return sorted(scores, key=lambda key: (-scores[key], key))
