"""Share much memory among many processes, so that an exact count of it takes seconds, and take more in the meantime: 2 GB unseen.

Ends: memory or timeout within 20 s (slow).
"""

import mmap
import os
import sys
import time

SHARED, EACH = 180 << 20, 200 << 20


def taken(length):
    memory = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for place in range(0, length, 4096):
        memory[place] = 1
    return memory


shared = taken(SHARED)
for _ in range(180):
    if not os.fork():
        time.sleep(300)
time.sleep(1)
reader, writer = os.pipe()
for _ in range(10):
    if not os.fork():
        shared.close()
        shared = taken(EACH)
        os.write(writer, b"1")
        time.sleep(300)
for _count in range(7):
    os.read(reader, 1)
sys.stderr.write(f"{7 * EACH >> 20} MiB beside {SHARED >> 20}")
os._exit(1)
