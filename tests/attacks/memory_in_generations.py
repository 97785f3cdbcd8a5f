"""Let forks of forks remember their ancestors in many areas, which hold no memory themselves.

Ends: memory within 60 s.
"""

import ctypes
import mmap
import os
import time

AREAS = 8000
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
start = LIBC.mmap(None, ctypes.c_size_t(2 * AREAS * 4096), mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)
for place in range(0, 2 * AREAS, 2):
    ctypes.memset(start + place * 4096, 1, 1)
    LIBC.mprotect(ctypes.c_void_p(start + (place + 1) * 4096), ctypes.c_size_t(4096), mmap.PROT_READ)
LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(2 * AREAS * 4096), mmap.MADV_DONTNEED)
for _ in range(80):
    if os.fork():
        break
time.sleep(60)
