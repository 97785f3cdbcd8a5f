"""Operators of the dispatcher that samples reach, the backward's too, and their forms that write to destinations.

Functions of the Python interface often copy their arguments or their destination before a kernel sees them. So the hunt
also records what reaches the dispatcher, and calls those operators with layouts and destinations of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch

from torch_embers.oracles import lattice, layouts
from torch_embers.oracles.dispatch import DispatchMode
from torch_embers.oracles.layout import inplace_of
from torch_embers.oracles.repeat import Plan, mapped, plan_of, tensors_in

if TYPE_CHECKING:
    from torch_embers.oracles.oracle_rules import OracleRules

Call = Tuple[Any, List[Any], Dict[str, Any]]
LARGEST = 20000
"""Elements of an argument above which a call is not kept."""


class Recorder(DispatchMode):
    """Keeps one call of each operator per number of axes of its arguments, with dense copies of them.

    Args:
        rules: what is left out.
        most: calls per operator.

    Attributes:
        calls: by name of the operator.
    """

    def __init__(self, rules: OracleRules, most: int = 4) -> None:
        super().__init__()
        self.rules, self.most = rules, most
        self.calls: Dict[str, List[Call]] = {}
        self._seen: Dict[str, List[Any]] = {}

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Optional[Dict[str, Any]] = None
    ) -> Any:
        """Run an operator and keep its call."""
        kwargs = kwargs or {}
        name = str(func)
        tensors = tensors_in([list(args), kwargs])
        form = (tuple(tensor.dim() for tensor in tensors), any(not tensor.numel() for tensor in tensors), len(kwargs))
        seen = self._seen.setdefault(name, [])
        if form not in seen and len(seen) < self.most and all(tensor.numel() <= LARGEST for tensor in tensors):
            seen.append(form)
            if is_varied(plan_of(func, self.rules)):
                copies = (mapped(list(args), layouts.twin), mapped(kwargs, layouts.twin))
                self.calls.setdefault(name, []).append((func, *copies))
        return func(*args, **kwargs)


def is_varied(plan: Plan) -> bool:
    """Whether dense copies say anything of an operator."""
    return not plan.view and (plan.skip is None or plan.skip.kind in ("hidden_state", "random"))


def in_place(func: Any) -> Any:
    """The overload that writes into its first argument, where it takes the same arguments; None without one."""
    form = inplace_of(func)
    if form is None:
        return None
    names, others = ([arg.name for arg in one._schema.arguments] for one in (func, form))  # noqa: SLF001
    return form if names == others else None


def into(func: Any, result: Any) -> Optional[Tuple[Any, List[str]]]:
    """The overload that writes what ``func`` gives into destinations, and their names."""
    packet = getattr(func, "overloadpacket", None) or getattr(func, "_overloadpacket", None)
    names = [arg.name for arg in func._schema.arguments]  # noqa: SLF001 - the only place with an operator's arguments
    for overload in packet.overloads() if packet is not None else ():
        form = getattr(packet, overload)
        arguments = form._schema.arguments  # noqa: SLF001
        written = [arg.name for arg in arguments if arg.alias_info is not None and arg.alias_info.is_write]
        others = [arg.name for arg in arguments if arg.name not in written]
        if written and others == names and len(written) == len(tensors_in([result])):
            return form, written
    return None


def destinations(result: Any, names: Sequence[str]) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """Destinations of the results in each layout, in watched memory."""
    tensors = tensors_in([result])
    for layout in (*lattice.DESTINATIONS, *lattice.SIZED):
        made = [lattice.place(tensor.shape, tensor.dtype, layout, tensor.device) for tensor in tensors]
        if any(one is not None for one in made):
            full = [torch.full_like(t, lattice.SENTINEL) if one is None else one for t, one in zip(tensors, made)]
            yield layout, dict(zip(names, full))
