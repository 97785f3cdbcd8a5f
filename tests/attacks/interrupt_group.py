"""Interrupt everything that can be reached by group, session and user, for a while.

Ends: exited 0.
"""

import contextlib
import os
import signal
import time

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD, signal.SIGTSTP):
    signal.signal(number, signal.SIG_IGN)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD, signal.SIGTSTP):
        for target in (1, 0, -1):
            with contextlib.suppress(OSError):
                os.kill(target, number)
