"""Take memory in processes whose first thread has ended, and with it what /proc tells of the process.

Ends: memory within 30 s.
"""

import ctypes
import os
import threading
import time

EXIT = {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def take():
    """Hold memory in a thread that goes on."""
    time.sleep(0.05)
    data = bytearray(b"x") * (24 << 20)
    time.sleep(60 + len(data) * 0)


for _ in range(40):
    if os.fork() == 0:
        threading.Thread(target=take).start()
        ctypes.CDLL(None).syscall(EXIT, 0)
time.sleep(60)
