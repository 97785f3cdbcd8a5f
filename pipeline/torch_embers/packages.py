"""Packages of the extras: imported only where something needs them, so that every other command works without."""

from __future__ import annotations

import importlib
import importlib.util
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


EXTRAS = {
    "classify": (
        *("numpy", "scipy", "sklearn", "onnx", "onnxruntime", "tokenizers", "safetensors"),
        *("huggingface_hub", "sentence_transformers", "torch", "transformers"),
    ),
    "study": ("numpy", "scipy", "matplotlib"),
}
"""Packages whose presence shows that an extra is installed."""


def require(extra: str, who: str, *more: str) -> None:
    """Check, without importing anything, that an extra is installed.

    Args:
        extra: its name in pyproject.toml.
        who: the beginning of the message, as ``classification needs``.
        more: further packages of the extra that are needed.

    Raises:
        MissingPackageError: a package of it is missing; the message says how to install it.
    """
    for package in (*EXTRAS[extra], *more):
        if importlib.util.find_spec(package) is None:
            raise MissingPackageError(f"{who} {package}: pip install 'torch-embers[{extra}]'")
