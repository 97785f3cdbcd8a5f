"""Classes that dispatch modes derive from: torch's own, with a type for the checker, and one that comes and goes."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, Optional

import torch
from torch.optim import optimizer as optimizers
from torch.utils import _python_dispatch as stack

if TYPE_CHECKING:

    class DispatchMode:
        """Stands for ``TorchDispatchMode``: torch is not read by the type checker."""

        def __enter__(self) -> Any:
            """Begin to see operators."""

        def __exit__(self, *error: object) -> None:
            """Stop to see operators."""

else:
    from torch.utils._python_dispatch import TorchDispatchMode as DispatchMode

__all__ = ["DispatchMode", "SampledMode", "is_own_call", "is_tracing", "own_calls"]

_BUSY = threading.local()


class SampledMode(DispatchMode):
    """A mode that is not on torch's stack all the time: there, each operator costs a call of Python.

    As soon as an optimizer has stepped, whole steps are watched (from the end of one step of an optimizer to the end
    of the next), one in ``every`` on average, at random; between them the mode is off the stack and costs nothing. It
    comes and goes at the end of an optimizer's step, and stays as it is where another mode lies above or came
    meanwhile. Before 2.0, and where no optimizer steps, it is there all the time.

    Args:
        every: watch one step in so many.

    Attributes:
        in_steps: whether whole steps are watched, so that each call that is seen is to be looked at.
    """

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every
        self.in_steps = False
        self.draw = random.Random(0)  # noqa: S311 - what is looked at; the user's generators are left alone
        self._hook: Optional[Any] = None
        self._left = self.draw.randint(1, 2 * every - 1) if every > 1 else 0
        self._thread, self._is_on, self._below = 0, False, 0

    def __enter__(self) -> Any:
        """Begin to see operators."""
        entered = super().__enter__()
        self._is_on, self._thread = True, threading.get_ident()
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if self.every > 1 and register is not None:
            self._hook = register(self._stepped)
        return entered

    def __exit__(self, *error: Any) -> None:
        """Stop to see operators."""
        if self._hook is not None:
            self._hook.remove()
            self._hook = None
        if self._is_on:
            self._is_on = False
            super().__exit__(*error)

    def _stepped(self, *_: Any) -> None:
        """An optimizer has stepped: come or go for the next step."""
        if threading.get_ident() != self._thread:
            return
        self.in_steps = True
        self._left -= 1
        wanted = self._left <= 0
        if wanted:
            self._left = self.draw.randint(1, 2 * self.every - 1)
        if self._is_on and not wanted and stack._get_current_dispatch_mode() is self:  # noqa: SLF001
            super().__exit__(None, None, None)
            self._is_on, self._below = False, stack._len_torch_dispatch_stack()  # noqa: SLF001
        elif not self._is_on and wanted and stack._len_torch_dispatch_stack() == self._below:  # noqa: SLF001
            super().__enter__()
            self._is_on = True


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
