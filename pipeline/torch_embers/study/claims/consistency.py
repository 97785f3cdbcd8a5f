"""Can these numbers be right at all? Checks that need nothing but what was printed.

The key insight (GRIM: Brown and Heathers, 2017): a percentage of whole things is a fraction. For a stated number of
things only some percentages can be printed, and several percentages of one whole narrow down how large it was.
All arithmetic is exact; a printed number stands for everything that rounds to it, half a unit to either side.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

HUNDRED = 100


class Printed(NamedTuple):
    """A number as it was printed, with the number of its decimals."""

    value: Fraction
    decimals: int

    @property
    def half_unit(self) -> Fraction:
        """Half a unit of the last printed place."""
        return Fraction(1, 2 * 10**self.decimals)

    def holds(self, exact: Fraction) -> bool:
        """Whether the exact number can be printed like this; half a unit may be rounded either way."""
        return abs(exact - self.value) <= self.half_unit


class Whole(NamedTuple):
    """A number of things of which all of some printed percentages can be shares, with the counts that they are."""

    n: int
    counts: tuple[int, ...]


def printed(value: float, decimals: int | None = None) -> Printed:
    """Take a number as printed; its decimals are those it is written with unless they are given."""
    written = Decimal(str(value))
    shown = max(0, -int(written.as_tuple().exponent)) if decimals is None else decimals
    return Printed(Fraction(written), shown)


def counts(percent: Printed, n: int) -> list[int]:
    """All counts out of n that can be printed as this percentage."""
    if n <= 0:
        return []
    low = (percent.value - percent.half_unit) * n / HUNDRED
    high = (percent.value + percent.half_unit) * n / HUNDRED
    return list(range(max(0, ceil(low)), min(n, floor(high)) + 1))


def neighbours(percent: Printed, n: int) -> list[int]:
    """The counts out of n whose percentages lie next to the printed one, one below and one above."""
    below = floor(percent.value * n / HUNDRED)
    return [k for k in (below, below + 1) if 0 <= k <= n]


def wholes(percents: Sequence[Printed], up_to: int) -> list[Whole]:
    """All n up to ``up_to`` of which every one of the percentages is a share; of several counts the nearest."""
    fitting_wholes = []
    for n in range(1, up_to + 1):
        nearest = []
        for percent in percents:
            fitting = counts(percent, n)
            if not fitting:
                break
            nearest.append(min(fitting, key=lambda k: abs(Fraction(HUNDRED * k, n) - percent.value)))
        else:
            fitting_wholes.append(Whole(n, tuple(nearest)))
    return fitting_wholes


def sums_to(parts: Sequence[Printed], whole: Fraction) -> bool:
    """Whether the parts can add up to the whole, given that each was rounded."""
    return abs(sum(p.value for p in parts) - whole) <= sum(p.half_unit for p in parts)


def fits_into(parts: Iterable[Printed], whole: Fraction) -> bool:
    """Whether the parts fit into the whole; they may be only some of it."""
    return sum(p.value - p.half_unit if p.decimals else p.value for p in parts) <= whole
