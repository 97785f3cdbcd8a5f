"""Try calls that a list of forbidden ones forgets easily.

Ends: exited 0.
"""

import ctypes
import os
import socket
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
COMMON = {"open_tree_attr": 467, "statmount": 457, "listmount": 458, "quotactl_fd": 443, "process_madvise": 440}
OWN = {
    "x86_64": {"modify_ldt": 154, "fanotify_init": 300, "lookup_dcookie": 212, "sethostname": 170, "adjtimex": 159},
    "aarch64": {"fanotify_init": 262, "lookup_dcookie": 18, "sethostname": 161, "adjtimex": 171},
}[os.uname().machine]
ERRORS = (1, 38)  # EPERM by the filter, ENOSYS of an old kernel
for name, number in {**COMMON, **OWN}.items():
    answer = LIBC.syscall(number, -1, 0, 0, 0, 0)
    if answer >= 0 or ctypes.get_errno() not in ERRORS:
        sys.exit(f"{name} answered {answer}, error {ctypes.get_errno()}")
for family in range(2, 64):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            socket.socketpair(family, kind)
        except OSError:
            continue
        sys.exit(f"a pair of sockets of family {family}")
if LIBC.personality(0x0040000) >= 0:
    sys.exit("addresses are not random any more")
