"""A second wall where the kernel has Landlock: what mounts and users forbid, it forbids once more.

Numbers: Linux ``Documentation/userspace-api/landlock.rst``.
"""

from __future__ import annotations

import ctypes
import os
import struct
from typing import TYPE_CHECKING

from . import kernel

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

CREATE, ADD_RULE, RESTRICT_SELF = 444, 445, 446
ASK_VERSION, PATH_BENEATH, QUIET = 1, 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHARACTER_DEVICE, MAKE_BLOCK_DEVICE, DEVICE_REQUESTS = 1 << 6, 1 << 11, 1 << 15
RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""Version -> how many rights about files it knows; 16 from version 5 on."""
SCOPES = 3
"""Abstract sockets and signals stay within the run, from version 6 on."""


def version() -> int:
    """The kernel's version of Landlock; 0 where it has none."""
    return max(0, int(kernel.LIBC.syscall(CREATE, None, ctypes.c_size_t(0), ASK_VERSION))) if kernel.LINUX else 0


def restrict(config: Message) -> None:
    """Let this process and its children write into the run's own folders and into devices, and nowhere else."""
    number = config["landlock"]
    if not number:
        return
    rights = (1 << RIGHTS.get(number, 16)) - 1
    handled = struct.pack("=QQQ", rights, 0, SCOPES)[: 24 if number >= 6 else 16 if number >= 4 else 8]
    rules = kernel.call("syscall", CREATE, handled, ctypes.c_size_t(len(handled)), 0)
    own = rights & ~(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | DEVICE_REQUESTS)
    devices = WRITE_FILE | READ_FILE | (DEVICE_REQUESTS if config["devices"] else 0)
    allowed = [("/", EXECUTE | READ_FILE | READ_FOLDER), ("/dev", devices & rights)]
    for path, beneath in [*allowed, *((cover[0], own) for cover in config["covers"])]:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        kernel.call("syscall", ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", beneath, folder), 0)
        os.close(folder)
    kernel.call("syscall", RESTRICT_SELF, rules, QUIET if number >= 7 else 0)
    os.close(rules)
