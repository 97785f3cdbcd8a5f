"""Locks beside the database: who may write, whose turn it is to open the file, and who has it now.

Both locks are ``flock``, so the kernel releases them when their holder dies in any way. The text in the writer's file
is only for the message to other processes. The second file has no text: a writer that wants to open the database holds
it, and readers look there before they open the database, so that no number of short readers keeps a writer out.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers.errors import StoreBusyError, StoreError, StoreFullError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND_SHOWN = 100
"""Characters of a command line that a message shows."""
YIELD = 4.0
"""Seconds for which a reader lets a waiting writer go first. After that the writer waits for somebody who keeps the
file open, and one reader more makes no difference."""
PAUSE = 0.005
NOTE_PATIENCE = 1.0
"""Seconds that who has just taken the lock gets to write its note."""
UNNAMED = "another process"


def lock_path(database: Path) -> Path:
    """Where the lock of ``database`` lives."""
    return database.with_name(database.name + ".lock")


def turn_path(database: Path) -> Path:
    """Where a writer that waits for ``database`` is seen."""
    return database.with_name(database.name + ".turn")


def holder(database: Path) -> str:
    """Who holds the lock, in words; a general phrase where the file cannot tell."""
    try:
        note = json.loads(lock_path(database).read_text(encoding="utf-8"))
        return f"`{note['purpose']}` (process {note['pid']} on {note['host']}, since {note['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return UNNAMED


def _present_holder(database: Path) -> str:
    """Who holds the lock, in words: the note of one that was killed stays until the next one has written its own."""
    deadline = time.monotonic() + NOTE_PATIENCE
    while time.monotonic() < deadline:
        if (name := holder(database)) != UNNAMED and not _left_by_the_dead(database):
            return name
        time.sleep(PAUSE)
    return UNNAMED


def _left_by_the_dead(database: Path) -> bool:
    try:
        note = json.loads(lock_path(database).read_text(encoding="utf-8"))
        if note["host"] == socket.gethostname():
            os.kill(note["pid"], 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, KeyError, TypeError, OverflowError):  # not ours to see, or written again just now
        pass
    return False


def process(database: Path, pid: int, program: str) -> str:
    """A process that has the database open, in words: the writer by its note, any other by its command line."""
    try:
        if json.loads(lock_path(database).read_text(encoding="utf-8"))["pid"] == pid:
            return holder(database)
    except (OSError, ValueError, KeyError, TypeError):
        pass
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
        StoreError: the folder cannot be written, or the disk is full.
    """
    path = lock_path(database)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
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
