"""The layouts that the hunt gives to arguments, gradients and destinations."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles.layouts import dense_strides, strides_of

ROOM = 64
"""Elements of memory on both sides of a destination in which a write outside would show."""
SENTINEL = 77
"""What destinations and the memory around them hold before the call."""
FORMS = (
    "transposed",
    "strided",
    "offset",
    "sliced",
    "reversed",
    "rolled",
    "swapped",
    "gapped",
    "restrided",
    "channels_last",
)
"""Layouts that can hold any values: the last two axes exchanged, every second element, an offset, rows with room behind
them, all axes in reverse order, the first axis innermost, the first two axes exchanged, room behind each entry of
the first axis, an odd stride where an axis has length one, channels_last."""
ARGUMENTS = (*FORMS, "expanded", "expanded_last", "constant", "overlapping", "lazy", "lazy_transposed")
SHARED = ("expanded", "expanded_last", "constant", "overlapping")
"""Layouts whose elements share memory, and so have other values."""
MIXED = ("transposed", "strided", "offset", "sliced")
"""Layouts that several tensors of one call are given in turn."""
LAZY = ("lazy", "lazy_transposed")
"""Layouts with the negative or the conjugate bit."""
REPEATED = ("expanded", "overlapping")
"""Layouts of destinations whose elements share memory: the result is undefined, what lies around must be kept."""
DESTINATIONS = (*FORMS, *LAZY, *REPEATED)
SIZED = ("resized", "resized_transposed")
"""Destinations of another size, in memory of their own: torch gives them the size of the result."""


def geometry(size: Sequence[int], layout: str) -> Optional[Tuple[Tuple[int, ...], int]]:
    """Strides and offset of a tensor in a layout that can hold any values; None where it has no such form."""
    axes = list(range(len(size)))
    dense = dense_strides(size)
    if layout == "transposed":
        return (strides_of(size, axes[:-2] + axes[-2:][::-1]), 0) if len(size) > 1 else None
    if layout == "reversed":
        return (strides_of(size, axes[::-1]), 0) if len(size) > 2 else None
    if layout == "rolled":
        return (strides_of(size, [*axes[1:], 0]), 0) if len(size) > 2 else None
    if layout == "swapped":
        return (strides_of(size, [1, 0, *axes[2:]]), 0) if len(size) > 2 else None
    if layout == "gapped":
        return ((2 * dense[0], *dense[1:]), 0) if len(size) > 1 else None
    if layout == "restrided":
        odd = [step if length != 1 else 1 if step != 1 else 7 for length, step in zip(size, dense)]
        return (tuple(odd), 0) if 1 in size else None
    if layout == "channels_last":
        return (strides_of(size, [0, *axes[2:], 1]), 0) if len(size) in (4, 5) else None
    if layout == "strided":
        return (strides_of(size, axes, 2), 0) if size else None
    if layout == "offset":
        return dense, 3
    if layout == "sliced":
        if not size:
            return None
        wider = [*size[:-1], size[-1] + 2]
        return dense_strides(wider), 1
    return None


def place(size: Sequence[int], dtype: Any, layout: str, device: Any = "cpu") -> Any:
    """A destination in watched memory that is filled with the sentinel; None where the layout does not apply."""
    if layout in SIZED:
        return _other_size(size, dtype, layout, device)
    if layout in LAZY:
        laid = place(size, dtype, "transposed" if layout == "lazy_transposed" else "offset", device)
        return None if laid is None else lazy(laid)
    form = repeated(size, layout) if layout in REPEATED else geometry(size, layout)
    if form is None:
        return None
    stride, offset = form
    reach = sum((length - 1) * step for length, step in zip(size, stride)) if 0 not in size else 0
    room = torch.full((2 * ROOM + offset + reach + 1,), SENTINEL, dtype=torch.int64).to(device=device, dtype=dtype)
    return room.as_strided(tuple(size), stride, ROOM + offset)


def repeated(size: Sequence[int], layout: str) -> Optional[Tuple[Tuple[int, ...], int]]:
    """Strides and offset of a tensor in which elements share memory; None where it has no such form."""
    axes = list(range(len(size)))
    if layout == "expanded":
        long = [axis for axis in axes if size[axis] > 1]
        if not long:
            return None
        inner = dense_strides([1 if axis == long[0] else length for axis, length in enumerate(size)])
        return tuple(0 if axis == long[0] else step for axis, step in enumerate(inner)), 0
    if len(size) < 2 or size[0] < 2 or 0 in size:
        return None
    return (1, *dense_strides(size[1:])), 0


def _other_size(size: Sequence[int], dtype: Any, layout: str, device: Any) -> Any:
    """No elements, or one more along each axis and the last two axes exchanged."""
    if layout == "resized":
        return torch.empty(0, dtype=dtype, device=device) if 0 not in size and size else None
    if len(size) < 2:
        return None
    wider = [length + 1 for length in (*size[:-2], size[-1], size[-2])]
    return torch.full(wider, SENTINEL, dtype=torch.int64).to(device=device, dtype=dtype).transpose(-1, -2)


def lazy(tensor: Any) -> Any:
    """The same memory read with the conjugate bit, or with the negative bit; None for whole numbers."""
    if tensor.is_complex():
        return tensor.conj()
    return torch._neg_view(tensor) if tensor.is_floating_point() else None  # noqa: SLF001


def lay(tensor: Any, layout: str) -> Any:
    """The tensor in another layout; None where it does not apply or changes nothing.

    Expanded and overlapping tensors have other values: memory that is shared holds one value.
    """
    if layout in ("expanded", "expanded_last"):
        axes = [axis for axis in range(tensor.dim()) if tensor.size(axis) > 1]
        if not axes or (layout == "expanded_last" and len(axes) == 1):
            return None
        return tensor.narrow(axes[0 if layout == "expanded" else -1], 0, 1).expand_as(tensor)
    if layout == "constant":
        return tensor.flatten()[0].expand_as(tensor) if tensor.dim() > 1 and tensor.numel() > 1 else None
    if layout == "overlapping":
        form = repeated(tensor.size(), layout)
        return None if form is None else tensor.contiguous().flatten().as_strided(tuple(tensor.size()), form[0])
    if layout in LAZY:
        if not (tensor.is_complex() or tensor.is_floating_point()):
            return None
        other = tensor.conj().resolve_conj() if tensor.is_complex() else -tensor
        turned = other if layout == "lazy" else lay(other, "transposed")
        return None if turned is None else lazy(turned)
    laid = place(tensor.shape, tensor.dtype, layout, tensor.device)
    if laid is None or (laid.is_contiguous() and not laid.storage_offset()):
        return None
    return laid.copy_(tensor)


def destination(tensor: Any, layout: str) -> Any:
    """A destination in watched memory that holds the values of a tensor; where memory is shared, the sentinel."""
    laid = place(tensor.shape, tensor.dtype, layout, tensor.device)
    return laid if laid is None or layout in REPEATED else laid.copy_(tensor)


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
