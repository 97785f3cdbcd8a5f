"""Puts a dataset in place as a whole: written beside its place and renamed; only an earlier dataset is replaced."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from torch_embers import folders
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUMS, VERSION = "SHA256SUMS", "VERSION"
MARK = b"embers dataset"
"""First words of VERSION; by them a folder is known as a dataset."""
OPTION = "--dataset"


def check(folder: Path) -> Path:
    """Refuse what must not be replaced; return the folder without links.

    Raises:
        InputError: a file, the current folder, one above it, or a folder that holds anything but an earlier dataset.
    """
    try:
        place = folders.place_of(folder, OPTION)
        held, written = (_held(place), _written(place)) if place.is_dir() else (set(), None)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{OPTION} {folder}: {_reason(error)}") from error
    if held and written is None:
        raise InputError(f"{OPTION} {folder}: not empty and no earlier dataset, name another folder or empty it")
    if strange := sorted(held - (written or set())):
        raise InputError(f"{OPTION} {folder}: {strange[0]!r} is no part of the dataset there, move it away first")
    return place


def write(place: Path, files: Mapping[str, bytes]) -> None:
    """Write all files and put them at ``place``; on any failure nothing of them is left and what was there stays.

    Args:
        place: what ``check`` returned.
        files: content by path below the folder.

    Raises:
        InputError: the folder cannot be written, or the disk is full.
    """
    try:
        with folders.replaced(place) as made:
            for name, body in files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            size = sum(map(len, files.values())) / 1e6
            raise InputError(
                f"{place}: no room for {size:,.1f} MB; nothing was kept, free some disk and try again"
            ) from error
        raise InputError(f"{place} cannot be written: {_reason(error)}; nothing was changed") from error


def _held(place: Path) -> set[str]:
    """Everything in a folder but sub-folders that hold something, by path below it; links are not followed."""
    found = (path for path in place.rglob("*") if path.is_symlink() or not path.is_dir() or not any(path.iterdir()))
    return {path.relative_to(place).as_posix() for path in found}


def _written(place: Path) -> set[str] | None:
    """What the checksums of a dataset name, and they themselves; None where no dataset is."""
    version, sums = place / VERSION, place / SUMS
    if not version.is_file() or not version.read_bytes().startswith(MARK):
        return None
    lines = sums.read_text(encoding="utf-8", errors="replace").splitlines() if sums.is_file() else []
    return {SUMS, VERSION, *(line.partition("  ")[2] for line in lines)}


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
