"""Stop every process of the run, the script last, so that nobody is left who could end.

Ends: timeout within 2 s.
"""

import os
import signal
import time

pids = []
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os.setsid()
        while True:
            time.sleep(1)
    pids.append(pid)
for pid in (1, 2, os.getppid(), *pids):
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:
        continue
os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(100)
