"""Use up what the kernel counts for the user of the host: timers, watches, message queues, key rings.

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
count = 0
while count < 200 and LIBC.inotify_init1(0) >= 0:
    count += 1
if count > 40:
    sys.exit(f"{count} instances of inotify")
