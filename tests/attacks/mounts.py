"""Change the mounts: remount, bind, uncover, chroot, pivot.

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


must_fail("remount of /", LIBC.mount(None, b"/", None, ctypes.c_ulong(32 | 4096), None))
must_fail("bind over /usr", LIBC.mount(b"/tmp", b"/usr", None, ctypes.c_ulong(4096), None))
must_fail("tmpfs", LIBC.mount(b"tmpfs", b"/tmp", b"tmpfs", ctypes.c_ulong(0), None))
must_fail("proc", LIBC.mount(b"proc", b"/tmp", b"proc", ctypes.c_ulong(0), None))
for place in (b"/tmp", b"/proc", b"/dev/shm", b"/usr", b"/"):
    must_fail(f"umount of {place}", LIBC.umount2(place, 2))
must_fail("chroot", LIBC.chroot(b"/tmp"))
numbers = {"x86_64": (155, 428, 429, 430, 442), "aarch64": (41, 428, 429, 430, 442)}
for number in numbers.get(os.uname().machine, ()):
    must_fail(f"system call {number}", LIBC.syscall(number, b"/tmp", b"/tmp", 0, 0, 0))
if not Path("/usr").is_dir():
    sys.exit("the mounts have changed")
