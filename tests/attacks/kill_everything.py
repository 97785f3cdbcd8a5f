"""Kill the supervisor, then everything.

Ends: signalled 9.
"""

import os
import signal

for pid in {1, os.getppid()} - {0}:  # 0: the parent is outside
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(pid, number)
        except OSError:
            continue
        if pid == 0:
            break
for pid in range(2, 400):
    if pid != os.getpid():
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
os.kill(os.getpid(), signal.SIGKILL)
