"""The class that all dispatch modes derive from: torch's own, with a type for the checker."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator

import torch

if TYPE_CHECKING:

    class DispatchMode:
        """Stands for ``TorchDispatchMode``: torch is not read by the type checker."""

        def __enter__(self) -> Any:
            """Begin to see operators."""

        def __exit__(self, *error: object) -> None:
            """Stop to see operators."""

else:
    from torch.utils._python_dispatch import TorchDispatchMode as DispatchMode

__all__ = ["DispatchMode", "is_own_call", "is_tracing", "own_calls"]

_BUSY = threading.local()


@contextmanager
def own_calls() -> Iterator[None]:
    """Calls of this block are an oracle's own, as its reference: other oracles leave them alone."""
    before, _BUSY.own = is_own_call(), True
    try:
        yield
    finally:
        _BUSY.own = before


def is_own_call() -> bool:
    """Whether an oracle makes the present call for itself."""
    return getattr(_BUSY, "own", False)


_KEYS = getattr(torch._C, "_TorchDispatchModeKey", None)  # noqa: SLF001 - torch has no public name for it


def is_tracing() -> bool:
    """Whether calls are recorded (make_fx, export, compilers) or made without values (FakeTensorMode).

    Such modes lie below all others: what an oracle computes then would go into the graph. Before 2.2 they are known by
    the tensors alone.
    """
    if _KEYS is None:
        return False
    keys = (_KEYS.PROXY, _KEYS.FAKE, _KEYS.FUNCTIONAL)
    return any(torch._C._get_dispatch_mode(key) is not None for key in keys)  # noqa: SLF001
