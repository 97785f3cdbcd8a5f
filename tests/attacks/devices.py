"""Open or make devices.

Ends: exited 0.
"""

import os
import stat
import sys
from pathlib import Path

for major, minor, kind in (
    (1, 1, stat.S_IFCHR),
    (1, 3, stat.S_IFCHR),
    (8, 0, stat.S_IFBLK),
    (254, 0, stat.S_IFBLK),
    (7, 0, stat.S_IFBLK),
):
    try:
        os.mknod(f"/tmp/device{major}-{minor}", 0o666 | kind, os.makedev(major, minor))
    except OSError:
        continue
    sys.exit(f"made device {major}:{minor}")
for name in (
    "mem",
    "kmem",
    "port",
    "kmsg",
    "vda",
    "sda",
    "nvme0n1",
    "loop-control",
    "loop0",
    "fuse",
    "kvm",
    "vsock",
    "net/tun",
    "mapper/control",
):
    try:
        Path("/dev", name).open("rb").close()
    except OSError:
        continue
    sys.exit(f"opened {name}")
known = {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx"}
for path in Path("/dev").iterdir():
    mode = path.lstat().st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and path.name not in known):
        sys.exit(f"a device: {path}")
