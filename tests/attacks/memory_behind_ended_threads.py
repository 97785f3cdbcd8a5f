"""Take memory in processes whose first thread has ended, and with it what /proc tells of the process.

Ends: memory within 30 s.
"""

import ctypes
import os
import threading
import time

EXIT = {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def go_on(what):
    """Do it in another thread, and end the first one."""
    threading.Thread(target=what).start()
    ctypes.CDLL(None).syscall(EXIT, 0)


def take():
    """Hold memory."""
    time.sleep(0.05)
    data = bytearray(b"x") * (24 << 20)
    time.sleep(60)
    del data


def make():
    """Start processes that hold memory, as children of one whose first thread has ended, too."""
    time.sleep(0.05)
    for _ in range(40):
        if os.fork() == 0:
            go_on(take)
    time.sleep(60)


go_on(make)
