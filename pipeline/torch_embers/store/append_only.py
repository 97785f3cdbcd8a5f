"""Files of answers beside the database that outlive it: lines are only added, whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
from typing import TYPE_CHECKING

from torch_embers.errors import StoreError, StoreFullError

if TYPE_CHECKING:
    from pathlib import Path

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def append(path: Path, data: bytes) -> None:
    """Add whole lines, on the disk when this returns; all of them, or none.

    Raises:
        StoreFullError: no room. StoreError: the file cannot be written.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _append(descriptor, data)
    except OSError as error:
        kind = StoreFullError if error.errno in _NO_ROOM else StoreError
        raise kind(f"{path}: {error.strerror}: the last answer was not kept, all before it were") from error
    finally:
        os.close(descriptor)


def _append(descriptor: int, data: bytes) -> None:
    """Write at the end; a line that a crash tore is closed first, and what did not get in whole is taken out."""
    size = os.fstat(descriptor).st_size
    torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    left = b"\n" + data if torn else data
    try:
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    except OSError:
        os.ftruncate(descriptor, size)
        raise
