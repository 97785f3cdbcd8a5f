"""Take memory of the kernel by as many mappings as there may be, in many processes, which hold nothing.

Ends: memory within 120 s.
"""

import ctypes
import mmap
import os
import time

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
MOST = 60000
start = LIBC.mmap(None, ctypes.c_size_t(MOST * 4096), 0, 0x4022, -1, 0)
for place in range(0, MOST, 2):
    LIBC.mprotect(ctypes.c_void_p(start + place * 4096), ctypes.c_size_t(4096), mmap.PROT_READ)
for _ in range(24):
    if os.fork() == 0:
        break
time.sleep(120)
