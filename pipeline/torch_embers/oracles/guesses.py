"""Calls of operators of the dispatcher that no samples exist for: arguments that their schemas suggest.

PyTorch's database of samples describes functions. Fused steps of optimizers, operators on lists of tensors, in-place
forms, parts of other operators and much else have no entry. Their schemas name and type each argument, and most
operators accept something simple. So arguments are tried in a few shapes, and those that are accepted are samples.
"""

from __future__ import annotations

from itertools import islice
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch

from torch_embers.oracles.cells import GUESSED
from torch_embers.oracles.repeat import mapped

KEYS = ("CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
"""Dispatch keys, besides that of a device, under which an operator may run on strided tensors by itself."""
COMPOSITE = "CompositeImplicitAutograd"
OTHERS = {
    "QuantizedCPU": "for quantised tensors alone",
    "SparseCsrCPU": "for sparse tensors alone",
    "SparseCPU": "for sparse tensors alone",
    "NestedTensorCPU": "for nested tensors alone",
    "MkldnnCPU": "for tensors in the layout of oneDNN alone",
}
ELSEWHERE = ("CPU", "CUDA")
"""Dispatch keys of devices; an operator that has only another one's is left out."""
SHAPES: Tuple[Tuple[int, ...], ...] = ((4, 5), (6,), (4, 4), (2, 3, 4), (3, 4, 4), (2, 3, 6, 6), (2, 3, 4, 4, 4), ())
INTEGERS = ("index", "indices", "offset", "target", "idx", "bucket", "lengths", "input_ids", "src_idx", "crow", "col")
"""Beginnings or parts of names of arguments that hold whole numbers."""
TRUTHS = ("mask", "condition", "bool")
POSITIVE = ("var", "std", "scale", "max_exp_avg_sq", "exp_avg_sq", "state_sum", "invstd", "rstd", "total_weight")
AXES = ("dim", "axis", "dim0", "start_dim", "end_dim")
MOST = 3
"""Samples of one overload."""


class Sample(NamedTuple):
    """Arguments of one overload; the hunt's own samples have an input beside."""

    func: Any
    args: List[Any]
    kwargs: Dict[str, Any]


class RefusedError(Exception):
    """No argument of this type can be made."""


class GuessedOperator:
    """An operator of the dispatcher without samples, as an entry of a database.

    Args:
        name: of the operator without its overload.
        device: on which it is called.

    Attributes:
        reasons: why an overload is not called, and how many there are.
    """

    variant_test_name = ""
    supports_autograd = False
    supports_out = False

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.name, self.device = name, device
        self.dtypes = (torch.float32, torch.float64, torch.bfloat16, torch.complex64, torch.int64)
        self.reasons: Dict[str, int] = {}

    def overloads(self) -> List[Any]:
        """Those that can be called on the device, and do not write to arguments given by name."""
        packet = getattr(torch.ops.aten, self.name[len(GUESSED) :])
        found = []
        for overload in packet.overloads():
            form = getattr(packet, overload)
            why = not_called(form, self.device)
            if why:
                self.reasons[why] = self.reasons.get(why, 0) + 1
            else:
                found.append(form)
        return found

    def samples(self, dtype: Any) -> Iterator[Sample]:
        """Arguments that each overload accepts, at most ``MOST`` for each."""
        for form in self.overloads():
            found = islice((sample for shape in SHAPES for sample in accepted(form, shape, dtype, self.device)), MOST)
            number = 0
            for sample in found:
                number += 1
                yield sample
            if not number:
                why = "no simple arguments are accepted"
                self.reasons[why] = self.reasons.get(why, 0) + 1


def accepted(form: Any, shape: Sequence[int], dtype: Any, device: str) -> List[Sample]:
    """The arguments of a shape as a sample, where the overload accepts them."""
    try:
        args, kwargs = arguments(form, shape, dtype, device)
        form(*args, **kwargs)
    except Exception:  # noqa: BLE001 - a guess that is refused, in whatever way, is no sample
        return []
    return [Sample(form, *arguments(form, shape, dtype, device))]  # the call may have changed the first ones


def entries(known: Sequence[str], device: str = "cpu") -> Dict[str, GuessedOperator]:
    """All operators of the dispatcher but those with a name in PyTorch's database, and their in-place forms."""
    tell: Any = getattr(torch._C, "_dispatch_get_all_op_names", list)  # noqa: SLF001 - older releases lack it
    names: List[str] = tell()
    own = {part for name in known for part in (name.replace(".", "_"), name.rpartition(".")[2])}
    packets = {name[len("aten::") :].partition(".")[0] for name in names if name.startswith("aten::")}
    kept = (name for name in packets if name not in own and hasattr(torch.ops.aten, name))
    return {GUESSED + name: GuessedOperator(GUESSED + name, device) for name in sorted(kept)}


def not_called(form: Any, device: str = "cpu") -> str:
    """Why an overload is not called; empty where it is."""
    schema = form._schema  # noqa: SLF001 - the only place with an operator's arguments
    if any(arg.kwarg_only and arg.alias_info is not None and arg.alias_info.is_write for arg in schema.arguments):
        return "an out= form: called where the operator beside it is"
    if any(ret.alias_info is not None and not ret.alias_info.is_write for ret in schema.returns):
        return "a view"
    if not any("Tensor" in str(arg.type) for arg in schema.arguments):
        return "no tensor among its arguments"
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    try:
        own = (device.upper(), *KEYS)
        keys = [key for key in (*own, COMPOSITE, *OTHERS, *ELSEWHERE) if _has_kernel(name, key)]
    except RuntimeError:
        return "of TorchScript alone"
    if not keys:
        return "no kernel for this device"
    if keys[0] in own:
        return ""
    return (
        "made of other operators: seen by its parts"
        if keys[0] == COMPOSITE
        else OTHERS.get(keys[0], "for another device alone")
    )


def _has_kernel(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))  # noqa: SLF001


