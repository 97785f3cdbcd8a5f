"""Locks beside the database: who may write, whose turn it is to open the file, and who has it now.

Both locks are ``flock``, so the kernel releases them when their holder dies in any way. The text in the writer's file
is only for the message to other processes. The second file has no text: a writer that wants to open the database holds
it, and readers look there before they open the database, so that no number of short readers keeps a writer out.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import stat
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.errors import StoreBusyError, StoreError, StoreFullError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

COMMAND_SHOWN = 100
"""Characters of a command line that a message shows."""
YIELD = 4.0
"""Seconds for which a reader lets a waiting writer go first. After that the writer waits for somebody who keeps the
file open, and one reader more makes no difference."""
PAUSE = 0.005
NOTE_PATIENCE = 1.0
"""Seconds that who has just taken the lock gets to write its note."""
UNNAMED = "another process"
NOTE_LENGTH = 10_000
"""Characters of a lock that are read for a note."""
LOG_SUFFIXES = (".wal", ".wal.checkpoint", ".wal.recovery")
"""Endings of files in which DuckDB keeps what is not in the database yet."""


def lock_path(database: Path) -> Path:
    """Where the lock of ``database`` lives."""
    return database.with_name(database.name + ".lock")


def turn_path(database: Path) -> Path:
    """Where a writer that waits for ``database`` is seen."""
    return database.with_name(database.name + ".turn")


def open_regular(path: Path, flags: int) -> int:
    """Open a file beside the database, which may lie in a folder where others write; return its descriptor.

    Raises:
        StoreError: it is a link, has a second name, or is no regular file; nothing behind it was touched.
        OSError
    """
    refused = StoreError(f"{path} is a link or no regular file: only a file of embers may have this name, move it away")
    try:
        # a FIFO without another end, or a device, would keep who opens it waiting
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise refused from error
        raise
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(descriptor)
        raise refused
    return descriptor


def require_regular(database: Path) -> None:
    """Refuse what DuckDB would follow, overwrite or wait for: it opens by name. Only the database may be a link.

    Raises:
        StoreError
    """
    logs = [database.with_name(database.name + suffix) for suffix in LOG_SUFFIXES]
    for path in (database, *logs):
        try:
            found = path.stat(follow_symlinks=path == database)
        except OSError:
            odd = os.path.lexists(path)  # a link to nothing
        else:
            odd = not stat.S_ISREG(found.st_mode) or (path != database and found.st_nlink > 1)
        if odd:
            raise StoreError(f"{path} is a link or no regular file: move it away, or name another --database")


def _note(database: Path) -> dict[str, Any]:
    """What the last holder of the lock wrote; empty where that is no note."""
    try:
        descriptor = open_regular(lock_path(database), os.O_RDONLY)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            note = json.loads(file.read(NOTE_LENGTH))
    except (OSError, ValueError, RecursionError, StoreError):
        return {}
    whole = isinstance(note, dict) and note.keys() >= {"purpose", "host", "since"} and isinstance(note.get("pid"), int)
    return note if whole else {}


def holder(database: Path) -> str:
    """Who holds the lock, in words; a general phrase where the file cannot tell."""
    return _in_words(_note(database))


def _in_words(note: Mapping[str, Any]) -> str:
    if not note:
        return UNNAMED
    return f"`{note['purpose']}` (process {note['pid']} on {note['host']}, since {note['since']})"


def _present_holder(database: Path) -> str:
    """Who holds the lock, in words: the note of one that was killed stays until the next one has written its own."""
    deadline = time.monotonic() + NOTE_PATIENCE
    while time.monotonic() < deadline:
        note = _note(database)  # read once: the next holder may be writing its own
        if note and not _left_by_the_dead(note):
            return _in_words(note)
        time.sleep(PAUSE)
    return UNNAMED


def _left_by_the_dead(note: Mapping[str, Any]) -> bool:
    if note["host"] != socket.gethostname():
        return False
    try:
        os.kill(note["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # not ours to see
        pass
    return False


def process(database: Path, pid: int, program: str) -> str:
    """A process that has the database open, in words: the writer by its note, any other by its command line."""
    if _note(database).get("pid") == pid:
        return holder(database)
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        program = b" ".join(words).decode("utf-8", "replace") or program
    except OSError:  # no Linux, or not ours to see
        pass
    return f"process {pid} (`{' '.join(program.split())[:COMMAND_SHOWN]}`)"


@contextmanager
def writer_lock(database: Path, purpose: str) -> Iterator[None]:
    """Hold the lock while the block runs.

    Raises:
        StoreBusyError: somebody else holds it; the message names the holder.
        StoreError: the folder cannot be written, the disk is full, or the lock is no file of its own.
    """
    path = lock_path(database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreError(f"cannot write beside {database}: {path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusyError(
                f"{database} is being written by {_present_holder(database)}: wait until it is done, or stop it"
            ) from None
        note = {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": now_utc()[:19]}
        _write(path, descriptor, json.dumps(note).encode())
        yield
    finally:
        os.close(descriptor)


def _write(path: Path, descriptor: int, note: bytes) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note, 0)
    except OSError as error:
        raise StoreFullError(f"no room for {path}: free some disk ({error.strerror})") from error


@contextmanager
def writers_turn(database: Path) -> Iterator[None]:
    """Keep readers from opening the database anew while the block runs; those that have it open go on."""
    with _descriptor(turn_path(database), os.O_RDWR | os.O_CREAT) as descriptor:
        if descriptor is not None:
            _wait(descriptor, fcntl.LOCK_EX, YIELD)  # readers hold it for an instant each
        yield


def yield_to_writer(database: Path, seconds: float = YIELD) -> None:
    """Wait while a writer wants to open the database, for so long at most."""
    with _descriptor(turn_path(database), os.O_RDONLY) as descriptor:
        if descriptor is not None:
            _wait(descriptor, fcntl.LOCK_SH, seconds)


@contextmanager
def _descriptor(path: Path, flags: int) -> Iterator[int | None]:
    """The open file; ``None`` where there is none or it may not be opened: the turn is a courtesy, no guarantee."""
    try:
        descriptor = open_regular(path, flags)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _wait(descriptor: int, kind: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return
            time.sleep(PAUSE)
        else:
            return
