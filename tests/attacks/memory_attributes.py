"""Keep memory of the kernel in attributes and access lists of files.

Ends: exited 0.
"""

import os
import struct
import sys
from pathlib import Path

ENTRIES = struct.pack("<I", 2) + b"".join(
    struct.pack("<HHI", *entry)
    for entry in [
        (1, 7, 0xFFFFFFFF),
        *((2, 7, user) for user in range(8000)),
        (4, 7, 0xFFFFFFFF),
        (16, 7, 0xFFFFFFFF),
        (32, 7, 0xFFFFFFFF),
    ]
)
for folder in ("/tmp", "/dev/shm", os.environ["HOME"]):
    path = Path(folder, "carrier")
    path.mkdir()
    for name, value in (
        ("system.posix_acl_access", ENTRIES),
        ("system.posix_acl_default", ENTRIES),
        ("user.note", b"x" * 60000),
        ("security.note", b"x" * 60000),
        ("trusted.note", b"x" * 60000),
    ):
        try:
            os.setxattr(path, name, value)
        except OSError:
            continue
        sys.exit(f"{name} of {len(value)} bytes in {folder}")
