"""Folders and files that a command makes as a whole: written beside their place, and renamed when they are complete."""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


SCRATCH = ".part"
"""How folders end that are not complete."""


def place_of(folder: Path, option: str) -> Path:
    """The folder without links, unless it must not be replaced.

    Args:
        folder: what a user named.
        option: by which option, for messages.

    Raises:
        InputError: a file, the current folder, or one above it.
        OSError: it cannot be looked at.
    """
    place = folder.resolve()
    if place.exists() and not place.is_dir():
        raise InputError(f"{option} {folder}: this is a file, name a folder")
    if place == Path.cwd() or place in Path.cwd().parents:
        raise InputError(f"{option} {folder}: the current folder cannot be replaced, name one inside it")
    return place


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):  # its folder may be a file
            draft.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


def is_alive(process: int) -> bool:
    """Whether a process of this machine lives that may still write what it began."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


@contextmanager
def replaced(place: Path) -> Iterator[Path]:
    """A folder to be filled; when the block ends it stands at ``place``, on any failure what was there stays.

    What processes left there that were killed is removed first.

    Raises:
        OSError: the folder cannot be written, or the disk is full.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    mend(place)
    scratch = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix=SCRATCH, dir=place.parent))
    held = os.open(scratch, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        made = scratch / "new"
        made.mkdir()
        yield made
        _swap(made, place, scratch / "old")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(held)


def mend(place: Path) -> None:
    """Finish what processes that were killed began in ``replaced``; one that lives holds a lock on its folder.

    One that was killed between its two renamings leaves nothing at ``place``: the new folder, which is complete by
    then, is put there. All else that they left is removed.

    Raises:
        OSError: the folder cannot be written.
    """
    left = sorted(place.parent.glob(f".{glob.escape(place.name)}.*{SCRATCH}"), key=lambda path: path.lstat().st_mtime)
    for scratch in left:
        with suppress(OSError):  # another process is at work there, or it is no folder
            held = os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not place.exists() and (scratch / "old").exists():
                    ready = scratch / "new"
                    (ready if ready.exists() else scratch / "old").rename(place)
                shutil.rmtree(scratch, ignore_errors=True)
            finally:
                os.close(held)


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
