"""The writer's lock: a file beside the database that names the writer, locked by the operating system.

The lock is ``flock``, so the kernel releases it when its holder dies in any way. The text in the file is only for the
message to other processes.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING

from torch_embers.errors import StoreBusyError, StoreError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def lock_path(database: Path) -> Path:
    """Where the lock of ``database`` lives."""
    return database.with_name(database.name + ".lock")


def holder(database: Path) -> str:
    """Who holds the lock, in words; a general phrase where the file cannot tell."""
    try:
        note = json.loads(lock_path(database).read_text(encoding="utf-8"))
        return f"`{note['purpose']}` (process {note['pid']} on {note['host']}, since {note['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


@contextmanager
def writer_lock(database: Path, purpose: str) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        StoreBusyError: somebody else holds it; the message names the holder.
        StoreError: the folder cannot be written.
    """
    path = lock_path(database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StoreError(f"cannot write beside the database: {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusyError(
                f"{database} is being written by {holder(database)}: wait until it is done, or stop it"
            ) from None
        note = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": now_utc()[:19]}
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(note).encode(), 0)
        yield
    finally:
        os.close(descriptor)
