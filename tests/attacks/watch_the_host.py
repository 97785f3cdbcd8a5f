"""Watch folders of the host, which tells what others start, and let queues of such events fill up.

Ends: exited 0.
"""

import ctypes
import fcntl
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
if LIBC.inotify_init1(0) >= 0:
    sys.exit("inotify")
old = {"x86_64": 253}.get(os.uname().machine)
if old is not None and LIBC.syscall(old) >= 0:
    sys.exit("inotify by the older call")
if LIBC.fanotify_init(0, 0) >= 0:
    sys.exit("fanotify")
folder = os.open("/usr/bin", os.O_RDONLY)
for command, value in ((fcntl.F_NOTIFY, fcntl.DN_ACCESS), (fcntl.F_SETLEASE, fcntl.F_RDLCK)):
    try:
        fcntl.fcntl(folder, command, value)
    except OSError:
        continue
    sys.exit(f"fcntl {command}")
