"""All results of a run of the experiments, and sentences about them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from torch_embers.study.experiments import orders, plan, sentences, summary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.study.experiments.measured import Facts, Measured
    from torch_embers.study.experiments.summary import Compared, Explained, OrderTime, StepTime, Yardstick

TOLERANCE = 1e-5
"""Greatest difference of normalised values for which both arms count as having computed the same."""


@dataclass(frozen=True, slots=True)
class Results:
    """What follows from the times."""

    compared: tuple[Compared, ...]
    steps: tuple[StepTime, ...]
    orders: tuple[OrderTime, ...]
    yardsticks: tuple[Yardstick, ...]
    explained: tuple[Explained, ...]
    finding: tuple[str, ...]


def results(found: Sequence[Measured], facts: Facts) -> Results:
    """Summaries, and sentences about them."""
    confidence = facts.settings.confidence
    times = summary.order_times(found)
    made = Results(
        compared=tuple(summary.compared(found, confidence)),
        steps=tuple(summary.step_times(found)),
        orders=tuple(times),
        yardsticks=tuple(summary.yardsticks(found)),
        explained=tuple(summary.explained(found)),
        finding=(),
    )
    return replace(made, finding=(*_on_augmentation(made, facts), *_on_permutation(made)))


def _on_augmentation(found: Results, facts: Facts) -> list[str]:
    printed = plan.printed()
    lines = [sentences.on_augmentation(found.compared, printed)] if found.compared else []
    for one in found.compared:
        lines.append(sentences.on_arms(one, printed))
        worst = facts.differences.get((one.device, one.series))
        if worst is not None and not worst <= TOLERANCE:
            lines.append(
                f"{one.device}, {one.series}: the arms differ by up to {worst:.2g}, so they are not the same work."
            )
        if steps := [s for s in found.steps if (s.device, s.series) == (one.device, one.series)]:
            lines.append(sentences.on_steps(one, steps, facts.layouts.get(one.series, {}), printed))
    return lines


def _on_permutation(found: Results) -> list[str]:
    lines: list[str] = []
    for yardstick in found.yardsticks:
        key = (yardstick.device, yardstick.series)
        times = [t for t in found.orders if (t.device, t.series) == key]
        explained = [e for e in found.explained if (e.device, e.series) == key]
        if not any(t.placed is not None for t in times):
            continue
        if explained[0].orders >= orders.ALL_MOVING:
            lines.insert(0, sentences.on_permutation(times))
        lines += [sentences.on_untouched(times), sentences.on_orders(times, yardstick)]
        if explained[0].orders >= orders.ALL_MOVING:
            lines.append(sentences.on_explanations(explained))
    for device in dict.fromkeys(y.device for y in found.yardsticks):
        largest = max((y for y in found.yardsticks if y.device == device), key=lambda y: y.bytes)
        if times := [t for t in found.orders if (t.device, t.series) == (device, largest.series)]:
            lines.append(sentences.on_printed(times, largest, plan.printed()))
    return [sentence for sentence in lines if sentence]


def as_json(found: Results, facts: Facts) -> dict[str, Any]:
    """Everything but the single times, for experiments.json."""
    return {
        "machine": dict(facts.machine),
        "settings": {"profile": facts.profile, **facts.settings.model_dump()},
        "seed": facts.seed,
        "images": facts.images,
        "arms_differ_by": {f"{device}, {series}": worst for (device, series), worst in facts.differences.items()},
        "layouts_of_default": facts.layouts,
        "printed": plan.printed().model_dump(),
        "finding": list(found.finding),
        "notes": list(facts.notes),
        "augmentation": [
            asdict(one) | {"faster_percent": one.faster, "saved_percent": one.saved} for one in found.compared
        ],
        "plain_copies": [
            asdict(one) | {"gb_s_fresh": one.bandwidth_fresh, "gb_s_placed": one.bandwidth_placed}
            for one in found.yardsticks
        ],
        "explained": [asdict(one) for one in found.explained],
    }
