"""DeviceOracle: the same function on the CPU and on an accelerator, each judged against fp64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import numerics
from torch_embers.oracles.dispatch import DispatchMode
from torch_embers.oracles.measure import Outputs, outputs_of
from torch_embers.oracles.pairs import CannotCompareError, PairOracle, differing, truth_of

if TYPE_CHECKING:
    from torch_embers.oracles.finding import Finding

DEVICES = ("cuda", "mps")


def present() -> Tuple[str, ...]:
    """Accelerators of this machine that this build can use."""
    mps = getattr(torch.backends, "mps", None)
    there = {"cuda": torch.cuda.is_available(), "mps": mps is not None and mps.is_available()}
    return tuple(name for name in DEVICES if there[name])


class DeviceOracle(PairOracle):
    """Compares results and gradients of a function on the CPU with those on an accelerator.

    Args:
        device: ``cuda`` or ``mps``; by default the one that is there.

    Raises:
        CannotCompareError: there is no such device; of ``check``, the function draws random numbers.
    """

    def __init__(self, device: Optional[str] = None) -> None:
        super().__init__()
        there = present()
        if device is None and not there:
            raise CannotCompareError("the device oracle needs cuda or mps; this machine and build have neither")
        self.device = device or there[0]
        if self.device.split(":")[0] not in there:
            raise CannotCompareError(
                "the device oracle cannot use %s here; available: %s" % (self.device, ", ".join(there) or "none")
            )

    def _compared(self, run: Callable[..., Any], inputs: Tuple[Any, ...], gradients: bool, name: str) -> List[Finding]:
        return compare_devices(run, inputs, self.device, gradients, name)


def compare_devices(
    run: Callable[..., Any], inputs: Tuple[Any, ...], device: str, gradients: bool, name: str
) -> List[Finding]:
    """Findings of one function on the CPU and on ``device``.

    Raises:
        CannotCompareError: the function draws random numbers.
    """

    def on(place: str, gradients: bool = gradients) -> Outputs:
        there = numerics.map_tensors(lambda x: moved_to(x, place) if isinstance(x, torch.Tensor) else x, list(inputs))
        return outputs_of(run, tuple(there), gradients)

    sides = (("cpu", on("cpu")), (device, on(device)))
    found = differing("device", name, truth_of(run, inputs, gradients), sides)
    if found:
        with _Draws() as noted:
            on("cpu", gradients=False)  # the slopes that a gradient starts from are drawn here
        if noted.seen:
            raise CannotCompareError("%s draws random numbers, and each device draws its own" % name)
    return found


class _Draws(DispatchMode):
    """Notes whether an operator that draws numbers reaches the dispatcher."""

    seen = False

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Look at an operator and run it."""
        self.seen = self.seen or "nondeterministic_seeded" in {tag.name for tag in getattr(func, "tags", ())}
        return func(*args, **(kwargs or {}))


def moved_to(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A copy on the device with the same sizes, strides and offset: ``to`` alone makes some layouts dense."""
    if tensor.layout is not torch.strided or not tensor.numel():
        return tensor.to(device)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    memory = tensor.detach().as_strided((reach,), (1,), tensor.storage_offset())
    there = torch.empty(tensor.storage_offset() + reach, dtype=tensor.dtype, device=device)
    there[tensor.storage_offset() :].copy_(memory)
    return there.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
