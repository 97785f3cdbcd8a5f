"""Set the clock, take another clock for itself, and loop: the time limit holds by the host's clock.

Ends: timeout within 2 s.
"""

import ctypes
import os
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
moment = (ctypes.c_long * 2)(0, 0)
settime, settimeofday, adjust = {"x86_64": (227, 164, 159), "aarch64": (112, 170, 171)}[os.uname().machine]
for answer in (
    *(LIBC.syscall(settime, clock, moment) for clock in range(12)),
    LIBC.syscall(settimeofday, moment, None),
    LIBC.syscall(adjust, (ctypes.c_char * 512)(1)),
    LIBC.unshare(0x80),  # CLONE_NEWTIME
):
    if answer == 0:
        sys.exit("a clock was set")
for path in ("/proc/self/timens_offsets", "/dev/rtc", "/dev/rtc0", "/sys/class/rtc/rtc0/wakealarm"):
    try:
        with open(path, "w", encoding="ascii") as file:  # noqa: PTH123
            file.write("monotonic 86400 0")
    except OSError:
        continue
    sys.exit(f"{path} can be written")
time.time = time.monotonic = time.perf_counter = lambda: 0.0
while True:
    pass
