"""From times to results: paired ratios with intervals, shares of a plain copy, and how much a description explains.

Pure functions on numbers. Times are lopsided: a call can be disturbed, never sped up. Where two arms are compared, they
are measured in pairs, and the median of the pairs' ratios stands for them, with an interval from ranks alone, which
assumes no distribution. Where orders differ severalfold, and of operations, the least disturbed time does.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log
from statistics import fmean, median
from typing import TYPE_CHECKING

from torch_embers.study.experiments import orders
from torch_embers.study.experiments.measured import (
    AUGMENTATION,
    AWARE,
    CHAIN,
    COPYING,
    DEFAULT,
    FRESH,
    PERMUTATION,
    PLACED,
    YARDSTICK,
    Measured,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DESCRIPTIONS = ("moved", "last_kept", "step", "place")
"""What of an order is tried as an explanation: fields of ``orders.Geometry``."""


@dataclass(frozen=True, slots=True)
class Middle:
    """A median with its interval.

    ``confidence`` is what the interval really has: with few values less than was asked for.
    """

    value: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Compared:
    """Both arms of the chain in one series. Times in seconds for one image; ``ratio`` is default by contiguity-aware.

    Args:
        ratio: median over the pairs, each measured side by side.
        pairs: how many.
        least: of the default's times.
    """

    device: str
    series: str
    default: Middle
    aware: Middle
    ratio: Middle
    pairs: int
    least: float

    @property
    def faster(self) -> float:
        """Percent by which the contiguity-aware arm is faster: the extra time of the default (the paper's 73.9)."""
        return faster(self.ratio.value)

    @property
    def saved(self) -> float:
        """Percent of the default's time that the contiguity-aware arm saves (the paper's 42.5)."""
        return saved(self.ratio.value)


@dataclass(frozen=True, slots=True)
class StepTime:
    """One operation in both arms: seconds for one image in its quickest pass, and of the ``contiguous()`` behind it."""

    device: str
    series: str
    step: str
    default: float
    aware: float
    copying: float


@dataclass(frozen=True, slots=True)
class OrderTime:
    """One order at one size: its least time in seconds; ``placed`` is None where nothing is copied.

    ``share`` is the time of a plain copy by that of this one, for fresh and for placed memory: 1 is full speed.
    """

    device: str
    series: str
    side: int
    order: str
    geometry: orders.Geometry
    fresh: float
    fresh_median: float
    fresh_most: float
    placed: float | None
    share_fresh: float
    share_placed: float | None
    repeats: int


@dataclass(frozen=True, slots=True)
class Yardstick:
    """A plain copy of the tensor of one size: least times. A copy reads and writes each of the tensor's bytes once."""

    device: str
    series: str
    bytes: int
    fresh: float
    placed: float

    @property
    def bandwidth_fresh(self) -> float:
        """Gigabytes (10**9 bytes) read and written in a second, memory asked for with each copy."""
        return 2 * self.bytes / self.fresh / 1e9

    @property
    def bandwidth_placed(self) -> float:
        """The same with a target that was there before."""
        return 2 * self.bytes / self.placed / 1e9


@dataclass(frozen=True, slots=True)
class Explained:
    """How much of the differences between orders a description explains.

    Args:
        share: R squared of a one-way model of the logarithm of the time (0 nothing, 1 all).
        adjusted: the same, less what so many groups would explain by chance; None with too few orders.
        orders: that copy something.
        groups: of the description.
        repeatable: agreement of two halves of the repeats (1 is full): where it is low, an order measured again differs
            as orders do, and nothing can be explained.
    """

    device: str
    series: str
    step: str
    description: str
    share: float
    adjusted: float | None
    orders: int
    groups: int
    repeatable: float


def faster(ratio: float) -> float:
    """Percent faster, from the default's time by the other's: 40 s against 23 s are 73.9."""
    return 100 * (ratio - 1)


def saved(ratio: float) -> float:
    """Percent of time saved, from the same: 40 s against 23 s are 42.5."""
    return 100 * (1 - 1 / ratio)


def middle(values: Sequence[float], confidence: float) -> Middle:
    """Median and its interval from ranks.

    The k-th lowest and the k-th highest of n values enclose the median with probability 1 - 2 P(X < k), X binomial with
    n trials of chance one half (W. R. Thompson, Annals of Mathematical Statistics 7, 1936). The narrowest that keep the
    promise are taken, or lowest and highest where n is too small for any.

    Raises:
        ValueError: there are no values.
    """
    ranked = sorted(values)
    n = len(ranked)
    if not n:
        raise ValueError("no median of nothing")
    k, held, below = 1, 1 - 2 * 0.5**n, 0.5**n
    while k + 1 <= n // 2:
        below += comb(n, k) * 0.5**n
        if 1 - 2 * below < confidence:
            break
        k, held = k + 1, 1 - 2 * below
    return Middle(median(ranked), ranked[k - 1], ranked[-k], max(held, 0.0))


def compared(measured: Iterable[Measured], confidence: float) -> list[Compared]:
    """The arms of each series, from the times of the whole chain."""
    results = []
    for (device, series), rows in _grouped(measured, AUGMENTATION).items():
        whole = [row for row in rows if row.step == CHAIN]
        arms = {arm: {r.repeat: r.seconds / r.amount for r in whole if r.variant == arm} for arm in (DEFAULT, AWARE)}
        both = sorted(arms[DEFAULT].keys() & arms[AWARE].keys())
        if not both:
            continue
        default, aware = ([arms[arm][repeat] for repeat in both] for arm in (DEFAULT, AWARE))
        ratios = [a / b for a, b in zip(default, aware, strict=True)]
        results.append(
            Compared(
                device=device,
                series=series,
                default=middle(default, confidence),
                aware=middle(aware, confidence),
                ratio=middle(ratios, confidence),
                pairs=len(both),
                least=min(default),
            )
        )
    return results


def step_times(measured: Iterable[Measured]) -> list[StepTime]:
    """Each operation of each series, in the order of the chain."""
    results = []
    for (device, series), rows in _grouped(measured, AUGMENTATION).items():
        times: dict[tuple[str, str], list[float]] = {}
        for row in rows:
            times.setdefault((row.variant, row.step), []).append(row.seconds / row.amount)
        for arm, step in times:
            if arm == DEFAULT and step != CHAIN and (AWARE, step) in times:
                copying = times.get((AWARE, COPYING + step), [0.0])
                results.append(
                    StepTime(device, series, step, min(times[DEFAULT, step]), min(times[AWARE, step]), min(copying))
                )
    return results


def yardsticks(measured: Iterable[Measured]) -> list[Yardstick]:
    """The plain copy of each size."""
    results = []
    for (device, series), rows in _grouped(measured, PERMUTATION).items():
        plain = [row for row in rows if row.variant == YARDSTICK]
        fresh, placed = ([r.seconds for r in plain if r.step == step] for step in (FRESH, PLACED))
        if fresh and placed:
            results.append(Yardstick(device, series, plain[0].amount, min(fresh), min(placed)))
    return results


def order_times(measured: Iterable[Measured]) -> list[OrderTime]:
    """Every order of every size that has a plain copy beside it."""
    rows = [row for row in measured if row.experiment == PERMUTATION]
    plain = {(one.device, one.series): one for one in yardsticks(rows)}
    times: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    for row in rows:
        if row.variant != YARDSTICK and (row.device, row.series) in plain:
            times.setdefault((row.device, row.series, row.variant), {}).setdefault(row.step, []).append(row.seconds)
    return [_order_time(key, steps, plain[key[:2]]) for key, steps in times.items() if FRESH in steps]


def _order_time(key: tuple[str, str, str], steps: Mapping[str, list[float]], plain: Yardstick) -> OrderTime:
    device, series, order = key
    side = int(series.rpartition(" ")[2])
    fresh = min(steps[FRESH])
    placed = min(steps[PLACED]) if PLACED in steps else None
    return OrderTime(
        device=device,
        series=series,
        side=side,
        order=order,
        geometry=orders.geometry(orders.unname(order), side),
        fresh=fresh,
        fresh_median=median(steps[FRESH]),
        fresh_most=max(steps[FRESH]),
        placed=placed,
        share_fresh=plain.fresh / fresh,
        share_placed=plain.placed / placed if placed is not None else None,
        repeats=len(steps[FRESH]),
    )


def explained(measured: Iterable[Measured]) -> list[Explained]:
    """How much each description explains of the times of the orders that copy, size by size."""
    rows = [row for row in measured if row.experiment == PERMUTATION]
    times = order_times(rows)
    results = []
    for device, series in dict.fromkeys((t.device, t.series) for t in times):
        moving = [t for t in times if (t.device, t.series) == (device, series) and t.placed is not None]
        here = [row for row in rows if (row.device, row.series) == (device, series)]
        for step in (FRESH, PLACED):
            values = [log(t.fresh if step == FRESH else t.placed or t.fresh) for t in moving]
            repeatable = _repeatable(here, step, {t.order for t in moving})
            for description in DESCRIPTIONS:
                groups = [getattr(t.geometry, description) for t in moving]
                share, adjusted = r_squared(values, groups)
                results.append(
                    Explained(
                        device, series, step, description, share, adjusted, len(moving), len(set(groups)), repeatable
                    )
                )
    return results


def _repeatable(rows: Iterable[Measured], step: str, wanted: set[str]) -> float:
    """Agreement of the least times of even and odd repeats, as a share of variance that lies between orders."""
    halves: dict[tuple[str, int], float] = {}
    for row in rows:
        if row.step == step and row.variant in wanted:
            key = (row.variant, row.repeat % 2)
            halves[key] = min(halves.get(key, row.seconds), row.seconds)
    _, adjusted = r_squared([log(seconds) for seconds in halves.values()], [order for order, _ in halves])
    return adjusted or 0.0


def r_squared(values: Sequence[float], groups: Sequence[object]) -> tuple[float, float | None]:
    """Share of the variance that lies between groups, and the share adjusted for the number of groups.

    Values that do not differ are explained by anything: 1. The adjusted share is None with as many groups as values.
    """
    if not values:
        return 0.0, None
    whole = fmean(values)
    total = sum((v - whole) ** 2 for v in values)
    if total == 0:
        return 1.0, None
    within = 0.0
    for group in set(groups):
        members = [v for v, g in zip(values, groups, strict=True) if g == group]
        centre = fmean(members)
        within += sum((v - centre) ** 2 for v in members)
    share = 1 - within / total
    free = len(values) - len(set(groups))
    return share, 1 - (1 - share) * (len(values) - 1) / free if free > 0 else None


def _grouped(measured: Iterable[Measured], experiment: str) -> dict[tuple[str, str], list[Measured]]:
    groups: dict[tuple[str, str], list[Measured]] = {}
    for row in measured:
        if row.experiment == experiment:
            groups.setdefault((row.device, row.series), []).append(row)
    return groups
