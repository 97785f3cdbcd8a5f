"""Keep something in a key ring, which belongs to the user and not to the run.

Ends: exited 0.
"""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def must_fail(what, answer):
    if answer >= 0:
        sys.exit(f"possible: {what}")


numbers = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}
for number in numbers.get(os.uname().machine, ()):
    must_fail(f"system call {number}", LIBC.syscall(number, b"user", b"name", b"value", 5, -4))
