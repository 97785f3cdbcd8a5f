"""Run programs that have no name: from memory, from a deleted file, from a file that never had a name.

They may start, for a script may run what it writes, but they have no more rights than the script.

Ends: exited 0.
"""

import os
import shutil
import sys
from pathlib import Path

if hasattr(os, "memfd_create"):
    try:
        os.memfd_create("program")
    except OSError:
        pass
    else:
        sys.exit("a program in memory that nobody counts")
shutil.copy("/usr/bin/env", "/tmp/program")
Path("/tmp/program").chmod(0o6755)
number = os.open("/tmp/program", os.O_RDONLY)
Path("/tmp/program").unlink()
out, into = os.pipe()
if os.fork() == 0:
    os.dup2(into, 1)
    os.execve(number, ["env", "cat", "/proc/self/status"], {"PATH": "/usr/bin:/bin"})
os.close(into)
status = dict(line.split(":", 1) for line in os.fdopen(out).read().splitlines())
for name, wanted in (("CapEff", 0), ("CapPrm", 0), ("CapBnd", 0), ("CapAmb", 0)):
    if int(status[name], 16) != wanted:
        sys.exit(f"{name} is {status[name]}")
if int(status["NoNewPrivs"]) != 1 or int(status["Seccomp"]) != 2:
    sys.exit("the filter is gone")
if len(set(status["Uid"].split())) != 1 or int(status["Uid"].split()[0]) != os.getuid():
    sys.exit(f"another user: {status['Uid']}")
