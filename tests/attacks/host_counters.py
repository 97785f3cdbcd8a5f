"""Use up what the kernel counts for the user of the host: timers.

Ends: exited 0.
"""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
TIMER = {"x86_64": 222, "aarch64": 107}[os.uname().machine]

if LIBC.syscall(TIMER, 1, None, ctypes.byref(ctypes.c_int())) == 0:
    sys.exit("a timer")
