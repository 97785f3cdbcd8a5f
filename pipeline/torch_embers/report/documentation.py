"""The documentation as pages (`make site`), taken over into the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FOLDER = "docs"
"""Where it lies in the site."""
START = "index.html"
LARGEST = 200_000_000
"""Bytes of the whole: a folder beyond that is no documentation."""


def files(folder: Path) -> Sequence[tuple[str, Path]]:
    """Its files with their names below the folder, in order; links are left out.

    Raises:
        InputError: no documentation in the folder, or it cannot be read.
    """
    try:
        if not (folder / START).is_file():
            raise InputError(f"--docs {folder}: no {START} there; `make site` writes the documentation to build/docs")
        found = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
        size = sum(path.stat().st_size for path in found)
    except OSError as error:
        raise InputError(f"--docs {folder}: {error.strerror or error}") from error
    if size > LARGEST:
        raise InputError(f"--docs {folder}: {size / 1e6:,.0f} MB, more than a documentation has; name another folder")
    return [(f"{FOLDER}/{path.relative_to(folder).as_posix()}", path) for path in found]
