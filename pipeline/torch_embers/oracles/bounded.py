"""A process with an end: limited in time and in what it may write, its children gone with it.

Output goes to files and not to pipes: a pipe lasts as long as any child holds it. Of a file that grows beyond the limit
the beginning is given back to the disk, so that a flood neither fills the disk nor the memory; the last lines stay.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import tempfile
import time
from typing import IO, Mapping, NamedTuple, Optional, Sequence

MOST_BYTES = 1 << 24
"""A file of output that holds more is cut at its beginning."""
TAIL = 1 << 16
"""Bytes of output that are read in the end."""
GLANCE_SECONDS = 0.2
"""How often the files are looked at."""


class Ended(NamedTuple):
    """How a process ended.

    Attributes:
        code: its exit code, minus the number of the signal that killed it; None where it did not end in time.
        out: the last 64 KiB of its standard output.
        err: the last 64 KiB of its standard error.
    """

    code: Optional[int]
    out: str
    err: str


def run(command: Sequence[str], timeout: float, text: str = "", env: Optional[Mapping[str, str]] = None) -> Ended:
    """Run a command to its end, or until the time limit; what it started is killed with it.

    A child in the background would take processor time from what comes next. One that leaves the session is not found.

    Args:
        command: program and arguments.
        timeout: seconds.
        text: what it reads from its standard input.
        env: its environment; None for this one.

    Raises:
        OSError: the program cannot be run.
    """
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile("ab+") as out, tempfile.TemporaryFile("ab+") as err:
        told.write(text.encode("utf-8"))
        told.seek(0)
        process = subprocess.Popen(list(command), stdin=told, stdout=out, stderr=err, start_new_session=True, env=env)
        try:
            code = _code(process, (out, err), timeout)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return Ended(code, _tail(out), _tail(err))


def _code(process: subprocess.Popen[bytes], outputs: Sequence[IO[bytes]], timeout: float) -> Optional[int]:
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(min(left, GLANCE_SECONDS))
        for output in outputs:
            if os.fstat(output.fileno()).st_blocks * 512 > MOST_BYTES:
                _cut(output.fileno())


_PUNCH_HOLE = 3
"""FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE of Linux."""


def _cut(file: int) -> None:
    """Give back the blocks of a file but for its end, so that nothing is lost of what is written meanwhile."""
    end = os.fstat(file).st_size - TAIL
    fallocate = getattr(ctypes.CDLL(None), "fallocate64", None)
    if fallocate is None:  # no Linux: what was written in this moment can be lost
        os.ftruncate(file, 0)
        return
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if fallocate(file, _PUNCH_HOLE, 0, end):
        os.ftruncate(file, 0)


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL))
    return output.read(TAIL).decode("utf-8", "replace")
