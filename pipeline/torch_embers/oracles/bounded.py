"""A process with an end: limited in time and in what it may write, its children gone with it.

Output goes to files and not to pipes: a pipe lasts as long as any child holds it. A file that grows beyond the limit is
emptied, so that a flood neither fills the disk nor the memory; the last lines stay.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from typing import IO, NamedTuple, Optional, Sequence

MOST_BYTES = 1 << 24
"""A file of output that is larger is emptied."""
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


def run(command: Sequence[str], timeout: float) -> Ended:
    """Run a command to its end, or until the time limit; what it started is killed with it.

    Children that leave its session are not found.

    Args:
        command: program and arguments.
        timeout: seconds.

    Raises:
        OSError: the program cannot be run.
    """
    with tempfile.TemporaryFile("ab+") as out, tempfile.TemporaryFile("ab+") as err:
        process = subprocess.Popen(
            list(command), stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
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
            if os.fstat(output.fileno()).st_size > MOST_BYTES:
                output.truncate(0)


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL))
    return output.read(TAIL).decode("utf-8", "replace")
