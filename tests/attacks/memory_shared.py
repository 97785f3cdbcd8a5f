"""Hold shared memory that no process counts as its own: given back by MADV_DONTNEED, touched by children that have ended,
or all but a page of it unmapped.

Ends: exited 0.
"""

import ctypes
import mmap
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
LIBC.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
SIZE = 16 << 20
SHARED = (mmap.MAP_SHARED | mmap.MAP_ANONYMOUS, -1), (mmap.MAP_SHARED, os.open("/dev/zero", os.O_RDWR))


def touch(start):
    ctypes.memset(start, 1, SIZE)


def discarded(start):
    touch(start)
    LIBC.madvise(ctypes.c_void_p(start), ctypes.c_size_t(SIZE), 4)


def by_a_child(start):
    pid = os.fork()
    if pid == 0:
        touch(start)
        os._exit(0)
    os.waitpid(pid, 0)


def unmapped(start):
    touch(start)
    LIBC.munmap(ctypes.c_void_p(start + 4096), ctypes.c_size_t(SIZE - 4096))


for flags, number in SHARED:
    for hide in (discarded, by_a_child, unmapped):
        for _ in range(64):
            start = LIBC.mmap(None, SIZE, mmap.PROT_READ | mmap.PROT_WRITE, flags, number, 0)
            if start in (None, ctypes.c_void_p(-1).value):
                break
            hide(start)
        else:
            sys.exit(f"1 GB of shared memory beside a cap of 256 MB: {hide.__name__}")
