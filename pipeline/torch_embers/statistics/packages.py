"""Packages that only the statistics need: asked for when they are used, so that the rest works without them."""

from __future__ import annotations

from typing import Any

from torch_embers import packages


def need(module: str) -> Any:
    """Import a module of the extra ``study``.

    Raises:
        MissingPackageError: it is not installed.
    """
    return packages.need(module, "the study's statistics need", "study")
