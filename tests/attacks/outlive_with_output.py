"""Leave a process behind that keeps the output open and writes on.

Ends: exited 0.
"""

import os
import time

if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"still here")
        time.sleep(0.01)
