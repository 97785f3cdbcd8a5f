"""Lock by open files, which every run sees, and in a process that shares its files and ends, whose locks nobody sees.

Ends: exited 0.
"""

import ctypes
import errno
import fcntl
import os
import struct
import sys
from pathlib import Path

CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
with Path("/tmp/locked").open("wb") as file:
    try:
        fcntl.fcntl(file, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
        sys.exit("a lock of an open file")
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
made = ctypes.CDLL(None, use_errno=True).syscall(CLONE, 0x400 | 17, 0, 0, 0, 0)
if made == 0:
    os._exit(0)
if made > 0:
    sys.exit("a process that shares its open files")
