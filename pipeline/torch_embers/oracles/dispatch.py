"""The class that all dispatch modes derive from: torch's own, with a type for the checker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    class DispatchMode:
        """Stands for ``TorchDispatchMode``: torch is not read by the type checker."""

        def __enter__(self) -> Any:
            """Begin to see operators."""

        def __exit__(self, *error: object) -> None:
            """Stop to see operators."""

else:
    from torch.utils._python_dispatch import TorchDispatchMode as DispatchMode

__all__ = ["DispatchMode"]
