"""All results of a run of the experiments, sentences about them, and both as CSV and JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from torch_embers.study import files
from torch_embers.study.experiments import orders, plan, sentences, summary
from torch_embers.study.experiments.measured import AUGMENTATION, PERMUTATION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

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


def results(measured: Sequence[Measured], facts: Facts) -> Results:
    """Summaries, and sentences about them."""
    confidence = facts.settings.confidence
    times = summary.order_times(measured)
    made = Results(
        compared=tuple(summary.compared(measured, confidence)),
        steps=tuple(summary.step_times(measured)),
        orders=tuple(times),
        yardsticks=tuple(summary.yardsticks(measured)),
        explained=tuple(summary.explained(measured)),
        finding=(),
    )
    return replace(made, finding=(*_on_augmentation(made, facts), *_on_permutation(made)))


def _on_augmentation(results: Results, facts: Facts) -> list[str]:
    printed = plan.printed()
    lines = [sentences.on_augmentation(results.compared, printed)] if results.compared else []
    for one in results.compared:
        lines.append(sentences.on_arms(one, printed))
        worst = facts.differences.get((one.device, one.series))
        if worst is not None and not worst <= TOLERANCE:
            lines.append(
                f"{one.device}, {one.series}: the arms differ by up to {worst:.2g}, so they are not the same work."
            )
        if steps := [s for s in results.steps if (s.device, s.series) == (one.device, one.series)]:
            lines.append(sentences.on_steps(one, steps, facts.layouts.get(one.series, {}), printed))
    return lines


def _on_permutation(results: Results) -> list[str]:
    lines: list[str] = []
    for yardstick in results.yardsticks:
        key = (yardstick.device, yardstick.series)
        times = [t for t in results.orders if (t.device, t.series) == key]
        explained = [e for e in results.explained if (e.device, e.series) == key]
        if not any(t.placed is not None for t in times):
            continue
        if explained[0].orders >= orders.ALL_MOVING:
            lines.insert(0, sentences.on_permutation(times))
        lines += [sentences.on_untouched(times), sentences.on_orders(times, yardstick)]
        if explained[0].orders >= orders.ALL_MOVING:
            lines.append(sentences.on_explanations(explained))
    for device in dict.fromkeys(y.device for y in results.yardsticks):
        largest = max((y for y in results.yardsticks if y.device == device), key=lambda y: y.bytes)
        if times := [t for t in results.orders if (t.device, t.series) == (device, largest.series)]:
            lines.append(sentences.on_printed(times, largest, plan.printed()))
    return [sentence for sentence in lines if sentence]


def as_json(results: Results, facts: Facts) -> dict[str, Any]:
    """Everything but the single times, for experiments.json."""
    return {
        "machine": dict(facts.machine),
        "settings": {"profile": facts.profile, **facts.settings.model_dump()},
        "seed": facts.seed,
        "images": facts.images,
        "arms_differ_by": {f"{device}, {series}": worst for (device, series), worst in facts.differences.items()},
        "layouts_of_default": facts.layouts,
        "printed": plan.printed().model_dump(),
        "finding": list(results.finding),
        "notes": list(facts.notes),
        "augmentation": [_arms(one) for one in results.compared],
        "plain_copies": [
            asdict(one) | {"gb_s_fresh": one.bandwidth_fresh, "gb_s_placed": one.bandwidth_placed}
            for one in results.yardsticks
        ],
        "explained": [asdict(one) for one in results.explained],
    }


def write(out: Path, measured: Sequence[Measured], results: Results, facts: Facts) -> tuple[Path, ...]:
    """Write raw times, summaries and experiments.json.

    Raises:
        InputError: the folder cannot be written to.
    """
    tables = {
        "figure_8.csv": [_flat(_arms(one)) for one in results.compared],
        "figure_8_steps.csv": [asdict(one) for one in results.steps],
        "figure_8_raw.csv": [asdict(one) for one in measured if one.experiment == AUGMENTATION],
        "figure_9.csv": [_flat(asdict(one)) for one in results.orders],
        "figure_9_explained.csv": [asdict(one) for one in results.explained],
        "figure_9_raw.csv": [asdict(one) for one in measured if one.experiment == PERMUTATION],
    }
    texts = {name: files.as_csv(rows, _cell) for name, rows in tables.items() if rows}
    texts["experiments.json"] = files.as_json(as_json(results, facts), indent=2)
    return tuple(files.write(out / name, text) for name, text in texts.items())


def _cell(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


def _arms(one: Compared) -> dict[str, Any]:
    return asdict(one) | {"faster_percent": one.faster, "saved_percent": one.saved}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Inner records become columns: ``ratio.low`` is ``ratio_low``."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        flat |= {f"{name}_{part}": inner for part, inner in value.items()} if isinstance(value, dict) else {name: value}
    return flat
