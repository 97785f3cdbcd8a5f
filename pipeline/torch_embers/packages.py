"""The check that the packages of an extra are installed, made once, before a command imports modules that need them."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_embers.errors import MissingPackageError

if TYPE_CHECKING:
    from collections.abc import Iterator

EXTRAS = {
    "classify": ("numpy", "onnxruntime", "tokenizers"),
    "train": ("scipy", "sklearn", "sentence_transformers", "torch"),
    "study": ("numpy", "scipy", "matplotlib"),
    "mcp": ("mcp",),
    "cluster": ("ray",),
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


def installed(extra: str) -> bool:
    """Whether all packages of an extra are there, without importing any."""
    return all(importlib.util.find_spec(package) is not None for package in EXTRAS[extra])


class _LeftOut:
    """A finder of modules before all others that refuses one package."""

    def __init__(self, package: str) -> None:
        self.package = package

    def find_spec(self, name: str, *_place: object) -> None:
        """Refuse the package, and leave all others to the finders behind this one."""
        if name == self.package:
            raise ModuleNotFoundError(f"{name} is left out here")


@contextmanager
def left_out(package: str) -> Iterator[None]:
    """While the block runs, the import of a package that is not imported yet fails, as if it were not installed."""
    finder = _LeftOut(package)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
