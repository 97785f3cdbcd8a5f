"""Take requests of asynchronous input and output, which are counted for the whole machine, so that its databases get none.

Ends: exited 0.
"""

import ctypes
import os
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 206, "aarch64": 0}[os.uname().machine]
for count in (30000, 1000, 1):
    if LIBC.syscall(number, ctypes.c_uint(count), ctypes.byref(ctypes.c_ulong())) == 0:
        taken = Path("/proc/sys/fs/aio-nr").read_text(encoding="ascii")
        sys.exit(f"of the machine's requests {taken.strip()} are taken")
