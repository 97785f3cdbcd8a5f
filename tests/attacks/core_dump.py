"""Dump a core, to a file or to the host's helper.

Ends: exited 0.
"""

import os
import resource
import signal
import sys
from pathlib import Path

try:
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
except (OSError, ValueError):
    pass
else:
    sys.exit("the limit for cores was lifted")
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
_, status = os.waitpid(pid, 0)
if os.WCOREDUMP(status) or list(Path.cwd().glob("core*")):
    sys.exit("a core was dumped")
