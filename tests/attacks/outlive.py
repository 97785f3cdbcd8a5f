"""Leave a daemon behind: forked twice, in a session of its own, all descriptors closed.

Ends: exited 0.
"""

import os
import signal
import time

if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    os.closerange(0, 64)
    while True:
        time.sleep(1)
time.sleep(0.1)
