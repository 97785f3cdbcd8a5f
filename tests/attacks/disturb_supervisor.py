"""End, stop or starve the supervisor: every signal, every limit, priority, processors.

Ends: exited 0.
"""

import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
TGKILL, QUEUE, SEND, TKILL = {"x86_64": (234, 129, 424, 200), "aarch64": (131, 138, 424, 130)}[os.uname().machine]
SUPERVISOR = 1

information = ctypes.create_string_buffer(128)
for number in range(1, 65):
    ctypes.memmove(information, (ctypes.c_int * 3)(number, 0, -1), 12)
    for _ in range(3):
        LIBC.kill(SUPERVISOR, number)
        LIBC.syscall(TKILL, SUPERVISOR, number)
        LIBC.syscall(TGKILL, SUPERVISOR, SUPERVISOR, number)
        LIBC.syscall(QUEUE, SUPERVISOR, number, information)
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(SUPERVISOR)
        except OSError:
            continue
        LIBC.syscall(SEND, handle, number, None, 0)
        os.close(handle)

names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
for name in names:
    for limits in ((0, 0), (1, 1)):
        try:
            resource.prlimit(SUPERVISOR, getattr(resource, name), limits)
        except (OSError, ValueError):
            continue
        sys.exit(f"{name} of the supervisor is {limits}")


def refused(what, action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return
    sys.exit(f"changed {what} of the supervisor")


refused("the processors", os.sched_setaffinity, SUPERVISOR, {0})
refused("the scheduler", os.sched_setscheduler, SUPERVISOR, os.SCHED_IDLE, os.sched_param(0))
refused("the priority", os.setpriority, os.PRIO_PROCESS, SUPERVISOR, 19)
refused("the priority by user", os.setpriority, os.PRIO_USER, os.getuid(), 19)
refused("the priority by user 0", os.setpriority, os.PRIO_USER, 0, 19)
refused("the order of death", Path("/proc/1/oom_score_adj").write_text, "1000")
if LIBC.syscall({"x86_64": 251, "aarch64": 30}[os.uname().machine], 1, SUPERVISOR, 3 << 13) >= 0:
    sys.exit("changed the priority of input and output of the supervisor")
time.sleep(0.2)
signal.signal(signal.SIGINT, signal.SIG_DFL)
