"""Fill the table of processes with those that have ended and that nobody asks for.

Ends: processes within 30 s.
"""

import os
import sys
import time

for _ in range(1000):
    try:
        if os.fork() == 0:
            os._exit(0)
    except OSError:
        break
time.sleep(5)
sys.exit("the table is full of them")
