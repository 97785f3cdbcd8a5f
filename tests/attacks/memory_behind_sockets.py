"""Let sockets keep pages of files that are gone: they are charged for a byte of each.

Ends: exited 0.
"""

import errno
import os
import socket
import sys
from pathlib import Path

path = Path("/dev/shm/pages")
path.write_bytes(bytes(16 * 4096))
file, (left, _right), (read, write) = os.open(path, os.O_RDONLY), socket.socketpair(), os.pipe()
for name, call in (
    ("splice", lambda: os.splice(file, write, 1, offset_src=4096)),
    ("sendfile", lambda: os.sendfile(left.fileno(), file, 0, 1)),
):
    try:
        call()
    except OSError as error:
        if error.errno == errno.ENOSYS:
            continue
    sys.exit(f"{name} works")
