"""Let the kernel keep filters of system calls: more than half a megabyte in each process.

Ends: exited 0.
"""

import ctypes
import os
import struct
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
SET_SECCOMP, FILTER, ALLOW = 22, 2, 0x7FFF0000


class Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


steps = struct.pack("=HBBI", 0x20, 0, 0, 4) * 3900 + struct.pack("=HBBI", 6, 0, 0, ALLOW)
program = Program(len(steps) // 8, steps)
seccomp = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
by_prctl = LIBC.prctl(SET_SECCOMP, ctypes.c_ulong(FILTER), ctypes.byref(program), ctypes.c_ulong(0), ctypes.c_ulong(0))
if by_prctl == 0 or LIBC.syscall(seccomp, 1, 0, ctypes.byref(program)) == 0:
    sys.exit("a filter of 3,901 steps is held by the kernel")
