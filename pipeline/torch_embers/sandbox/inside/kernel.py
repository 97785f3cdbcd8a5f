"""The few calls of the kernel that Python's library does not have, by ctypes. Linux; elsewhere only imported."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import platform
import signal
import socket
import struct
import sys
from pathlib import Path

LINUX = sys.platform.startswith("linux")

NEW_MOUNTS, NEW_PIDS, NEW_NETWORK = 0x00020000, 0x20000000, 0x40000000
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTE, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
DETACH = 2

PARENT_DEATH_SIGNAL, DUMPABLE, DROP_BOUND, SUBREAPER, NO_NEW_PRIVILEGES, AMBIENT = 1, 4, 24, 36, 38, 47
CLEAR_ALL = 4  # of AMBIENT

CAPSET = {"x86_64": 126, "aarch64": 91}
SECCOMP = {"x86_64": 317, "aarch64": 277}
COMPARE = {"x86_64": 312, "aarch64": 272}
SET_FILTER = 1
PIDFD_OPEN = 434
HUGE_PAGE, COLLAPSE = 2 << 20, 25
CAPABILITY_VERSION = 0x20080522
SET_INTERFACE_FLAGS, INTERFACE_UP = 0x8914, 1

LIBC = ctypes.CDLL(None, use_errno=True)


class FilterProgram(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def call(name: str, *arguments: object) -> int:
    """Call a function of the C library.

    Raises:
        OSError: it answered with a negative number.
    """
    answer = int(getattr(LIBC, name)(*arguments))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return answer


def write_file(path: str, text: bytes, flags: int = os.O_WRONLY) -> None:
    """Write a file without ``io`` and ``pathlib``, for which each fork would copy 70 pages."""
    number = os.open(path, flags | os.O_CLOEXEC, 0o644)
    while text:
        text = text[os.write(number, text) :]
    os.close(number)


def read_file(path: str) -> bytes:
    """A file's content, without them."""
    return read_all(os.open(path, os.O_RDONLY | os.O_CLOEXEC))


def read_all(descriptor: int) -> bytes:
    """Everything up to the end of the stream, which is then closed."""
    parts = []
    while True:
        part = os.read(descriptor, 1 << 18)
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def end_with(parent: int) -> None:
    """Let the kernel end this process with its parent, and end at once where that is gone already.

    Args:
        parent: its number; where it is outside of this pid namespace, the namespace ends with it.
    """
    prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() not in (parent, 0):
        os._exit(1)


def prctl(option: int, first: int = 0) -> None:
    """``prctl(2)`` with one number."""
    call("prctl", option, *(ctypes.c_ulong(value) for value in (first, 0, 0, 0)))


def mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """``mount(2)``."""
    texts = [text.encode() if text is not None else None for text in (source, target, kind, options)]
    call("mount", texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3])


def uncover(path: str) -> None:
    """Take away what is mounted over ``path``, if something is."""
    LIBC.umount2(path.encode(), DETACH)


def same_memory(one: int, other: int) -> bool:
    """Whether two processes have one memory (``kcmp(2)``); False where the kernel does not tell."""
    number = COMPARE.get(os.uname().machine) if LINUX and other else None
    return number is not None and LIBC.syscall(number, one, other, 1, ctypes.c_ulong(0), ctypes.c_ulong(0)) == 0


def watch_process(pid: int) -> int:
    """A descriptor that becomes readable when ``pid`` ends; negative where the kernel has none."""
    return int(LIBC.syscall(PIDFD_OPEN, pid, 0)) if LINUX else -1


def enter(folder: str, kinds: tuple[tuple[str, int], ...]) -> None:
    """Join the namespaces of a process: ``folder`` is its ``/proc/PID/ns``."""
    numbers = [(os.open(f"{folder}/{name}", os.O_RDONLY | os.O_CLOEXEC), kind) for name, kind in kinds]
    for number, kind in numbers:
        call("setns", number, kind)
        os.close(number)


def bound_buffers(most: int) -> None:
    """Let no connection of this network namespace buffer more than ``most`` bytes each way."""
    for name, usual in (("tcp_rmem", 131072), ("tcp_wmem", 16384)):
        Path("/proc/sys/net/ipv4", name).write_text(f"4096 {min(usual, most)} {most}", encoding="ascii")


def new_network(most: int) -> None:
    """Move this process into a network namespace that has a loopback and nothing else, with bounded buffers."""
    call("unshare", NEW_NETWORK)
    bound_buffers(most)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", INTERFACE_UP))


def network_state() -> bytes:
    """What the network namespace has seen so far: equal texts say that nobody used it in between."""
    texts = []
    for name in ("sockstat", "snmp", "snmp6"):
        with contextlib.suppress(OSError):
            texts.append(read_file(f"/proc/self/net/{name}"))
    return b"\n".join(line for text in texts for line in text.split(b"\n") if b"mem" not in line)


def gather_pages() -> None:
    """Put this process's private memory into huge pages where the kernel can (Linux 6.1), else do nothing.

    A fork then copies one entry for 512 pages: with torch 2.13.0 imported it costs 4 ms instead of 12.
    """
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        span, rights, *rest = line.split(maxsplit=5)
        if rights != "rw-p" or rest[-1].startswith("[stack"):
            continue
        start, end = (int(part, 16) for part in span.split("-"))
        for place in range(-(-start // HUGE_PAGE) * HUGE_PAGE, end - HUGE_PAGE + 1, HUGE_PAGE):
            LIBC.madvise(ctypes.c_void_p(place), ctypes.c_size_t(HUGE_PAGE), COLLAPSE)


def drop_capabilities() -> None:
    """Give up every capability that starting a program could give back; those that are held stay.

    Done once before any run, because each fork inherits it.
    """
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text(encoding="ascii"))
    for number in range(last + 1):
        prctl(DROP_BOUND, number)
    prctl(AMBIENT, CLEAR_ALL)


def clear_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    call("syscall", CAPSET[platform.machine()], struct.pack("=Ii", CAPABILITY_VERSION, 0), bytes(24))


def install_filter(program: bytes) -> None:
    """Load a seccomp filter (``struct sock_filter[]``) for this process and all that it starts."""
    holder = FilterProgram(len(program) // 8, program)
    call("syscall", SECCOMP[platform.machine()], SET_FILTER, 0, ctypes.byref(holder))
