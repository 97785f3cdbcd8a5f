"""Several orders of the same items become one."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from torch_embers.search.rules import NearnessRules

Key = tuple[str, int]
"""Repository and number of an item."""


def fuse(orders: Iterable[Sequence[Key]], constant: int, factor: Callable[[Key], float] = lambda _: 1.0) -> list[Key]:
    """Reciprocal rank fusion: every order gives an item ``1 / (constant + rank)``, the first has rank 1.

    Source: Cormack, Clarke and Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank learning
    methods", SIGIR 2009.

    Args:
        orders: items, best first, each at most once per order; an order need not hold all items.
        constant: the larger, the less the first places count.
        factor: what an item's sum is multiplied by.

    Returns:
        All items of all orders, best first; equal ones by repository and number.
    """
    scores: defaultdict[Key, float] = defaultdict(float)
    for order in orders:
        for rank, key in enumerate(order, start=1):
            scores[key] += 1 / (constant + rank)
    weighed = {key: score * factor(key) for key, score in scores.items()}
    return sorted(weighed, key=lambda key: (-weighed[key], key))


def nearness(own: Key, rules: NearnessRules) -> Callable[[Key], float]:
    """How much an item counts by how far its number is from that of an item of the same repository: from 1 down to 0.

    Numbers are given in the order in which items come, and many items lack a date. A power falls slowly where it is
    far, so that of two old items the one that fits better stays first. An item of another repository comes last.
    """
    repo, number = own

    def factor(key: Key) -> float:
        apart = abs(key[1] - number) if key[0] == repo else math.inf
        return math.pow(1 + apart / rules.reach, -rules.power)

    return factor
