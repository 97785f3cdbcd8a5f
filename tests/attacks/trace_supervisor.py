"""Trace, read or write the supervisor's memory, take its descriptors.

Ends: exited 0.
"""

import ctypes
import os
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)


def must_fail(what, answer):
    if answer >= 0:
        sys.exit(f"possible: {what}")


for pid in (1, os.getppid() or 1):
    for request in (16, 0x4206):
        must_fail("ptrace", LIBC.ptrace(request, pid, 0, 0))
    for place in ("mem", "fd/3", "fd/4", "root", "cwd", "exe"):
        try:
            Path(f"/proc/{pid}/{place}").open("r+b").close()
        except OSError:
            continue
        sys.exit(f"possible: {place}")
numbers = {"x86_64": (310, 311, 438), "aarch64": (270, 271, 438)}
for number in numbers.get(os.uname().machine, ()):
    must_fail(f"system call {number}", LIBC.syscall(number, 1, 0, 0, 0, 0, 0))
