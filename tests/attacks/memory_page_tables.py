"""Take memory of the kernel in page tables: read one byte in each 2 MiB of a huge empty mapping; at most 700 MB.

Ends: memory within 60 s.
"""

import ctypes
import os
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
STEP = 2 << 20
READ, PRIVATE_ANONYMOUS_UNRESERVED = 1, 0x4022

for _ in range(4):
    if os.fork() == 0:
        for _ in range(45):
            start = LIBC.mmap(None, ctypes.c_size_t(1000 * STEP), READ, PRIVATE_ANONYMOUS_UNRESERVED, -1, 0)
            LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(1000 * STEP), 15)  # no huge pages
            for place in range(start, start + 1000 * STEP, STEP):
                ctypes.string_at(place, 1)
        time.sleep(50)
        os._exit(0)
time.sleep(20)
sys.exit("45,000 page tables in each of 4 processes")