def arguments(form: Any, shape: Sequence[int], dtype: Any, device: str = "cpu") -> Tuple[List[Any], Dict[str, Any]]:
    """Arguments for an overload in which all tensors have one shape.

    Raises:
        RefusedError: an argument has a type of which nothing can be made.
    """
    generator = torch.Generator().manual_seed(7)
    args: List[Any] = []
    kwargs: Dict[str, Any] = {}
    for arg in form._schema.arguments:  # noqa: SLF001
        if arg.kwarg_only:
            if not arg.has_default_value():
                kwargs[arg.name] = guess(arg.name, str(arg.type), shape, dtype, generator)
        elif not arg.has_default_value():
            args.append(guess(arg.name, str(arg.type), shape, dtype, generator))
        else:
            args.append(arg.default_value)
    if device != "cpu":
        args, kwargs = mapped([args, kwargs], lambda tensor: tensor.to(device))
    return args, kwargs


def guess(name: str, kind: str, shape: Sequence[int], dtype: Any, generator: Any) -> Any:
    """A value for an argument, by its type and its name.

    Raises:
        RefusedError: nothing can be made of this type.
    """
    if kind in ("Tensor", "Optional[Tensor]"):
        return tensor(name, shape, dtype, generator)
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        if name == "indices":
            return [torch.zeros(2, dtype=torch.int64)]
        if name == "state_steps":
            return [torch.ones(()) for _ in range(2)]
        return [tensor(name, shape, dtype, generator) for _ in range(2)]
    if kind.startswith("Optional["):
        return None
    spatial = max(1, len(shape) - 2)
    if kind in ("List[int]", "List[SymInt]"):
        return integers(name, shape, spatial)
    plain = {
        "int": axis(name, shape),
        "SymInt": axis(name, shape),
        "float": 0.5,
        "bool": False,
        "number": 2 if dtype == torch.int64 else 0.5,
        "List[number]": [1, 2],
        "List[float]": [2.0] * spatial,
        "List[bool]": [True] * 3,
        "ScalarType": dtype,
    }
    if kind not in plain:
        raise RefusedError(kind)
    return plain[kind]


def axis(name: str, shape: Sequence[int]) -> int:
    """A whole number: an axis, or a small count."""
    if name in AXES:
        return 0
    if name == "dim1":
        return min(1, max(0, len(shape) - 1))
    return 0 if name in ("reduction", "start", "storage_offset", "mode", "interpolation_mode") else 1


def integers(name: str, shape: Sequence[int], spatial: int) -> List[int]:
    """A list of whole numbers: sizes, axes, or one number for each axis of a window."""
    if name in ("size", "sizes", "input_size", "input_sizes", "self_size"):
        return list(shape)
    if name in ("dim", "dims"):
        return [0]
    if name == "normalized_shape":
        return list(shape[-1:])
    if name in ("output_size", "kernel_size"):
        return [2] * spatial
    if name in ("padding", "output_padding"):
        return [0] * spatial
    if name in ("pad", "paddings"):
        return [1] * (2 * spatial)
    if name == "split_sizes":
        return [1, shape[0] - 1] if shape else [1]
    return [1] * spatial


def tensor(name: str, shape: Sequence[int], dtype: Any, generator: Any) -> Optional[Any]:
    """A tensor of a shape: whole numbers, truth values or numbers of the dtype, by the name of the argument."""
    if any(part in name for part in INTEGERS):
        return torch.zeros(tuple(shape), dtype=torch.int64)
    if any(part in name for part in TRUTHS):
        return torch.rand(tuple(shape), generator=generator) > 0.5
    if name in ("state_steps", "found_inf", "grad_scale"):
        return torch.ones(())
    drawn = torch.randn(tuple(shape), generator=generator, dtype=torch.float64)
    if any(part in name for part in POSITIVE):
        drawn = drawn.abs() + 0.5
    return (drawn * 3).to(dtype) if dtype == torch.int64 else drawn.to(dtype)
