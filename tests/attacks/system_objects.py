"""Leave semaphores and message queues behind, and look for those of others (the test runs it twice).

Ends: exited 0.
"""

import ctypes
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def must_fail(what, answer):
    if answer >= 0:
        sys.exit(f"possible: {what}")


must_fail("a semaphore of another run", LIBC.semget(0x0B0E, 1, 0))
must_fail("a queue of another run", LIBC.msgget(0x0B0E, 0))
must_fail("memory of System V", LIBC.shmget(0x0B0E, ctypes.c_size_t(4096), 0o1666))
LIBC.semget(0x0B0E, 1, 0o1666)
LIBC.msgget(0x0B0E, 0o1666)
