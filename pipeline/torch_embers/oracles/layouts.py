"""How tensors lie in memory: their layout in one word, dense copies, and watched memory around destinations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, Sequence, Tuple

import torch

PLAIN = (torch.Tensor, torch.nn.Parameter)
"""Subclasses have rules of their own; only these are looked at."""


def is_plain(value: Any) -> bool:
    """Whether a value is an ordinary strided tensor with memory of its own kind."""
    if type(value) not in PLAIN or value.layout != torch.strided or value.device.type == "meta":
        return False
    return not (value.is_quantized or value.is_nested or getattr(value, "is_mkldnn", False))


def is_sparse(value: Any) -> bool:
    """Whether a value is an ordinary sparse tensor in coordinate form: positions and values are dense tensors."""
    if type(value) not in PLAIN or value.layout != torch.sparse_coo or value.is_quantized:
        return False
    return bool(value.device.type != "meta")


def parts(sparse: Any) -> List[Any]:
    """Positions and values of a sparse tensor as it holds them, without a history."""
    whole = sparse.detach()
    return [whole._indices(), whole._values()]  # noqa: SLF001 - the public names refuse what is not coalesced


def rebuilt(sparse: Any, indices: Any, values: Any) -> Any:
    """A sparse tensor of the same shape with other positions and values."""
    size = tuple(sparse.shape)
    made = torch.sparse_coo_tensor(indices, values, size, dtype=values.dtype, device=values.device)
    return made._coalesced_(sparse.is_coalesced())


def is_dense(tensor: Any) -> bool:
    """Whether elements lie one behind the other from the beginning of the memory, with the strides that follow.

    An axis of length one may have any stride, and kernels have read them: such a tensor is not taken for dense.
    """
    if tensor.storage_offset() or not tensor.is_contiguous() or tensor.is_conj() or tensor.is_neg():
        return False
    return 1 not in tensor.shape or tuple(tensor.stride()) == dense_strides(tensor.size())


def dense_strides(size: Sequence[int]) -> Tuple[int, ...]:
    """Strides of a dense tensor."""
    return strides_of(size, range(len(size)))


def strides_of(size: Sequence[int], order: Sequence[int], step: int = 1) -> Tuple[int, ...]:
    """Strides for axes that follow each other in memory in this order, the outermost first, from one of ``step`` on."""
    strides, room = [0] * len(size), step
    for axis in reversed(order):
        strides[axis] = room
        room *= max(1, size[axis])
    return tuple(strides)


def overlaps_itself(tensor: Any) -> bool:
    """Whether two elements may share memory: more places than the stride of the next axis leaves room for."""
    axes = sorted((stride, size) for size, stride in zip(tensor.size(), tensor.stride()) if size > 1)
    reach = 0
    for stride, size in axes:
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def kind(tensor: Any) -> str:
    """The layout in one word: dense, offset, restrided, expanded, overlapping, channels_last, transposed or strided."""
    if tensor.is_conj() or tensor.is_neg():
        return "conjugated" if tensor.is_conj() else "negated"
    if tensor.is_contiguous():
        return "offset" if tensor.storage_offset() else "dense" if is_dense(tensor) else "restrided"
    if any(stride == 0 and size > 1 for size, stride in zip(tensor.size(), tensor.stride())):
        return "expanded"
    if overlaps_itself(tensor):
        return "overlapping"
    if tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last):
        return "channels_last"
    if tensor.dim() == 5 and tensor.is_contiguous(memory_format=torch.channels_last_3d):
        return "channels_last"
    order = sorted(range(tensor.dim()), key=lambda axis: (-tensor.stride(axis), -tensor.size(axis)))
    return "transposed" if tensor.permute(order).is_contiguous() else "strided"


def describe(tensor: Any) -> str:
    """Layout, dtype and shape, and the strides where they are not those of a dense tensor."""
    shown = "%s %s%s" % (kind(tensor), str(tensor.dtype).replace("torch.", ""), list(tensor.shape))
    if is_dense(tensor):
        return shown
    return "%s, strides %s, offset %d" % (shown, list(tensor.stride()), tensor.storage_offset())


def twin(tensor: Any) -> Any:
    """A dense copy with the same values in memory of its own."""
    copy = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    if type(tensor) is torch.nn.Parameter:
        return copy.requires_grad_(tensor.requires_grad)
    return copy


def copy_as_laid(tensor: Any) -> Any:
    """A copy with the same strides in memory of its own."""
    laid = torch.empty_strided(tuple(tensor.size()), tuple(tensor.stride()), dtype=tensor.dtype, device=tensor.device)
    return laid.copy_(tensor.detach())


def storage_of(tensor: Any) -> Any:
    """The untyped storage behind a tensor; before 2.0 it has another name."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()


