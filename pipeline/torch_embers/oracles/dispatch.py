"""Classes that dispatch modes derive from: torch's own, with a type for the checker, and one that comes and goes."""

from __future__ import annotations

import pickle
import random
import sys
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

_BUSY = threading.local()


class SampledMode(DispatchMode):
    """A mode that is not on torch's stack all the time: there, each operator costs a call of Python.

    As soon as an optimizer has stepped, whole steps are watched (from the end of one step of an optimizer to the end
    of the next), one in ``every`` on average, at random; between them the mode is off the stack and costs nothing. It
    comes and goes at the end of an optimizer's step, and stays as it is where another mode lies above or came
    meanwhile. Before 2.0, and where no optimizer steps, it is there all the time. Entered again in its thread, it stays
    as it is until the outer block ends.

    Args:
        every: watch one step in so many.

    Attributes:
        supports_higher_order_operators: torch refuses them under a mode that does not say so.
        in_steps: whether whole steps are watched, so that each call that is seen is to be looked at.
    """

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Let torch compile under the mode (2.9 on): else ``torch.compile`` runs plain functions, then and later."""
        return True

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every = every
        self.in_steps = False
        self.draw = random.Random(0)  # noqa: S311 - what is looked at; the user's generators are left alone
        self._hook: Optional[Any] = None
        self._left = self.draw.randint(1, 2 * every - 1) if every > 1 else 0
        self._thread, self._is_on, self._below, self._blocks = 0, False, 0, 0

    def __enter__(self) -> Any:
        """Begin to see operators.

        Raises:
            RuntimeError: it watches another thread.
        """
        if self._blocks and self._thread != threading.get_ident():
            raise RuntimeError("this oracle watches another thread already: make one for each thread")
        self._blocks += 1
        if self._blocks > 1:
            return self
        entered = super().__enter__()
        self._is_on, self._thread = True, threading.get_ident()
        register = getattr(optimizers, "register_optimizer_step_post_hook", None)
        if self.every > 1 and register is not None:
            self._hook = register(self._stepped)
        return entered

    def __exit__(self, *error: Any) -> None:
        """Stop to see operators."""
        self._blocks -= 1
        if self._blocks:
            return
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


HIGHER_ORDER = "a higher-order operator: its parts are not seen"
"""Why a call of ``cond`` or ``flex_attention`` is not decided: torch hands them on whole, and they have no schema."""


def is_higher_order(func: Any) -> bool:
    """Whether a call is of an operator that takes functions."""
    return not hasattr(func, "_schema")


COMPUTING = ("aten", "prim", "prims")
"""Namespaces of torch whose operators say by tag or argument that they draw numbers."""


class Generators:
    """States of the default generators of Python, NumPy and torch on the CPU, as they are now."""

    def __init__(self) -> None:
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else numpy.random
        self._states = (random.getstate(), torch.get_rng_state(), self._numpy and self._numpy.get_state())

    def differ_from(self, other: Generators) -> bool:
        """Whether a number was drawn in between."""
        mine, theirs = self._states, other._states
        is_same = mine[0] == theirs[0] and torch.equal(mine[1], theirs[1])
        return not is_same or pickle.dumps(mine[2]) != pickle.dumps(theirs[2])  # NumPy's has an array in it

    def put_back(self) -> None:
        """Go on from here, as if nothing had been drawn since."""
        random.setstate(self._states[0])
        torch.set_rng_state(self._states[1])
        if self._numpy is not None and self._states[2] is not None:
            self._numpy.set_state(self._states[2])


def generators_of(func: Any) -> Optional[Generators]:
    """The states before or after a call of an operator that may draw without saying so; None for torch's own."""
    schema = getattr(func, "_schema", None)
    return None if schema is None or schema.name.partition("::")[0] in COMPUTING else Generators()


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
