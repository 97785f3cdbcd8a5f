"""Leave policies of memory in a file, one for each page, which stay when nothing maps it any more.

Ends: exited 0.
"""

import ctypes
import mmap
import os
import sys

MBIND = {"x86_64": 237, "aarch64": 235}[os.uname().machine]
LIBC = ctypes.CDLL(None, use_errno=True)
file = os.open("/dev/shm/sparse", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 1 << 20)
area = mmap.mmap(file, 1 << 20)
start = ctypes.addressof(ctypes.c_char.from_buffer(area))
nodes = ctypes.c_ulong(1)
if (
    LIBC.syscall(MBIND, ctypes.c_void_p(start), ctypes.c_ulong(4096), 2, ctypes.byref(nodes), ctypes.c_ulong(64), 0)
    == 0
):
    sys.exit("a file took a policy")
