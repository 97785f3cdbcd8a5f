"""embers: mine PyTorch's issues and pull requests, link bugs to fixes and repros, and keep re-checking them.

The Python API::

    import torch_embers as embers

    db = embers.open("data/embers.duckdb")
    db.candidates()  # a pandas frame; also items, labels, links, cases, verdicts, statuses, dispositions
    db.sql("SELECT count(*) FROM items")
    embers.run_case("pt83149_bfloat16_sum_transposed")
    embers.classify(["nan in the backward of a transposed softmax"])
    embers.check_kernel(my_kernel, reference, make_inputs)  # docs/oracles-precision.md

Names in ``__all__`` are public; everything else may change between releases.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch_embers.version import __version__

if TYPE_CHECKING:
    from torch_embers.api import CaseRun, Database, EmbersError, classify, run_case
    from torch_embers.api import open_database as open  # noqa: A004 - as in tarfile and gzip
    from torch_embers.api.kernels import (
        CompiledOracle,
        DeviceOracle,
        PrecisionOracle,
        TimingOracle,
        check_kernel,
        plot_growth,
    )
    from torch_embers.api.watching import LayoutOracle

__all__ = [
    "CaseRun",
    "CompiledOracle",
    "Database",
    "DeviceOracle",
    "EmbersError",
    "LayoutOracle",
    "PrecisionOracle",
    "TimingOracle",
    "__version__",
    "check_kernel",
    "classify",
    "open",
    "plot_growth",
    "run_case",
]
_KERNELS = ("CompiledOracle", "DeviceOracle", "PrecisionOracle", "TimingOracle", "check_kernel", "plot_growth")
"""Names whose module imports torch."""


def __getattr__(name: str) -> Any:
    """Import the API when it is first used: commands do without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "LayoutOracle":  # needs torch, and nothing of what the database needs
        from torch_embers.api import watching

        return watching.LayoutOracle
    if name in _KERNELS:
        from torch_embers import packages

        packages.require("study", "checking a kernel needs", "torch")
        from torch_embers.api import kernels

        return getattr(kernels, name)
    from torch_embers import api

    return getattr(api, "open_database" if name == "open" else name)


class _Package(ModuleType):
    """Keeps ``classify`` the function: importing the package of that name would set it to the module."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
