"""The study's experiments: measured series by series, and written after each: an interruption loses one series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch_embers import packages
from torch_embers.errors import InputError
from torch_embers.progress import Silent
from torch_embers.study.experiments import devices as known
from torch_embers.study.experiments import machine, orders, plan
from torch_embers.study.experiments.measured import VISION, Facts, Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.study.experiments.devices import Device
    from torch_embers.study.experiments.plan import Plan


def run(
    out: Path,
    *,
    images: Path | None = None,
    count: int | None = None,
    repeats: int | None = None,
    dimension: int | None = None,
    devices: Sequence[str] | None = None,
    seed: int = 0,
    profile: str = "default",
    progress: Progress | None = None,
) -> list[Measured]:
    """Make figures 8 and 9 again on this machine and write tables, pictures and experiments.json into a folder.

    Args:
        out: folder to write to.
        images: CIFAR-10 in its binary version or an array; generated images where None.
        count: images of a pass; as data/experiments.toml has it where None, like repeats.
        repeats: pairs of passes of figure 8, and repeats of figure 9.
        dimension: side of the largest tensor; chosen by free memory where None.
        devices: cpu, cuda or mps; all that torch can use where None.
        seed: of images, draws, orders and the order of measuring.
        profile: settings of data/experiments.toml, ``default`` (about a minute) or ``quick``.
        progress: advances with each measurement.

    Raises:
        InputError: torch is missing, an option or a file cannot be used, or memory does not suffice.
    """
    packages.require("study", "the experiments need", "torch")
    import torch

    from torch_embers.study.experiments import images as image_files

    progress = progress or Silent()
    wanted = _narrowed(plan.plan(profile), count, repeats)
    chosen = known.choose(torch, devices)
    names = tuple(one.name for one in chosen)
    pixels, source = image_files.load(images, wanted.images, seed)
    facts = Facts(machine.describe(torch, names), profile, wanted, seed, source)
    tasks = [
        task
        for device in chosen
        for task in (
            *_chain_tasks(torch, device, wanted, facts, pixels),
            *_order_tasks(torch, device, wanted, facts, dimension),
        )
    ]
    progress.expects(sum(task.amount for task in tasks))
    measured: list[Measured] = []
    for task in tasks:
        measured += task.measure(progress.advanced)
        write(out, measured, facts, pictures=task.last)
        progress.said(f"measured: {task.name}")
    return measured


def write(out: Path, measured: Sequence[Measured], facts: Facts, *, pictures: bool = True) -> tuple[Path, ...]:
    """Write tables, experiments.json and pictures of the times in ``measured``.

    Raises:
        InputError: the folder cannot be written to, or Matplotlib is not installed.
    """
    from torch_embers.study.experiments import results

    made = results.results(measured, facts)
    paths = results.write(out, measured, made, facts)
    if not pictures:
        return paths
    from torch_embers.study.experiments import pictures as drawn

    return (*paths, *drawn.write(out, measured, made, facts))


@dataclass(frozen=True, slots=True)
class _Task:
    """One series to measure; ``last`` says that a picture is complete with it."""

    name: str
    amount: int
    measure: Callable[[Callable[[int], None]], Iterable[Measured]]
    last: bool


def _narrowed(wanted: Plan, count: int | None, repeats: int | None) -> Plan:
    """The settings with what the user asked for."""
    for option, value in (("--count", count), ("--repeats", repeats)):
        if value is not None and value < 1:
            raise InputError(f"{option} {value}: at least 1 is needed")
    if count is not None:
        wanted = wanted.model_copy(update={"images": count})
    if repeats is not None:
        wanted = wanted.model_copy(update=dict.fromkeys(("repeats", "whole_repeats", "sample_repeats"), repeats))
    return wanted


def _chain_tasks(torch: Any, device: Device, wanted: Plan, facts: Facts, pixels: Any) -> Iterator[_Task]:
    """Figure 8 on one device: one series for each chain, size of batch and number of threads."""
    from torch_embers.study.experiments import chain_times

    tensor = torch.from_numpy(pixels).to(device.name)
    every = list(chain_times.all_series(tensor, wanted, plan.chain(), device, facts.seed))
    if device.name == "cpu" and not any(one.name.startswith(VISION) for one in every):
        facts.notes.append("torchvision is not installed, or not for this torch: its chain is left out of figure 8")
    for series in every:

        def measure(advanced: Callable[[int], None], one: chain_times.Series = series) -> Iterator[Measured]:
            facts.differences[device.name, one.name], facts.layouts[one.name] = one.compare()
            yield from one.measure(wanted, advanced)

        yield _Task(f"figure 8, {device.name}, {series.name}", 2 * wanted.repeats, measure, last=series is every[-1])


def _order_tasks(torch: Any, device: Device, wanted: Plan, facts: Facts, dimension: int | None) -> Iterator[_Task]:
    """Figure 9 on one device: every order at one size, samples at a power of two and at the largest size."""
    from torch_embers.study.experiments import copy_times

    free = known.free_bytes(torch, device.name, machine.free_bytes())
    largest = copy_times.side_that_fits(free, wanted.memory_part, wanted.large_megabytes, dimension)
    some = orders.sample(wanted.orders_per_place, facts.seed)
    kinds = [(min(wanted.whole_dimension, largest), orders.every(), wanted.whole_repeats)]
    kinds += [(side, some, wanted.sample_repeats) for side in (wanted.power_dimension, largest) if side <= largest]
    if largest < wanted.power_dimension:
        facts.notes.append(f"{device.name}: d = {wanted.power_dimension} is left out, d = {largest} is the largest")
    once = {side: (chosen, repeats) for side, chosen, repeats in reversed(kinds)}
    for place, (side, (chosen, repeats)) in enumerate(sorted(once.items())):
        series = copy_times.Series(side, chosen, device, facts.seed, wanted.untouched_calls)

        def measure(
            advanced: Callable[[int], None], one: copy_times.Series = series, times: int = repeats
        ) -> Iterator[Measured]:
            yield from one.measure(times, wanted.series_seconds, advanced)

        name = f"figure 9, {device.name}, {series.name}"
        yield _Task(name, series.jobs(repeats), measure, last=place == len(once) - 1)
