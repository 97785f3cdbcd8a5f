"""Become root in a namespace of one's own, by each call that makes one.

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


KINDS = (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000, 0x02000000, 0x80)
for kind in KINDS:
    must_fail(f"unshare {kind:#x}", LIBC.unshare(kind))
clone, clone3 = {"x86_64": (56, 435), "aarch64": (220, 435)}.get(os.uname().machine, (0, 0))
for kind in KINDS[:-1] if clone else ():
    pid = LIBC.syscall(ctypes.c_long(clone), ctypes.c_ulong(kind | 17), *(ctypes.c_ulong(0),) * 4)
    if pid == 0:
        os._exit(0)
    must_fail(f"clone {kind:#x}", pid)
must_fail("clone3", LIBC.syscall(clone3, bytes(88), 88))
for path in Path("/proc/1/ns").iterdir() if os.access("/proc/1/ns", os.R_OK | os.X_OK) else ():
    try:
        number = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    must_fail(f"setns to {path}", LIBC.setns(number, 0))
