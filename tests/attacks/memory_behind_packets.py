"""Keep the supervisor reading single bytes, which a pipe of packets hands out one by one, while others take memory: 3 GB unseen.

Ends: memory.
"""

import fcntl
import mmap
import os
import sys
import time

EACH = 200 << 20
fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_DIRECT)
for _ in range(6):
    if not os.fork():
        while True:
            os.write(1, b"x")
time.sleep(0.3)
reader, writer = os.pipe()
for _ in range(24):
    if not os.fork():
        held = mmap.mmap(-1, EACH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for place in range(0, EACH, 4096):
            held[place] = 1
        os.write(writer, b"1")
        time.sleep(60)
taken = 0
while taken < 12:
    taken += len(os.read(reader, 1))
sys.stderr.write(f"{taken * EACH >> 20} MiB")
os._exit(1)
