"""Puts a site in place as a whole: written beside its place and renamed; only an earlier report is replaced."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_embers import folders
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARK = "embers-report.json"
"""The file that shows that a folder holds a report."""
ENTRIES = "entries"
"""Its key for the names of files and folders at the top of the site."""
OPTION = "--out"


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

    def write(self, name: str, content: str | bytes | Iterator[bytes]) -> None:
        """Write a file below the folder, as a whole or piece by piece."""
        body = content.encode("utf-8", "replace") if isinstance(content, str) else content
        path = self.folder / name
        if not path.parent.is_dir():  # to be told that it exists takes four times as long
            path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.writelines([body] if isinstance(body, bytes) else body)
            self.size += file.tell()
        self.files += 1


def check(folder: Path) -> Path:
    """Refuse what must not be replaced; return the folder without links.

    Raises:
        InputError: a file, the current folder or one above it, or a folder that holds something else than a report.
    """
    try:
        place = folders.place_of(folder, OPTION)
        held = {path.name for path in place.iterdir()} if place.is_dir() else set()
        if held and MARK not in held:
            raise InputError(f"{OPTION} {folder}: not empty and no earlier report, name another folder or empty it")
        if strange := sorted(held - _written(place)):
            raise InputError(f"{OPTION} {folder}: {strange[0]!r} is no part of the report there, move it away first")
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{OPTION} {folder}: {error}") from error
    return place


def _written(place: Path) -> set[str]:
    """What a report says that it has at its top, and the file that says so."""
    try:
        about = json.loads((place / MARK).read_bytes())
        return {MARK, *about[ENTRIES]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {MARK}


@contextmanager
def replaced(place: Path) -> Iterator[Site]:
    """A site to be written; when the block ends it stands at ``place``, on any failure what was there stays.

    Args:
        place: what ``check`` returned.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    try:
        with folders.replaced(place) as made:
            yield Site(made)
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror or error}; nothing was changed") from error
