"""Use up what the kernel counts for the user of the host: timers.

Ends: exited 0.
"""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
TIMER = {"x86_64": 222, "aarch64": 107}[os.uname().machine]

timer = ctypes.c_int()
count = 0
while count < 5000 and LIBC.syscall(TIMER, 1, None, ctypes.byref(timer)) == 0:
    count += 1
if count > 300:
    sys.exit(f"{count} timers")
