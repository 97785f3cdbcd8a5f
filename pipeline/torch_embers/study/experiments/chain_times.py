"""Figure 8: the augmentation chain in two arms, timed side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from torch_embers.study.experiments import augmentation, devices, vision
from torch_embers.study.experiments.measured import AUGMENTATION, AWARE, CHAIN, COPYING, DEFAULT, VISION, Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from torch_embers.study.experiments.augmentation import Draw, Step
    from torch_embers.study.experiments.devices import Device
    from torch_embers.study.experiments.plan import Chain, Plan

ARMS = (DEFAULT, AWARE)
LEAST = 6
"""Pairs without which no interval of a median has 95 %."""


class Series:
    """The same images through one chain, in batches of one size, on one device.

    Args:
        name: unique on the device.
        images: uint8 in (images, height, width, channel), on the device.
        size: images in a batch; the last batch may be smaller.
        steps: the operations.
        draws: random numbers, one for each batch of a pass.
        device: where to measure.
        threads: how many torch may use; as many as it likes where None, as on a GPU.
    """

    def __init__(
        self,
        name: str,
        images: Tensor,
        size: int,
        steps: Sequence[Step],
        draws: Sequence[Draw],
        device: Device,
        threads: int | None = None,
    ) -> None:
        suffix = f", {threads} thread{'s' * (threads > 1)}" if threads else ""
        self.name = f"{name}{suffix}"
        self.threads = threads or torch.get_num_threads()
        self.device = device
        self.steps = tuple(steps)
        self.draws = tuple(draws)
        batches = torch.split(images, size)
        self.batches: tuple[Tensor, ...] = batches * (len(self.draws) // len(batches))
        self.amount = sum(map(len, self.batches))

    def compare(self) -> tuple[float, dict[str, str]]:
        """Greatest difference between the results of both arms, and the layouts that the default arm goes through."""
        worst = 0.0
        seen: dict[str, list[str]] = {name: [] for name, _ in self.steps}
        for batch, draw in zip(self.batches, self.draws, strict=True):
            ours = augmentation.through(batch, draw, self.steps, aware=True)
            theirs = batch
            for name, step in self.steps:
                theirs = step(theirs, draw)
                seen[name].append(augmentation.layout(theirs))
            worst = max(worst, float((ours - theirs).abs().max()))
        return worst, {name: " or ".join(dict.fromkeys(sorted(layouts))) for name, layouts in seen.items()}

    def measure(self, plan: Plan, advanced: Callable[[int], None]) -> Iterator[Measured]:
        """All times: pairs of passes through the whole chain and, spread among them, passes that time each operation.

        The arms take turns, and who begins alternates. ``advanced`` is called after each pass.
        """
        between = max(plan.repeats // plan.step_repeats, 1)
        with devices.threads(torch, self.threads):
            for aware in (False, True):
                self._pass(aware=aware)  # the first pass asks for memory and builds caches: not counted
            for repeat in devices.rounds(plan.repeats, LEAST, plan.series_seconds):
                for arm in ARMS if repeat % 2 == 0 else ARMS[::-1]:
                    yield self._one(arm, CHAIN, repeat, self._pass(aware=arm == AWARE))
                    if repeat % between == 0:
                        for step, seconds in self._stepwise(aware=arm == AWARE).items():
                            yield self._one(arm, step, repeat, seconds)
                    advanced(1)

    def _one(self, arm: str, step: str, repeat: int, seconds: float) -> Measured:
        return Measured(AUGMENTATION, self.device.name, self.name, arm, step, repeat, seconds, self.amount)

    def _pass(self, *, aware: bool) -> float:
        start = self.device.now()
        for batch, draw in zip(self.batches, self.draws, strict=True):
            augmentation.through(batch, draw, self.steps, aware=aware)
        return self.device.now() - start

    def _stepwise(self, *, aware: bool) -> dict[str, float]:
        now = self.device.now
        spent = dict.fromkeys((name for name, _ in self.steps), 0.0)
        if aware:
            spent |= dict.fromkeys((COPYING + name for name, _ in self.steps), 0.0)
        for first, draw in zip(self.batches, self.draws, strict=True):
            batch = first
            for name, step in self.steps:
                start = now()
                batch = step(batch, draw)
                middle = now()
                spent[name] += middle - start
                if aware:
                    batch = batch.contiguous()
                    spent[COPYING + name] += now() - middle
        return spent


def all_series(images: Tensor, plan: Plan, chain: Chain, device: Device, seed: int) -> Iterator[Series]:
    """The series of a device: our chain in batches of each size, torchvision's one image at a time on the CPU."""
    ours = augmentation.steps(chain, device.name)
    for size in plan.batches:
        # a pass in larger batches goes over the images several times, each time with other numbers
        count = -(-len(images) // size) * (1 if size == 1 else plan.rounds)
        draws = augmentation.draws(chain, count, seed, device.name)
        for threads in thread_counts(device.name):
            yield Series(f"batch {size}", images, size, ours, draws, device, threads)
    functional = vision.functions() if device.name == "cpu" else None
    if functional is not None:
        draws = augmentation.draws(chain, len(images), seed, device.name)
        yield Series(f"{VISION}, batch 1", images, 1, vision.steps(chain, functional), draws, device, 1)


def thread_counts(device: str) -> tuple[int | None, ...]:
    """How many threads to compare on a device.

    On the CPU one, as each worker of torch's data loader has, and as many as torch takes by itself.
    """
    return tuple(dict.fromkeys((1, torch.get_num_threads()))) if device == "cpu" else (None,)
