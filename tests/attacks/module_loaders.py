"""Make the host's kernel load modules, write out the disks of the host, or compare pages with those of others.

Ends: exited 0.
"""

import ctypes
import fcntl
import mmap
import os
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
ERRORS = {"ioctl": 25, "socket": 97, "sync": 38, "madvise": 22}  # of the filter, which answers before the kernel looks


def refused(name, error, what):
    if error != ERRORS[name]:
        sys.exit(f"{what}: error {error}")


with socket.socket() as one:
    for request in (
        0x8982,
        0x8983,
        0x8940,
        0x89A0,
        0x89A2,
        0x894C,
        0x8990,
        0x89F0,
    ):  # VLAN, bridges, bonds, private ones
        try:
            fcntl.ioctl(one, request, bytes(64))
        except OSError as error:
            refused("ioctl", error.errno, f"request {request:#x}")
        else:
            sys.exit(f"request {request:#x}")
for kind in (socket.SOCK_RAW, socket.SOCK_RDM, socket.SOCK_SEQPACKET, 6, 10):
    for family in (socket.AF_INET, socket.AF_INET6):
        for flags in (0, socket.SOCK_CLOEXEC, socket.SOCK_NONBLOCK):
            if LIBC.socket(family, kind | flags, 0) >= 0:
                sys.exit(f"a socket of type {kind}")
            refused("socket", ctypes.get_errno(), f"a socket of type {kind}")
for name, numbers in (("sync", {"x86_64": 162, "aarch64": 81}), ("syncfs", {"x86_64": 306, "aarch64": 267})):
    if LIBC.syscall(numbers[os.uname().machine], os.open("/usr", os.O_RDONLY)) >= 0:
        sys.exit(name)
    refused("sync", ctypes.get_errno(), name)
area = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for advice in (12, 20, 21, 100, 101):
    start = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(area)))
    if LIBC.madvise(start, ctypes.c_size_t(4096), advice) >= 0:
        sys.exit(f"advice {advice}")
    refused("madvise", ctypes.get_errno(), f"advice {advice}")