def memory(tensor: Any) -> Any:
    """The whole storage behind a tensor as bytes, shared with it."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage_of(tensor))


def address(tensor: Any) -> int:
    """Where the storage begins: the same number for tensors that share memory."""
    return int(storage_of(tensor).data_ptr())


def view_in(bytes_: Any, like: Any) -> Any:
    """The tensor in other memory that lies there as ``like`` lies in its own."""
    empty = torch.empty(0, dtype=like.dtype, device=like.device)
    return empty.set_(storage_of(bytes_), like.storage_offset(), tuple(like.size()), tuple(like.stride()))


def _keep(wanted: Any, shared: Any, region: Any) -> None:
    """Copy the elements that a region covers, also where several of them share memory."""
    if not overlaps_itself(region):
        view_in(wanted, region).copy_(view_in(shared, region))
        return
    empty = torch.empty(0, dtype=region.dtype, device=region.device)
    to, source = (empty.clone().set_(storage_of(bytes_)) for bytes_ in (wanted, shared))
    places = torch.arange(len(to), device=region.device)
    places = places.as_strided(tuple(region.size()), tuple(region.stride()), region.storage_offset()).flatten()
    to[places] = source[places]


@dataclass
class Watch:
    """The memory behind tensors that a call writes to, as it was before.

    Attributes:
        tensors: those that share the memory.
        regions: the same memory as each of them covers it before the call: one may be resized or get other memory.
        shared: all bytes of the memory, shared with it.
        before: a copy of them.
    """

    tensors: List[Any]
    regions: List[Any]
    shared: Any
    before: Any

    def outside(self) -> List[int]:
        """Positions of bytes that changed though none of the tensors covered them; at most 16 are told."""
        wanted = self.before.clone()
        for region in self.regions:
            _keep(wanted, self.shared, region)
        changed = self.shared[: len(wanted)] != wanted
        return [int(place) for place in changed.nonzero().flatten()[:16]]


def watch(tensors: Sequence[Any], largest: int) -> List[Watch]:
    """Watch the memory behind the tensors that a call will write to.

    Args:
        tensors: destinations; those that cover all of their memory have nothing around them.
        largest: bytes of memory above which it is not copied.
    """
    groups: Dict[int, List[Any]] = {}
    for tensor in tensors:
        groups.setdefault(address(tensor), []).append(tensor)
    watches = []
    for group in groups.values():
        whole = memory(group[0])
        covered = max(tensor.numel() * tensor.element_size() for tensor in group)
        if covered < whole.numel() <= largest:
            watches.append(Watch(group, [tensor.detach() for tensor in group], whole, whole.clone()))
    return watches


def covers_memory(tensor: Any) -> bool:
    """Whether a tensor covers all bytes of the memory behind it."""
    return bool(tensor.numel() * tensor.element_size() >= storage_of(tensor).nbytes())


def bounds(tensor: Any) -> Tuple[int, int]:
    """First and last element of the memory that a tensor covers, counted from the beginning of its storage."""
    first = tensor.storage_offset()
    if not tensor.numel():
        return first, first - 1
    return first, first + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))


def share_memory(one: Any, other: Any) -> bool:
    """Whether two tensors may share an element: the same storage, and ranges that meet."""
    if address(one) != address(other) or not one.numel() or not other.numel():
        return False
    first, second = bounds(one), bounds(other)
    width, other_width = one.element_size(), other.element_size()
    return bool(first[0] * width < (second[1] + 1) * other_width and second[0] * other_width < (first[1] + 1) * width)
