"""Start a process whose parent is the run's own parent, which waits for the run alone, so that its namespace never ends.

Ends: exited 0.
"""

import ctypes
import os
import signal
import sys

CLONE_PARENT = 0x8000
LIBC = ctypes.CDLL(None, use_errno=True)
clone, clone3 = {"x86_64": (56, 435), "aarch64": (220, 435)}[os.uname().machine]
arguments = (ctypes.c_uint64 * 8)(CLONE_PARENT, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
for flags in (0, 0x4000, 0x100):  # alone, with vfork, with shared memory
    for answer in (
        LIBC.syscall(clone, CLONE_PARENT | flags | signal.SIGCHLD, 0, 0, 0, 0),
        LIBC.syscall(clone3, arguments, ctypes.sizeof(arguments)),
    ):
        if answer == 0:
            os._exit(0)
        if answer > 0:
            sys.exit(f"process {answer} stands beside this one")
