"""Puts a site in place as a whole: written beside its place and renamed; only an earlier report is replaced."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "embers-report.json"
"""The file that shows that a folder holds a report."""


class Site:
    """A folder that is being written.

    Attributes:
        size: bytes of all files.
        files: how many.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.size = 0
        self.files = 0

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file below the folder."""
        body = content.encode("utf-8", "replace") if isinstance(content, str) else content
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
        self.size += len(body)
        self.files += 1


def check(folder: Path) -> Path:
    """Refuse what must not be replaced; return the folder without links.

    Raises:
        InputError: a file, the current folder or one above it, or a folder that holds something else than a report.
    """
    try:
        place = folder.resolve()
        if place.exists() and not place.is_dir():
            raise InputError(f"--out {folder}: this is a file, name a folder")
        if place == Path.cwd() or place in Path.cwd().parents:
            raise InputError(f"--out {folder}: the current folder cannot be replaced, name one inside it")
        if place.is_dir() and any(place.iterdir()) and not (place / MARK).is_file():
            raise InputError(f"--out {folder}: not empty and no earlier report, name another folder or empty it")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"--out {folder}: {error}") from error
    return place


@contextmanager
def replaced(place: Path) -> Iterator[Site]:
    """A site to be written; when the block ends it stands at ``place``, on any failure what was there stays.

    Args:
        place: what ``check`` returned.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
        try:
            made = scratch / "new"
            made.mkdir()
            yield Site(made)
            _swap(made, place, scratch / "old")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}; nothing was changed") from error


def _swap(made: Path, place: Path, old: Path) -> None:
    """Put ``made`` at ``place``, what was there at ``old``; put it back where the second step fails."""
    if place.exists():
        place.rename(old)
    try:
        made.rename(place)
    except BaseException:
        if old.exists():
            old.rename(place)
        raise
