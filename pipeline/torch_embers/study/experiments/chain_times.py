"""Figure 8: the augmentation chain in two arms, timed side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from torch_embers.study.experiments import augmentation, devices
from torch_embers.study.experiments.measured import AUGMENTATION, AWARE, CHAIN, COPYING, DEFAULT, Measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import Tensor

    from torch_embers.study.experiments.augmentation import Draw, Step
    from torch_embers.study.experiments.devices import Device
    from torch_embers.study.experiments.plan import Chain, Plan

ARMS = (DEFAULT, AWARE)
LEAST = 6
"""Pairs without which no interval of a median has 95 %."""


class Series:
    """The same images in batches of one size on one device.

    Args:
        images: uint8 in (images, height, width, channel), on the device.
        size: images in a batch; the last batch may be smaller.
        chain: the chain's numbers.
        device: where to measure.
        seed: of the draws.
        threads: how many torch may use; as many as it likes where None, as on a GPU.
        rounds: how often a pass goes over the images, each time with other draws.
    """

    def __init__(
        self,
        images: Tensor,
        size: int,
        chain: Chain,
        device: Device,
        seed: int,
        threads: int | None = None,
        rounds: int = 1,
    ) -> None:
        self.threads = threads or torch.get_num_threads()
        told = f", {threads} thread{'s' * (threads > 1)}" if threads else ""
        self.name = f"batch {size}{told}"
        self.device = device
        self.amount = rounds * len(images)
        self.batches: tuple[Tensor, ...] = torch.split(images, size) * rounds
        self.draws: tuple[Draw, ...] = augmentation.draws(chain, len(self.batches), seed, device.name)
        self.steps: tuple[Step, ...] = augmentation.steps(chain, device.name)

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
        return worst, {name: " or ".join(dict.fromkeys(sorted(found))) for name, found in seen.items()}

    def measure(self, plan: Plan, advanced: Callable[[int], None]) -> Iterator[Measured]:
        """All times: pairs of passes through the whole chain and, spread among them, passes that time each operation.

        The arms take turns, and who begins alternates. ``advanced`` is told of each pass.
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


def thread_counts(device: str) -> tuple[int | None, ...]:
    """How many threads to compare on a device.

    On the CPU one, as each worker of torch's data loader has, and as many as torch takes by itself.
    """
    return tuple(dict.fromkeys((1, torch.get_num_threads()))) if device == "cpu" else (None,)
