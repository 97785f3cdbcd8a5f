"""Puts a dataset in place as a whole: written beside its place and renamed; only an earlier dataset is replaced."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers import folders
from torch_embers.dataset import identity
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

SUMS = "SHA256SUMS"
OPTION = "--dataset"


def check(folder: Path) -> Path:
    """Refuse what must not be replaced; return the folder without links.

    Raises:
        InputError: a file, the current folder, one above it, or a folder that holds anything but an earlier dataset.
    """
    try:
        place = folders.place_of(folder, OPTION)
        held = _held(place) if place.is_dir() else set()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{OPTION} {folder}: {_reason(error)}") from error
    if held and not _is_dataset(place):
        raise InputError(f"{OPTION} {folder}: not empty and no earlier dataset, name another folder or empty it")
    if strange := sorted(held - _written(place)):
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
    """Everything in a folder but its sub-folders, by path below it."""
    held = set()
    for root, below, names in os.walk(place, onerror=_raise):
        here = Path(root)
        links = [name for name in below if (here / name).is_symlink()]
        held |= {(here / name).relative_to(place).as_posix() for name in (*names, *links)}
        if not names and not below and here != place:
            held.add(here.relative_to(place).as_posix())
    return held


def _raise(error: OSError) -> None:
    raise error


def _is_dataset(place: Path) -> bool:
    try:
        head = (place / identity.FILE).read_bytes()[: len(identity.MARK)]
    except OSError:
        return False
    return head == identity.MARK.encode()


def _written(place: Path) -> set[str]:
    """What the checksums of a dataset name, and they themselves."""
    try:
        lines = (place / SUMS).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return {SUMS, identity.FILE, *(line.partition("  ")[2] for line in lines)}


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
