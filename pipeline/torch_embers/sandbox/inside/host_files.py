"""Puts layers of our own between a sandbox and what it sees of the host: nothing that a run does to a file reaches it.

A lock belongs to the inode of a file, and so do the times of a device; of a layer they end with the sandbox.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from . import kernel

SCRATCH = "/dev/shm"  # noqa: S108 - empty, and each run gets its own over it
OURS = re.compile(rb"/|/dev|/dev/pts|/dev/shm|/proc(/.*)?")
"""Mounts that hold nothing of the host but devices."""


def cover() -> None:
    """Cover each folder of the host by an overlay, each file by a copy, and let the times of devices be."""
    found = [(path, os.open(path, os.O_PATH)) for path in mounts()]  # before one of them hides another
    kernel.mount("tmpfs", SCRATCH, "tmpfs", kernel.NO_SUID | kernel.NO_DEVICES)
    Path(SCRATCH, "none").mkdir()
    for place, (path, number) in enumerate(found):
        state, source = os.fstat(number), f"/proc/self/fd/{number}"
        if stat.S_ISDIR(state.st_mode):
            layers = f"lowerdir={source}:{SCRATCH}/none"
            with contextlib.suppress(OSError):  # a kernel before 5.11, or too many layers: the doctor says so
                kernel.mount("overlay", path, "overlay", kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES, layers)
        elif stat.S_ISCHR(state.st_mode):
            read_only(path, 0)
        elif state.st_nlink:  # those of bubblewrap are its own and have no name any more
            copy = f"{SCRATCH}/{place}"
            kernel.write_file(copy, kernel.read_file(source), os.O_WRONLY | os.O_CREAT)
            kernel.mount(copy, path, None, kernel.BIND)
            read_only(path, kernel.NO_DEVICES)
        os.close(number)
    kernel.uncover(SCRATCH)


def mounts() -> list[str]:
    """Where something of the host is mounted, the outer ones first."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    paths = [re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines]
    return [os.fsdecode(path) for path in dict.fromkeys(paths) if not OURS.fullmatch(path)]


def read_only(path: str, flags: int) -> None:
    """Let nothing of a mount be changed, not even a time; a device can still be written to."""
    kernel.mount(None, path, None, kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | kernel.NO_SUID | flags)
