"""Leave orphans in sessions of their own that go on writing, hold both streams open and refuse every signal.

Ends: exited 0.
"""

import os
import signal
import sys
import time

for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in range(1, 65):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
        while True:
            os.write(1, b"still here\n")
            time.sleep(0.01)
time.sleep(0.1)
sys.exit(0)
