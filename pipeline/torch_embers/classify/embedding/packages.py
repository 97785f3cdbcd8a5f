"""The optional packages of classification, imported only where something needs them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from torch_embers.errors import InputError

INSTALL = "pip install 'torch-embers[classify]'"


def need(module: str) -> Any:
    """Import an optional package.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(f"embeddings need {error.name or module}: {INSTALL}") from error


def installed(*modules: str) -> bool:
    """Whether all of them can be imported."""
    return all(importlib.util.find_spec(module) for module in modules)


def line(error: BaseException) -> str:
    """First line of what a package said, for a message of ours."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
