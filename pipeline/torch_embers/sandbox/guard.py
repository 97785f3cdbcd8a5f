"""Parent of bubblewrap: when the driver is gone, however and whenever, it ends everything that bubblewrap has started.

Usage: ``python -I -S guard.py DESCRIPTOR COMMAND ...``; the driver holds the other end of the pipe DESCRIPTOR open.

bubblewrap asks the kernel to end it with its parent, but between its fork and that call its child waits for a word from
a process that may be dead already, for ever. This process adopts such a child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
from pathlib import Path

ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def below(pid: int) -> list[int]:
    """All processes below one."""
    found = []
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split():
            found += [int(child), *below(int(child))]
    return found


def end_all() -> None:
    """Kill until nothing is left: who loses its parent becomes a child of this process."""
    while True:
        for pid in below(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main() -> int:
    """Start the command and wait for its end or the driver's."""
    lifeline, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(lifeline, False)  # noqa: FBT003 - the call's only form
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0)))
    pid = os.posix_spawn(command[0], command, os.environ)
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(lifeline, select.POLLIN)
    poll.register(handle, select.POLLIN)
    poll.poll()
    end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
