"""Take memory in many processes, each below the cap.

Ends: memory within 30 s.
"""

import os
import time

for _ in range(40):
    if os.fork() == 0:
        data = bytearray(b"x") * (24 << 20)
        time.sleep(60)
time.sleep(60)
