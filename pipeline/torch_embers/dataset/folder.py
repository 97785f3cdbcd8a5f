"""Puts a dataset in place as a whole: written beside its place and renamed; only an earlier dataset is replaced."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.dataset import identity
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SUMS = "SHA256SUMS"
OPTION = "--dataset"


def check(folder: Path) -> Path:
    """Refuse what must not be replaced; return the folder without links.

    Raises:
        InputError: a file, the current folder, or a folder that holds anything but an earlier dataset.
    """
    try:
        place = folder.resolve()
        if place.exists() and not place.is_dir():
            raise InputError(f"{OPTION} {folder}: this is a file, name a folder")
        if place == Path.cwd() or place.parent == place:
            raise InputError(f"{OPTION} {folder}: the current folder cannot be replaced, name one inside it")
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
        place.parent.mkdir(parents=True, exist_ok=True)
        with _scratch(place) as scratch:
            made = scratch / "new"
            for name, body in files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body)
            _swap(made, place, scratch / "old")
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            size = sum(map(len, files.values())) / 1e6
            raise InputError(
                f"{place}: no room for {size:,.1f} MB; nothing was kept, free some disk and try again"
            ) from error
        raise InputError(f"{place} cannot be written: {_reason(error)}; nothing was changed") from error


@contextmanager
def _scratch(place: Path) -> Iterator[Path]:
    """A folder beside the place, on the same disk, that is gone afterwards."""
    scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent))
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


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


def _held(place: Path) -> set[str]:
    """Everything in a folder but its sub-folders, by path below it."""
    held = set()
    for root, folders, names in os.walk(place, onerror=_raise):
        here = Path(root)
        links = [name for name in folders if (here / name).is_symlink()]
        held |= {(here / name).relative_to(place).as_posix() for name in (*names, *links)}
        if not names and not folders and here != place:
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
