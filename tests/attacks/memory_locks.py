"""Take kernel memory by locks on ranges of files, which no limit of the kernel counts.

Ends: memory within 60 s.
"""

import fcntl
import struct
import sys
import time

for number in range(400):
    file = open(f"/tmp/{number}", "wb")  # noqa: PTH123, SIM115 - it is to stay open
    for place in range(2000):
        fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, (1 << 40) - 2 * place, 1, 0))
    globals()[f"file{number}"] = file
time.sleep(10)
sys.exit("800,000 locks")
