"""Devices to measure on: which there are, and a clock that waits for their work to be done."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

KNOWN = ("cpu", "cuda", "mps")


def _at_once() -> None:
    """The CPU has done its work when a call returns."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device and how to wait for it."""

    name: str
    wait: Callable[[], None] = _at_once

    def now(self) -> float:
        """Seconds on a steady clock, after everything asked of the device is done."""
        self.wait()
        return perf_counter()


def rounds(most: int, least: int, seconds: float) -> Iterator[int]:
    """Numbers from 0: ``most`` of them, or fewer, but ``least`` at least, once so many seconds have passed."""
    start = perf_counter()
    for number in range(most):
        if number >= least and perf_counter() - start > seconds:
            return
        yield number


def present(torch: Any) -> tuple[str, ...]:
    """Names of the devices that this torch can use here, the CPU first."""
    mps = getattr(getattr(torch, "backends", None), "mps", None)
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": mps is not None and mps.is_available()}
    return tuple(name for name in KNOWN if there[name])


def choose(torch: Any, wanted: Sequence[str] | None) -> tuple[Device, ...]:
    """The devices to measure on; all that are present where none is named.

    Raises:
        InputError: a device is unknown or not present.
    """
    there = present(torch)
    for name in wanted or ():
        if name not in there:
            known = "is not usable here" if name in KNOWN else "is no device"
            raise InputError(f"--device {name!r} {known}: this torch can use {', '.join(there)}")
    return tuple(
        Device(name) if name == "cpu" else Device(name, getattr(torch, name).synchronize)
        for name in dict.fromkeys(wanted or there)
    )


def free_bytes(torch: Any, device: str, host: int) -> int:
    """Memory that can still be had on a device, in bytes; ``host`` is that of the machine itself."""
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    if device == "mps" and hasattr(torch.mps, "recommended_max_memory"):
        return min(host, int(torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()))
    return host


@contextmanager
def threads(torch: Any, count: int) -> Iterator[None]:
    """Let torch use so many threads within an operation, and as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
