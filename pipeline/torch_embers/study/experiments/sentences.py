"""Results of the experiments as sentences that are computed from the numbers. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from torch_embers.study.claims.geometry import fastest_copy, gigabytes
from torch_embers.study.experiments import orders
from torch_embers.study.experiments.measured import FRESH
from torch_embers.study.experiments.summary import faster, saved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.study.experiments.plan import Printed
    from torch_embers.study.experiments.summary import Compared, Explained, Middle, OrderTime, StepTime, Yardstick

DISTURBED = 1.5
"""Operations that take so many times the chain's time, or the other way round, were not timed under like conditions."""
REPEATABLE = 0.7
"""Agreement of two halves of the repeats without which no explanation is printed."""
SIZES = ("B", "kB", "MB", "GB")
NAMES = {
    "moved": "the number of moved dimensions",
    "last_kept": "whether the last dimension stays the last",
    "step": "the step between neighbours of the copy in the source",
    "place": "the place that the source's last dimension takes",
}


def time_text(seconds: float) -> str:
    """A time with three figures in a readable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size or unit == "µs":
            return f"{seconds / size:.3g} {unit}" if seconds / size < 999.5 else f"{seconds / size:,.0f} {unit}"
    return f"{seconds} s"


def bytes_text(count: float) -> str:
    """Bytes with two figures or three in a readable unit of thousands."""
    place = 0
    while count >= 999.5 and place < len(SIZES) - 1:
        count, place = count / 1000, place + 1
    return f"{count:.3g} {SIZES[place]}"


def verdict(one: Compared, printed: Printed) -> str:
    """What an interval says: ``faster``, ``slower``, ``the same``, or ``unclear``.

    It is unclear where it holds no difference and the printed one alike: too disturbed a measurement to decide.
    """
    printed_ratio = printed.default_seconds / printed.aware_seconds
    if one.ratio.low > 1:
        return "faster"
    if one.ratio.high < 1:
        return "slower"
    return "the same" if one.ratio.high < printed_ratio else "unclear"


def on_augmentation(compared: Sequence[Compared], printed: Printed) -> str:
    """How many series speak for the contiguity-aware arm."""
    verdicts = Counter(verdict(one, printed) for one in compared)
    printed_ratio = printed.default_seconds / printed.aware_seconds
    around = sum(
        one.ratio.low <= printed_ratio <= one.ratio.high for one in compared if verdict(one, printed) != "unclear"
    )
    unclear = f", {verdicts['unclear']} unclear" if verdicts["unclear"] else ""
    return (
        f"Figure 8: of {len(compared)} series, {verdicts['faster']} show staying contiguous to be faster than the "
        f"default, {verdicts['slower']} slower, {verdicts['the same']} no difference{unclear}. The printed "
        f"{faster(printed_ratio):.1f} % lies within the interval of {around}."
    )


def on_arms(one: Compared, printed: Printed) -> str:
    """Which arm is faster, in both conventions, and how the printed times stand to it."""
    ratio = one.ratio
    printed_ratio = printed.default_seconds / printed.aware_seconds
    result = {
        "faster": f"staying contiguous is {one.faster:.1f} % faster, or saves {one.saved:.1f} % of the time",
        "slower": f"staying contiguous is slower: it takes {faster(1 / ratio.value):.1f} % more time",
        "the same": "no difference between the arms is shown",
        "unclear": "too disturbed to tell the arms apart or not",
    }[verdict(one, printed)]
    return (
        f"{_series(one)}: {result}. The default takes {ratio.value:.3f} times as long ({ratio.low:.3f} to "
        f"{ratio.high:.3f} at {ratio.confidence:.1%}, {one.pairs} pairs), {time_text(one.default.value)} against "
        f"{time_text(one.aware.value)} an image. {_beside(ratio, printed_ratio)}"
    )


def _beside(ratio: Middle, printed: float) -> str:
    stands = "below" if printed < ratio.low else "above" if printed > ratio.high else "inside"
    percents = f"{faster(printed):.1f} % faster, {saved(printed):.1f} % saved"
    return f"The printed {printed:.2f} ({percents}) lies {stands} this interval."


def on_steps(one: Compared, steps: Sequence[StepTime], layouts: Mapping[str, str], printed: Printed) -> str:
    """What ``contiguous()`` costs and brings in one series, and how much it could bring at most."""
    whole = sum(s.default for s in steps)
    if not 1 / DISTURBED < whole / one.least < DISTURBED:
        return (
            f"{_series(one)}: the operations by themselves take {time_text(whole)} in all, the chain "
            f"{time_text(one.least)}: something else was running, and they explain nothing."
        )
    cost, gain = sum(s.copying for s in steps), sum(s.default - s.aware for s in steps)
    most = max(steps, key=lambda s: s.default / s.aware)
    parts = [
        f"{_series(one)}: the copies cost {time_text(cost)} an image, and the operations take {time_text(abs(gain))} "
        f"{'less' if gain >= 0 else 'more'}. Were the copies free, {most.step} would gain most, by a factor of "
        f"{most.default / most.aware:.2f}; it is {most.default / whole:.1%} of the time."
    ]
    if alike := alike_in_both(steps, layouts):
        most_saved = 1 - sum(s.default for s in steps if s.step in alike) / whole
        limit = saved(printed.default_seconds / printed.aware_seconds)
        parts.append(
            f"{_list(alike)} get a contiguous tensor in the default arm, too, and take {1 - most_saved:.0%} of its "
            f"time: were all the rest free, staying contiguous could not save more than {most_saved:.0%}, "
            f"{'less' if 100 * most_saved < limit else 'not less'} than the printed {limit:.1f} %."
        )
    return " ".join(parts)


def alike_in_both(steps: Sequence[StepTime], layouts: Mapping[str, str]) -> list[str]:
    """Operations that get a contiguous tensor in the default arm, too, so that both arms do the same in them.

    The first is one of them: it gets the images as they are.
    """
    names = [s.step for s in steps]
    return names[:1] + [after for before, after in pairwise(names) if layouts.get(before) == "contiguous"]


def on_permutation(times: Sequence[OrderTime]) -> str:
    """Whether the order or the number of moved dimensions matters more, at one size."""
    groups: dict[int, list[float]] = {}
    for one in times:
        if one.placed is not None:
            groups.setdefault(one.geometry.moved, []).append(one.fresh)
    few, many = min(groups), max(groups)
    widest = max(groups, key=lambda count: max(groups[count]) / min(groups[count]))
    medians = [median(group) for group in groups.values()]
    spread = max(groups[widest]) / min(groups[widest])
    return (
        f"Figure 9 ({_series(times[0])}): among orders that move {widest} dimensions the slowest takes {spread:.2g} "
        f"times as long as the quickest; the medians of the numbers of moved dimensions differ by a factor of "
        f"{max(medians) / min(medians):.2g}. The slowest order that moves {few} takes {time_text(max(groups[few]))}, "
        f"the quickest that moves {many} {time_text(min(groups[many]))}."
    )


def on_untouched(times: Sequence[OrderTime]) -> str:
    """The orders that leave the tensor contiguous."""
    still = [t for t in times if t.geometry.untouched and t.geometry.moved]
    if not still:
        return ""
    most = max(t.geometry.moved for t in still)
    return (
        f"{_series(still[0])}: {len(still)} orders that move the dimension of size 1 put up to {most} dimensions "
        f"elsewhere, leave the tensor contiguous, and contiguous() returns the same memory after "
        f"{time_text(median(t.fresh for t in still))}. That a permuted tensor is always non-contiguous is false."
    )


def on_orders(times: Sequence[OrderTime], yardstick: Yardstick) -> str:
    """The times of one size, by the number of moved dimensions."""
    moving = [t for t in times if t.placed is not None]
    groups = [
        f"{count} moved {time_text(min(group))} to {time_text(max(group))}"
        for count in sorted({t.geometry.moved for t in moving})
        if (group := [t.fresh for t in moving if t.geometry.moved == count])
    ]
    slow, quick = max(moving, key=lambda t: t.fresh), min(moving, key=lambda t: t.fresh)
    return (
        f"{_series(slow)}, {bytes_text(yardstick.bytes)}: {'; '.join(groups)} ({len(moving)} orders). A plain clone "
        f"takes {time_text(yardstick.fresh)}, {yardstick.bandwidth_fresh:.3g} GB/s; a copy into preallocated memory "
        f"takes {time_text(yardstick.placed)}, {yardstick.bandwidth_placed:.3g} GB/s. The quickest order "
        f"({quick.order}) reaches {quick.share_fresh:.0%} of a clone's speed, the slowest ({slow.order}) "
        f"{slow.share_fresh:.0%}."
    )


def on_explanations(explained: Sequence[Explained]) -> str:
    """How much each description explains, at one size, the best first."""
    fresh = sorted((e for e in explained if e.step == FRESH), key=lambda e: -e.share)
    shares = "; ".join(f"{NAMES[e.description]} {e.share:.0%} ({e.groups} groups)" for e in fresh)
    by = {e.description: e.share for e in fresh}
    less = by["moved"] < by["place"]
    if fresh[0].repeatable < REPEATABLE:
        return (
            f"{_series(fresh[0])}: two halves of the repeats agree by {fresh[0].repeatable:.0%} only (share of the "
            f"variance between orders): the machine was too busy to explain anything."
        )
    return (
        f"{_series(fresh[0])}: of the differences in time between {fresh[0].orders} orders (R squared of the "
        f"logarithm), these explain: {shares}. The number explains {'less' if less else 'no less'} than the place."
    )


def on_printed(times: Sequence[OrderTime], yardstick: Yardstick, printed: Printed) -> str:
    """The printed tensor at the speed that was measured here."""
    shape = orders.shape(printed.side)
    least = fastest_copy(shape, orders.ELEMENT, yardstick.bandwidth_placed)
    clone = fastest_copy(shape, orders.ELEMENT, yardstick.bandwidth_fresh)
    worst = clone / min(t.share_fresh for t in times if t.placed is not None)
    between = clone <= printed.four and printed.five <= worst
    return (
        f"{yardstick.device}: the printed tensor takes {gigabytes(shape, orders.ELEMENT):.1f} GB as float32, twice "
        f"that with its copy. At the speed of a plain copy here ({yardstick.series}) that is {time_text(least)}, with "
        f"fresh memory {time_text(clone)}; at the slowest order's share {time_text(worst)}. The printed "
        f"{printed.two:.5f} s cannot be a copy; {printed.four:g} s and {printed.five:g} s "
        f"{'lie' if between else 'do not both lie'} between these."
    )


def _series(one: Compared | OrderTime | Explained) -> str:
    return f"{one.device}, {one.series}"


def _list(names: Sequence[str]) -> str:
    text = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    return text[0].upper() + text[1:]
