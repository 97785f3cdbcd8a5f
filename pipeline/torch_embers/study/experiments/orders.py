"""Orders of dimensions: which are measured, and what of each may decide how long its copy takes. No tensor is made.

A permuted tensor is copied in the order of the copy. Its last dimension is walked through first, in steps as long as
that dimension's stride in the source. Memory comes in lines of 64 bytes, so that a longer step fetches a line for one
element of it; the rest of the line is of use only when the walk comes back to it, which is after all dimensions of the
copy behind the one that is last in the source have been walked through. If by then more lines have come in than a
cache holds, the line is fetched anew. That is why the place which the last dimension of the source takes should count,
and not how many dimensions were moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.study.claims.geometry import stays_contiguous

if TYPE_CHECKING:
    from collections.abc import Sequence

DIMENSIONS = 6
"""As in the paper; the first is of size 1."""
LINE = 64
"""Bytes that memory hands out at once, on x86-64 and on most Arm processors."""
ELEMENT = 4
"""Bytes of a float32."""

ALL_MOVING = factorial(DIMENSIONS - 1) - 1
"""Orders that move a real dimension. For a sample of them no share of variance is printed."""

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Geometry:
    """What of an order may decide.

    Args:
        moved: dimensions that are not where they were, the one of size 1 counted like the others (the paper's count).
        untouched: the result is contiguous, and ``contiguous()`` copies nothing.
        last_kept: the last dimension stays the last.
        place: of the source's last dimension in the copy, counted from its end: 0 is the last.
        step: bytes between neighbours of the copy in the source.
        reuse: bytes of lines fetched before a line is needed again; 0 where the copy reads a line as a whole.
    """

    moved: int
    untouched: bool
    last_kept: bool
    place: int
    step: int
    reuse: int


def shape(side: int) -> Order:
    """(1, side, side, side, side, side)."""
    return (1,) + (side,) * (DIMENSIONS - 1)


def geometry(order: Sequence[int], side: int) -> Geometry:
    """What of an order of ``shape(side)`` may decide.

    Raises:
        ValueError: it does not name each of the six dimensions once.
    """
    sizes = shape(side)
    untouched = stays_contiguous(sizes, order)
    real = [d for d in order if sizes[d] != 1]
    place = len(real) - 1 - real.index(DIMENSIONS - 1)
    return Geometry(
        moved=sum(d != i for i, d in enumerate(order)),
        untouched=untouched,
        last_kept=place == 0,
        place=place,
        step=prod(sizes[real[-1] + 1 :]) * ELEMENT,
        reuse=0 if place == 0 else LINE * side**place,
    )


def name(order: Sequence[int]) -> str:
    """The order as it is written in tables."""
    return " ".join(map(str, order))


def unname(text: str) -> Order:
    """The order that a name stands for."""
    return tuple(int(d) for d in text.split())


def every() -> tuple[Order, ...]:
    """Every order of the five real dimensions, and the five that only move the dimension of size 1."""
    real = range(1, DIMENSIONS)
    of_one = tuple(_one_moved_to(place) for place in range(1, DIMENSIONS))
    return tuple((0, *order) for order in permutations(real)) + of_one


def sample(per_place: int, seed: int) -> tuple[Order, ...]:
    """Some orders for each place that the source's last dimension can take, with the telling ones always among them.

    These are: nothing moved, the swap of the last two, the swap of the first and the last, all reversed.
    """
    chosen: list[Order] = [(0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 5, 4), (0, 5, 2, 3, 4, 1), (0, 5, 4, 3, 2, 1)]
    source = np.random.default_rng(seed)
    rest = [order for order in every() if order[0] == 0 and order not in chosen]
    for place in range(DIMENSIONS - 1):
        there = [order for order in rest if DIMENSIONS - 1 - order.index(DIMENSIONS - 1) == place]
        chosen += [there[i] for i in source.choice(len(there), min(per_place, len(there)), replace=False)]
    return tuple(chosen)


def side_within(limit: float) -> int:
    """Largest side whose tensor takes at most so many bytes; 0 if not even one element does."""
    side = int((limit / ELEMENT) ** (1 / (DIMENSIONS - 1)))
    while side and size(side) > limit:
        side -= 1
    while size(side + 1) <= limit:
        side += 1
    return side


def size(side: int) -> int:
    """Bytes of the tensor."""
    return prod(shape(side)) * ELEMENT


def _one_moved_to(place: int) -> Order:
    rest = list(range(1, DIMENSIONS))
    return (*rest[:place], 0, *rest[place:])
