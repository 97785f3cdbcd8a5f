"""Packages of the extras: imported only where something needs them, so that every other command works without."""

from __future__ import annotations

import importlib
from typing import Any

from torch_embers.errors import MissingPackageError


def need(module: str, who: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: its name.
        who: the beginning of the message, as ``pictures need``.
        extra: the extra that brings it.

    Raises:
        MissingPackageError: it is not installed; the message says how to.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"{who} {error.name or module}: pip install 'torch-embers[{extra}]'") from error
