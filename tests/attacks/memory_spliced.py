"""Leave memory in pipes, where no process holds it any more.

Ends: exited 0.
"""

import ctypes
import os
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
_, into = os.pipe()
text = ctypes.create_string_buffer(4096)
vector = (ctypes.c_size_t * 2)(ctypes.addressof(text), 4096)
if LIBC.vmsplice(into, vector, ctypes.c_ulong(1), 8) >= 0:
    sys.exit("memory was given to a pipe")
