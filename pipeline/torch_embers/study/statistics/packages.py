"""Packages that only the statistics need: asked for when they are used, so that the rest works without them."""

from __future__ import annotations

import importlib
from typing import Any

from torch_embers.errors import MissingPackageError


def need(module: str) -> Any:
    """Import a module of the extra ``study``.

    Raises:
        MissingPackageError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(
            f"the study's statistics need {error.name or module}: pip install 'torch-embers[study]'"
        ) from error
