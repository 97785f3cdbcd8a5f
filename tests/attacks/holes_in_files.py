"""Make files that claim more than there is, by holes, by preallocation and by mapping beyond their end.

Ends: exited 0.
"""

import mmap
import os
import signal
import sys

FULL = 256 << 20
taken = 0
for folder in ("/tmp", "/dev/shm", os.environ["HOME"]):
    number = os.open(f"{folder}/holes", os.O_RDWR | os.O_CREAT)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for size in (1 << 62, 1 << 40, FULL + 1):
        try:
            os.ftruncate(number, size)
        except OSError:
            continue
        sys.exit(f"a file of {size} bytes in {folder}")
    try:
        os.posix_fallocate(number, 0, FULL + 4096)
    except OSError:
        pass
    else:
        sys.exit(f"{folder} holds more than its limit")
    os.ftruncate(number, 1 << 20)
    area = mmap.mmap(number, 1 << 20)
    area[-1] = 1
    os.unlink(f"{folder}/holes")  # noqa: PTH108
    taken += 1
sys.exit(0 if taken == 3 else "a folder is missing")
