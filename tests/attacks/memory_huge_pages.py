"""Take pages of the host's pool of huge pages, which no limit of a process counts.

Ends: exited 0.
"""

import ctypes
import mmap
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
HUGE = 0x40000
for kind in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
    for size in (0, 21 << 26, 30 << 26):
        flags = kind | mmap.MAP_ANONYMOUS | HUGE | size | 0x4000  # not reserved: only a touch would need a page
        start = LIBC.mmap(None, ctypes.c_size_t(1 << 30), 0, flags, -1, 0)
        if start != ctypes.c_void_p(-1).value:
            sys.exit(f"huge pages, flags {flags:#x}")
