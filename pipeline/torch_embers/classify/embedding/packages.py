"""The optional packages of classification, imported only where something needs them."""

from __future__ import annotations

import importlib.util
from typing import Any

from torch_embers import packages

INSTALL = "pip install 'torch-embers[classify]'"


def need(module: str) -> Any:
    """Import an optional package.

    Raises:
        MissingPackageError: it is not installed.
    """
    return packages.need(module, "embeddings need", "classify")


def installed(*modules: str) -> bool:
    """Whether all of them can be imported."""
    return all(importlib.util.find_spec(module) for module in modules)


def line(error: BaseException) -> str:
    """First line of what a package said, for a message of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
