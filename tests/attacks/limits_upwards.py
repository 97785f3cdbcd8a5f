"""Raise its own limits, and those of its children, above what it was given.

Ends: exited 0.
"""

import os
import resource
import sys

names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
bounded = [name for name in names if resource.getrlimit(getattr(resource, name))[1] != resource.RLIM_INFINITY]
for name in ("RLIMIT_DATA", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_FSIZE", "RLIMIT_MEMLOCK", "RLIMIT_SIGPENDING"):
    if name not in bounded:
        sys.exit(f"{name} is not bounded")
child = os.fork()
if child == 0:
    import time

    time.sleep(20)
for pid in (0, os.getpid(), child):
    for name in bounded:
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        try:
            resource.prlimit(pid, which, (hard + 1, hard + 1))
        except (OSError, ValueError):
            continue
        sys.exit(f"{name} of {pid} can be raised")
os.kill(child, 9)
