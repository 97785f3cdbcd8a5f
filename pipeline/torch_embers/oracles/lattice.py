"""The layouts that the hunt gives to arguments, gradients and destinations."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import layouts

ROOM = 64
"""Elements of memory on both sides of a destination in which a write outside would show."""
SENTINEL = 77
"""What destinations and the memory around them hold before the call."""
ARGUMENTS = (
    "transposed",
    "strided",
    "offset",
    "sliced",
    "reversed",
    "channels_last",
    "expanded",
    "overlapping",
    "lazy",
)
SHARED = ("expanded", "overlapping")
"""Layouts whose elements share memory, and so have other values."""
MIXED = ("transposed", "strided", "offset", "sliced")
"""Layouts that several tensors of one call are given in turn."""
DESTINATIONS = ("transposed", "strided", "offset", "sliced", "reversed", "channels_last")


def geometry(size: Sequence[int], layout: str) -> Optional[Tuple[Tuple[int, ...], int]]:
    """Strides and offset of a tensor in a layout that can hold any values; None where it has no such form."""
    axes = list(range(len(size)))
    if layout == "transposed":
        return (_strides(size, axes[:-2] + axes[-2:][::-1], 1), 0) if len(size) > 1 else None
    if layout == "reversed":
        return (_strides(size, axes[::-1], 1), 0) if len(size) > 2 else None
    if layout == "channels_last":
        return (_strides(size, [0, *axes[2:], 1], 1), 0) if len(size) in (4, 5) else None
    if layout == "strided":
        return (_strides(size, axes, 2), 0) if size else None
    if layout == "offset":
        return _strides(size, axes, 1), 3
    if layout == "sliced":
        if not size:
            return None
        wider = [*size[:-1], size[-1] + 2]
        return _strides(wider, axes, 1), 1
    return None


def _strides(size: Sequence[int], order: Sequence[int], step: int) -> Tuple[int, ...]:
    """Strides for axes that follow each other in memory in this order, the outermost first."""
    strides, room = [0] * len(size), step
    for axis in reversed(order):
        strides[axis] = room
        room *= max(1, size[axis])
    return tuple(strides)


def place(size: Sequence[int], dtype: Any, layout: str, device: Any = "cpu") -> Any:
    """A destination in watched memory that is filled with the sentinel; None where the layout does not apply."""
    form = geometry(size, layout)
    if form is None:
        return None
    stride, offset = form
    reach = sum((length - 1) * step for length, step in zip(size, stride)) if 0 not in size else 0
    room = torch.full((2 * ROOM + offset + reach + 1,), SENTINEL, dtype=torch.int64).to(device=device, dtype=dtype)
    return room.as_strided(tuple(size), stride, ROOM + offset)


def lay(tensor: Any, layout: str) -> Any:
    """The tensor in another layout; None where it does not apply or changes nothing.

    Expanded and overlapping tensors have other values: memory that is shared holds one value.
    """
    if layout == "expanded":
        axis = next((axis for axis in range(tensor.dim()) if tensor.size(axis) > 1), None)
        return None if axis is None else tensor.narrow(axis, 0, 1).expand_as(tensor)
    if layout == "overlapping":
        if tensor.dim() < 2 or tensor.size(0) < 2 or not tensor.numel():
            return None
        flat = tensor.contiguous().flatten()
        return flat.as_strided(tuple(tensor.size()), (1, *_strides(tensor.shape[1:], range(tensor.dim() - 1), 1)))
    if layout == "lazy":
        if tensor.is_complex():
            return tensor.conj().resolve_conj().conj()
        return torch._neg_view(-tensor) if tensor.is_floating_point() else None  # noqa: SLF001
    laid = place(tensor.shape, tensor.dtype, layout, tensor.device)
    if laid is None or (laid.is_contiguous() and not laid.storage_offset()):
        return None
    return laid.copy_(tensor)


def variations(tensors: Sequence[Any]) -> Iterator[Tuple[str, str, List[Any]]]:
    """Each layout given to one tensor alone, to all, then mixed ones: which tensor, the layout, and the tensors."""
    for layout in ARGUMENTS:
        changed = [lay(tensor, layout) for tensor in tensors]
        own = [number for number, laid in enumerate(changed) if laid is not None]
        for number in own:
            yield str(number), layout, [changed[at] if at == number else t for at, t in enumerate(tensors)]
        if len(own) > 1:
            yield "all", layout, [tensor if laid is None else laid for tensor, laid in zip(tensors, changed)]
    mixed = [lay(tensor, MIXED[at % len(MIXED)]) for at, tensor in enumerate(tensors)]
    if sum(laid is not None for laid in mixed) > 1:
        yield "all", "mixed", [tensor if laid is None else laid for tensor, laid in zip(tensors, mixed)]


def dense(tensor: Any) -> Any:
    """The tensor in dense memory of its own."""
    return layouts.twin(tensor)
