"""Figure 9: permute() and contiguous(), timed order by order beside a plain copy of the same tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from torch_embers.errors import InputError
from torch_embers.study.experiments import devices, orders
from torch_embers.study.experiments.measured import FRESH, PERMUTATION, PLACED, YARDSTICK, Measured
from torch_embers.study.experiments.sentences import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from torch_embers.study.experiments.devices import Device
    from torch_embers.study.experiments.orders import Order

COPIES = 3
"""Tensors that are held at once: the source, the copy into fresh memory, the target that was there before."""
LEAST = 3
"""Rounds that are measured, however long they take."""
SMALLEST = 2
"""Side below which no order moves anything."""
YARDSTICKS = 3
"""Plain copies in each round, spread over it like the orders."""


class Series:
    """One size of tensor on one device, and the orders to measure at it.

    Args:
        side: of the five real dimensions.
        chosen: orders of the six dimensions.
        device: where to measure.
        seed: of the values and of the order of measuring.
        untouched_calls: calls that are timed as one where nothing is copied.
    """

    def __init__(self, side: int, chosen: Sequence[Order], device: Device, seed: int, untouched_calls: int) -> None:
        self.name = f"d = {side}"
        self.side = side
        self.orders = tuple(chosen)
        self.device = device
        self.calls = untouched_calls
        self._seed = seed

    def measure(self, repeats: int, seconds: float, advanced: Callable[[int], None]) -> Iterator[Measured]:
        """All times. Each round measures every order once, in an order of its own; ``advanced`` is called after each.

        A first round over a few orders is not counted.

        Raises:
            InputError: the tensors do not fit, all the same.
        """
        source = np.random.default_rng(self._seed)
        try:
            tensor = torch.rand(orders.shape(self.side), device=self.device.name)
            target = torch.zeros_like(tensor)
            jobs: list[Order | None] = [*self.orders, *[None] * YARDSTICKS]
            for job in (None, *self.orders[:2]):
                list(self._one(tensor, target, job, 0))
            for repeat in devices.rounds(repeats, LEAST, seconds):
                for place in source.permutation(len(jobs)):
                    yield from self._one(tensor, target, jobs[place], repeat)
                    advanced(1)
        except (MemoryError, RuntimeError) as error:  # torch says "not enough memory" by a RuntimeError
            if "memory" not in str(error).lower() and not isinstance(error, MemoryError):
                raise
            smaller = orders.side_within(orders.size(self.side) / 2)
            raise InputError(f"no memory for d = {self.side}: try --dimension {smaller}") from error

    def jobs(self, repeats: int) -> int:
        """How many measurements ``measure`` tells of."""
        return repeats * (len(self.orders) + YARDSTICKS)

    def _one(self, tensor: Tensor, target: Tensor, order: Order | None, repeat: int) -> Iterator[Measured]:
        if order is None:
            fresh, placed = self._timed(tensor.clone), self._timed(lambda: target.copy_(tensor))
        elif orders.geometry(order, self.side).untouched:
            fresh, placed = self._untouched(tensor, order), None
        else:
            fresh = self._timed(lambda: tensor.permute(order).contiguous())
            # the target's own elements, in the order of the copy: contiguous, as the copy is
            like = target.view(tensor.permute(order).shape)
            placed = self._timed(lambda: like.copy_(tensor.permute(order)))
        variant = YARDSTICK if order is None else orders.name(order)
        for step, seconds in ((FRESH, fresh), (PLACED, placed)):
            if seconds is not None:
                amount = orders.size(self.side)
                yield Measured(PERMUTATION, self.device.name, self.name, variant, step, repeat, seconds, amount)

    def _timed(self, work: Callable[[], Tensor]) -> float:
        start = self.device.now()
        made = work()
        seconds = self.device.now() - start
        del made  # given back outside the time
        return seconds

    def _untouched(self, tensor: Tensor, order: Order) -> float:
        """Seconds of one call that copies nothing; that it shares the tensor's memory is checked, not believed."""
        if tensor.permute(order).contiguous().data_ptr() != tensor.data_ptr():
            raise InputError(f"this torch copies a contiguous tensor permuted by {order}: report it to PyTorch")
        start = self.device.now()
        for _ in range(self.calls):
            tensor.permute(order).contiguous()
        return (self.device.now() - start) / self.calls


def side_that_fits(free: int, part: float, most_megabytes: float, wanted: int | None) -> int:
    """The side of the largest tensor to measure: as wanted, or as memory and the settings allow.

    Args:
        free: memory that can be had, in bytes.
        part: of it, that all tensors may take together.
        most_megabytes: largest tensor, in 10**6 bytes, where nothing is wanted.
        wanted: a side that the user named.

    Raises:
        InputError: what is wanted does not fit, or nothing does.
    """
    fits = orders.side_within(free * part / COPIES)
    if wanted is None and fits >= SMALLEST:
        return min(fits, orders.side_within(most_megabytes * 1e6))
    if wanted is not None and SMALLEST <= wanted <= fits:
        return wanted
    if wanted is not None and wanted < SMALLEST:
        raise InputError(f"--dimension {wanted}: a side of at least {SMALLEST} is needed, or nothing is moved")
    needs = bytes_text(COPIES * orders.size(wanted or SMALLEST))
    raise InputError(
        f"--dimension {wanted or SMALLEST}: its tensors take {needs}, and {bytes_text(free * part)} may be "
        f"used ({part:.0%} of the free memory): "
        + (f"try --dimension {fits}" if fits >= SMALLEST else "free some memory")
    )
