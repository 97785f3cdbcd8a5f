"""Make a system call by the old gate for programs of 32 bits, whose numbers the filter does not know.

Ends: signalled 31.
"""

import ctypes
import mmap
import os
import signal
import sys

if os.uname().machine != "x86_64":  # no such gate
    os.kill(os.getpid(), signal.SIGSYS)
number = ctypes.CDLL(None, use_errno=True).syscall(0x40000000 | 39)
if number >= 0:
    sys.exit("calls of the x32 kind are answered")
code = mmap.mmap(
    -1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
)
code.write(bytes.fromhex("53b814000000cd805bc3"))  # getpid by int 0x80
sys.exit(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())
