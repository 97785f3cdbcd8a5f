"""Puts layers of our own between a sandbox and what it sees of the host: nothing that a run does to a file reaches it.

A lock belongs to the inode of a file, and so do the times of a device; of a layer they end with the sandbox.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from pathlib import Path

from . import kernel

SCRATCH = "/dev/shm"  # noqa: S108 - empty, and each run gets its own over it
COPIED = 64 << 20
"""Bytes of files that a folder with mounts below may hold itself: its files are copied into memory."""
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
            with contextlib.suppress(OSError):  # a kernel before 5.11, or too many layers: the doctor says so
                try:
                    overlay(source, path)
                except OSError:
                    if below := [other for other, _ in found if other.startswith(f"{path}/")]:
                        rebuild(source, path, below)
        elif stat.S_ISCHR(state.st_mode):
            read_only(path, 0)
        elif state.st_nlink:  # those of bubblewrap are its own and have no name any more
            copy = f"{SCRATCH}/{place}"
            kernel.write_file(copy, kernel.read_file(source), os.O_WRONLY | os.O_CREAT)
            kernel.mount(copy, path, None, kernel.BIND)
            read_only(path, kernel.NO_DEVICES)
        os.close(number)
    kernel.uncover(SCRATCH)


def overlay(source: str, path: str) -> None:
    """Mount a layer of our own over a folder. Raises OSError where the kernel refuses it."""
    layers = f"lowerdir={source}:{SCRATCH}/none"
    kernel.mount("overlay", path, "overlay", kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES, layers)


def rebuild(source: str, path: str, mounted: list[str]) -> None:
    """Mount a folder in the place of one with mounts below, such as /usr with the driver of a GPU in /usr/local/nvidia.

    The kernel makes no layer of such a folder in a user namespace. So each of its folders gets one, and its files are
    copied.

    Raises:
        OSError: its files have more than ``COPIED`` bytes, or the kernel refuses a layer; then nothing is covered.
    """
    kernel.mount("tmpfs", path, "tmpfs", kernel.NO_SUID | kernel.NO_DEVICES, f"size={COPIED},mode=755")
    try:
        fill(source, path, mounted)
    except OSError:
        kernel.uncover(path)
        raise
    read_only(path, kernel.NO_DEVICES)


def fill(source: str, path: str, mounted: list[str]) -> None:
    """Make what is in a folder again; what is mounted there follows later."""
    for entry in os.scandir(source):
        place = f"{path}/{entry.name}"
        if entry.is_symlink():
            Path(place).symlink_to(Path(entry.path).readlink())
        elif entry.is_dir():
            Path(place).mkdir(0o755)
            if any(other.startswith(f"{place}/") for other in mounted):
                fill(entry.path, place, mounted)
            elif place not in mounted:
                overlay(entry.path, place)
        elif entry.is_file():
            Path(place).touch()
            if place not in mounted:
                with contextlib.suppress(PermissionError):  # what we may not read, no run may
                    shutil.copy2(entry.path, place)


def mounts() -> list[str]:
    """Where something of the host is mounted, the outer ones first."""
    lines = Path("/proc/self/mountinfo").read_bytes().splitlines()
    paths = [re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines]
    return [os.fsdecode(path) for path in dict.fromkeys(paths) if not OURS.fullmatch(path)]


def read_only(path: str, flags: int) -> None:
    """Let nothing of a mount be changed, not even a time; a device can still be written to."""
    kernel.mount(None, path, None, kernel.REMOUNT | kernel.BIND | kernel.READ_ONLY | kernel.NO_SUID | flags)
