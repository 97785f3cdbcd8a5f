"""Runs inside the sandbox and tries what it must prevent. Python 3.8, standard library.

Usage: ``python probes.py NAME [ARGUMENT ...]``. Exit 0: prevented. Exit 1: the last line says what was possible.
Some probes only do harm (flood, sleep ...); there the driver judges how the run ended.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import stat
import struct
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mmap.restype = ctypes.c_void_p
NEW_USER, SIBLING = 0x10000000, 0x8000


def fail(text: str) -> NoReturn:
    """Say what was possible."""
    sys.stdout.write(f"{text}\n")
    sys.exit(1)


def refused(what: str, action: Callable[..., object], *arguments: object) -> None:
    """``action`` must fail with OSError."""
    try:
        action(*arguments)
    except OSError:
        return
    fail(what)


def read(path: str) -> None:
    """A file's first byte."""
    with Path(path).open("rb") as file:
        file.read(1)


def must_be_denied(what: str, answer: int) -> None:
    """A system call must have answered with an error."""
    if answer >= 0:
        fail(what)


def syscall(*arguments: int) -> int:
    """A raw system call."""
    return int(LIBC.syscall(*[ctypes.c_long(value) for value in arguments]))


def syscall_with(*arguments: Any) -> int:
    """A raw system call with pointers."""
    return int(LIBC.syscall(*arguments))


def connect(family: int, address: Any, kind: int = socket.SOCK_STREAM) -> None:
    """Open a connection."""
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)


def network(port: str, abstract: str, path: str) -> None:
    """Reach a listening server of the host by every way."""
    refused("TCP to the host's loopback", connect, socket.AF_INET, ("127.0.0.1", int(port)))
    refused("TCP by IPv6", connect, socket.AF_INET6, ("::1", int(port)))
    refused("a route to the outside", connect, socket.AF_INET, ("192.0.2.1", 53), socket.SOCK_DGRAM)
    refused("a route to the outside by IPv6", connect, socket.AF_INET6, ("2001:db8::1", 53), socket.SOCK_DGRAM)
    refused("an abstract socket of the host", connect, socket.AF_UNIX, "\0" + abstract)
    refused("a socket file of the host", connect, socket.AF_UNIX, path)
    refused("vsock", socket.socket, 40, socket.SOCK_STREAM)
    refused("raw packets", socket.socket, 17, socket.SOCK_RAW)
    refused("raw IP", socket.socket, socket.AF_INET, socket.SOCK_RAW, 1)


def families() -> None:
    """Open sockets and pairs that no namespace covers, or that load code into the host's kernel."""
    kinds = (1, 2, 3, 5)  # stream, datagram, raw, sequence of packets
    for family in range(64):
        for kind in kinds:
            if family not in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, 16):
                refused(f"a socket of family {family}", socket.socket, family, kind)
            if family != socket.AF_UNIX:
                refused(f"a pair of sockets of family {family}", socket.socketpair, family, kind)
    try:
        socket.socketpair(socket.AF_INET)
    except OSError as error:
        if error.errno != errno.EAFNOSUPPORT:  # the kernel says EOPNOTSUPP of those that it knows
            fail("pairs of sockets reach the kernel")
    for family in (socket.AF_INET, socket.AF_INET6):
        for kind in (*kinds, 6):
            for number in (1, 2, 33, 58, 132, 136, 255, 256, 262):
                refused(f"a socket of protocol {number}", socket.socket, family, kind, number)
    for number in range(1, 32):
        refused(f"a netlink socket of protocol {number}", socket.socket, 16, socket.SOCK_RAW, number)


def keys() -> None:
    """Keep something in a key ring, which belongs to the user of the host and outlives a run."""
    add, request, control = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[os.uname().machine]
    must_be_denied("a key", syscall_with(add, b"user", b"probe", b"value", 5, -4))
    must_be_denied("the key ring of the user", syscall_with(control, 0, -4, 1))
    if syscall_with(request, b"user", b"probe", None, 0) >= 0 or ctypes.get_errno() != errno.ENOSYS:
        fail("a search for keys")  # the kernel says ENOKEY where there is none


def home(*secrets: str) -> None:
    """Find anything of the user."""
    seen = [path.name for path in Path(os.environ["HOME"]).iterdir()]
    if seen:
        fail(f"the home holds {seen[:3]}")
    for path in secrets:
        if os.path.lexists(path):
            fail(f"{path} is visible")


def environment(value: str, *allowed: str) -> None:
    """Find a variable that nobody gave."""
    more = set(os.environ) - set(allowed)
    if more or value in os.environ.values():
        fail(f"the environment holds {sorted(more)}")
    refused("the environment of the supervisor", read, "/proc/1/environ")


def build() -> None:
    """Change the build or the system."""
    for name in (sys.prefix, sys.base_prefix, str(Path(os.__file__).parent), "/", "/usr", "/etc", "/dev"):
        folder = Path(name)
        refused(f"a file in {folder}", (folder / ".embers-probe").touch)
        refused(f"new rights of {folder}", folder.chmod, 0o777)
    refused("a change of the interpreter", Path(sys.executable).resolve().open, "ab")
    for device in ("null", "zero", "full", "random", "urandom", "tty"):
        refused(f"a time of {device}", os.utime, f"/dev/{device}")


def locked(*paths: str) -> None:
    """Find locks that the host holds on files that this run sees: it would wait for those of the run, too."""
    for path in paths:
        number = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fail(f"a lock on {path} of the host")


def fence() -> None:
    """Make a device in a folder of one's own: Landlock refuses it before the kernel looks for the right to do so."""
    try:
        os.mknod("/tmp/device", 0o600 | stat.S_IFBLK, os.makedev(7, 0))  # noqa: S108
    except OSError as error:
        if error.errno != errno.EACCES:  # without Landlock it is EPERM
            fail("Landlock is not in force")
        return
    fail("a device")


PLACES = tuple(map(Path, ("/tmp", "/dev/shm", os.environ.get("HOME", "/"))))  # noqa: S108 - inside the sandbox


def leave() -> None:
    """Leave something for the next run, everywhere that can be written."""
    for place in PLACES:
        (place / "left").touch()
    LIBC.semget(0x454D4252, 1, 0o1666)
    LIBC.msgget(0x454D4252, 0o1666)


def found(disk: str) -> None:
    """Find what another run left; take more disk than there is."""
    for place in PLACES:
        if (place / "left").exists():
            fail(f"a file of another run in {place}")
        state = os.statvfs(place)
        if not 0 < state.f_blocks * state.f_frsize <= int(disk):
            fail(f"{place} is not bounded")
        with (place / "big").open("w") as file:
            refused(f"more room in {place} than the cap", os.posix_fallocate, file.fileno(), 0, int(disk) + 4096)
    must_be_denied("a semaphore of another run", LIBC.semget(0x454D4252, 1, 0))
    must_be_denied("a message queue of another run", LIBC.msgget(0x454D4252, 0))


def processes() -> None:
    """See, signal or trace what does not belong to this run."""
    seen = {int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    if not seen <= {1, os.getpid()} or os.getpid() > 100:
        fail(f"processes {sorted(seen)} are visible")
    for name in ("mem", "environ", "maps", "syscall"):
        refused(f"{name} of the supervisor", read, f"/proc/1/{name}")
    for name in ("root", "cwd", "exe", *(f"fd/{number}" for number in range(64))):
        refused(f"{name} of the supervisor", os.readlink, f"/proc/1/{name}")
    must_be_denied("ptrace of the supervisor", LIBC.ptrace(16, 1, 0, 0))
    for number in (signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(1, number)
        except OSError:
            continue
    time.sleep(0.05)  # were the supervisor gone or stopped, this run would not end well


def disturb() -> None:
    """End, stop or starve the supervisor by signals, limits and priorities."""
    import resource

    for number in range(1, 65):
        LIBC.kill(1, number)
    for name in [name for name in dir(resource) if name.startswith("RLIMIT_")]:
        refused(f"{name} of the supervisor", resource.prlimit, 1, getattr(resource, name), (0, 0))
    refused("the processors of the supervisor", os.sched_setaffinity, 1, {0})
    refused("the priority of the supervisor", os.setpriority, os.PRIO_PROCESS, 1, 19)
    refused("the priority of its user", os.setpriority, os.PRIO_USER, 0, 19)
    clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    pid = syscall(clone, SIBLING | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    must_be_denied("a process beside this one, which nobody waits for", pid)
    time.sleep(0.05)  # were the supervisor gone, this run would not end well


def terminals() -> None:
    """Make a pseudo-terminal, or find one."""
    refused("a pseudo-terminal", os.openpty)
    if any(Path("/dev/pts").iterdir()):
        fail("terminals of others are visible")


def counters() -> None:
    """Use up what the kernel counts for the user of the host."""
    timer = ctypes.c_int()
    number = {"x86_64": 222, "aarch64": 107}[os.uname().machine]
    must_be_denied("a timer", syscall_with(number, 1, None, ctypes.byref(timer)))
    must_be_denied("inotify", LIBC.inotify_init1(0))
    number = {"x86_64": 206, "aarch64": 0}[os.uname().machine]
    must_be_denied(
        "requests that are counted for the machine", syscall_with(number, 100, ctypes.byref(ctypes.c_long()))
    )


def ports() -> None:
    """Leave a port behind that waits for a minute, and find that of another run; to be run twice."""
    with socket.create_server(("127.0.0.1", 23456), reuse_port=False) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        with socket.create_connection(("127.0.0.1", 23456)) as client:
            server.accept()[0].close()
            client.recv(1)
    if len(Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()) > 2:
        fail("ports of another run")


def namespaces() -> None:
    """Make a user namespace, by the call and around the filter."""
    must_be_denied("unshare of a user namespace", LIBC.unshare(NEW_USER))
    numbers = {"x86_64": 56, "aarch64": 220}
    pid = syscall(numbers[os.uname().machine], NEW_USER | signal.SIGCHLD, 0, 0, 0, 0)
    if pid == 0:
        os._exit(0)
    must_be_denied("clone into a user namespace", pid)
    if int(Path("/proc/sys/user/max_user_namespaces").read_text(encoding="ascii")) != 0:
        fail("the kernel still allows user namespaces here")


def data(size: str) -> None:
    """Take more memory than the cap."""
    try:
        bytearray(int(size))
    except MemoryError:
        return
    fail(f"{size} bytes of data")


def shared() -> None:
    """Take shared memory, which the cap for data does not count, or huge pages, which no process counts."""
    if hasattr(os, "memfd_create"):
        refused("memory in a file without a name", os.memfd_create, "probe")
    must_be_denied("System V memory", int(LIBC.shmget(0, ctypes.c_size_t(1 << 20), 0o1666)))
    huge = 0x40000
    for flags in (mmap.MAP_SHARED, mmap.MAP_SHARED | huge, mmap.MAP_PRIVATE | huge):
        refused(
            f"memory with flags {flags:#x}",
            mmap.mmap,
            -1,
            4096 if flags < huge else 2 << 20,
            flags | mmap.MAP_ANONYMOUS,
        )
    with Path("/dev/zero").open("r+b", buffering=0) as file:
        refused("shared memory of /dev/zero", mmap.mmap, file.fileno(), 4096)
    for place in PLACES:
        refused(f"attributes of files in {place}", os.setxattr, place, "user.probe", b"x")


def kernels() -> None:
    """Take memory of the kernel that no limit counts."""
    must_be_denied("System V semaphores", int(LIBC.semget(0, 32000, 0o600)))
    must_be_denied("System V queues", int(LIBC.msgget(0, 0o600)))
    queue, splice = {"x86_64": (240, 278), "aarch64": (180, 75)}[os.uname().machine]
    must_be_denied("POSIX queues", syscall_with(queue, b"probe", 0o102, 0o600, None))
    into = os.pipe()[1]
    text = ctypes.create_string_buffer(64)
    vector = (ctypes.c_size_t * 2)(ctypes.addressof(text), 64)
    must_be_denied("memory in a pipe", syscall_with(splice, into, vector, ctypes.c_ulong(1), 0))
    must_be_denied(
        "a table of futexes", syscall_with({"x86_64": 157, "aarch64": 167}[os.uname().machine], 78, 1, 1 << 16, 0, 0)
    )
    must_be_denied("a set of rules", syscall_with(444, (ctypes.c_uint64 * 2)(0, 3), ctypes.c_size_t(16), 0))
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("@HP", 1, ctypes.addressof(allow)))
    number = {"x86_64": 317, "aarch64": 277}[os.uname().machine]
    must_be_denied("a filter of calls", syscall_with(number, 1, 0, program))
    most = [
        int(Path(f"/proc/sys/net/ipv4/{name}").read_text(encoding="ascii").split()[2])
        for name in ("tcp_rmem", "tcp_wmem")
    ]
    if max(most) > 1 << 18:
        fail(f"a connection may buffer {most[0]} and {most[1]} bytes")


def buffers(size: str) -> None:
    """Fill sockets that nobody reads; the driver looks for the end by memory."""
    kept = []
    for _ in range(min(450, int(size) // 400000)):
        pair = socket.socketpair()
        kept.append(pair)
        for one in pair:
            one.settimeout(0)
            try:
                while True:
                    one.send(bytes(65536))
            except OSError:
                continue
    time.sleep(50)


def tables(size: str) -> None:
    """Make page tables of mappings that hold nothing; the driver looks for the end by memory."""
    step = 2 << 20
    for _ in range(int(size) // 4096 // 1000 + 1):
        length = ctypes.c_size_t(1000 * step)
        start = LIBC.mmap(None, length, mmap.PROT_READ, 0x4022, -1, 0)  # private, anonymous, not reserved
        LIBC.madvise(ctypes.c_void_p(start), length, 15)  # no huge pages
        for place in range(start, start + 1000 * step, step):
            ctypes.string_at(place, 1)
    time.sleep(50)


def mappings(size: str) -> None:
    """Make as many mappings as there may be, which hold nothing; the driver looks for the end by memory."""
    start = LIBC.mmap(None, ctypes.c_size_t(60000 * 4096), 0, 0x4022, -1, 0)
    for place in range(0, 60000, 2):
        LIBC.mprotect(ctypes.c_void_p(start + place * 4096), ctypes.c_size_t(4096), mmap.PROT_READ)
    for _ in range(min(64, int(size) // (60000 * 256))):
        if os.fork() == 0:
            break
    time.sleep(50)


def locks(most: str) -> None:
    """Take kernel memory by locks on ranges of a file; the driver looks for the end by memory."""
    with Path("/tmp/locked").open("wb") as file:  # noqa: S108
        for place in range(int(most) + 100):
            fcntl.fcntl(file, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, (1 << 40) - 2 * place, 1, 0))
        time.sleep(50)


def watchers(size: str) -> None:
    """Let files watch each other, which is memory of the kernel; the driver looks for the end by memory."""
    for _ in range(4):
        if os.fork() == 0:
            watched = [os.pipe()[0] for _ in range(50)]
            kept = [select.epoll() for _ in range(min(800, int(size) // 131072))]
            for one in kept:
                for number in watched:
                    one.register(number, select.EPOLLIN)
            time.sleep(50)
            os._exit(0)
    time.sleep(50)


def many(size: str) -> None:
    """Take the memory in many processes, each below the cap."""
    for _ in range(16):
        if os.fork() == 0:
            part = bytearray(b"x") * (int(size) // 4)
            time.sleep(50)
            os._exit(len(part) & 1)
    time.sleep(50)


def bomb(cap: str) -> None:
    """Fork until it is refused."""
    count = 0
    while count <= 4 * int(cap):
        try:
            pid = os.fork()
        except OSError:
            break
        if pid == 0:
            time.sleep(10)
            os._exit(0)
        count += 1
    if not int(cap) // 2 <= count <= int(cap):
        fail(f"{count} processes")


def threads(cap: str) -> None:
    """Start threads until it is refused."""
    count = 0
    while count <= 4 * int(cap):
        try:
            threading.Thread(target=time.sleep, args=(10,), daemon=True).start()
        except RuntimeError:
            break
        count += 1
    if count > int(cap):
        fail(f"{count} threads")
    sys.stdout.flush()
    os._exit(0)


def flood() -> None:
    """Print without an end."""
    while True:
        os.write(1, b"x" * 65536)


def stay() -> None:
    """Ignore every signal that can be ignored."""
    for number in range(1, signal.NSIG):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            continue
    while True:
        time.sleep(1)


def rights() -> None:
    """Find a capability or a way to gain one."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    state = dict(line.split(":", 1) for line in lines if ":" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(state[name], 16):
            fail(f"{name} is {state[name].strip()}")
    if state["NoNewPrivs"].strip() != "1":
        fail("new privileges can be gained")
    if state["Seccomp"].strip() != "2":
        fail("no filter of system calls")
    must_be_denied("addresses that are not random", LIBC.personality(0x0040000))
    if 0 in os.getresuid() and int(Path("/proc/self/uid_map").read_text(encoding="ascii").split()[1]) == 0:
        fail("the run belongs to root outside")


def outlive() -> None:
    """Leave a process behind that has cut every tie."""
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in range(3):
            os.close(number)
        while True:
            time.sleep(1)
    time.sleep(0.1)


def forge() -> None:
    """Write a good result into every descriptor that might lead out; the true end is exit 7."""
    body = json.dumps({"ended": "exited", "exit_code": 0, "signal": None, "stdout": "", "stderr": ""}).encode()
    for number in range(3, 1024):
        try:
            mode = os.fstat(number).st_mode
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            continue
        if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            os.write(number, len(body).to_bytes(8, "big") + body)
    for number in range(64):
        try:
            with Path(f"/proc/1/fd/{number}").open("wb") as file:
                file.write(body)
        except OSError:
            continue
    must_be_denied("a descriptor of the supervisor", syscall(438, 1, 3, 0))
    os._exit(7)


def main() -> None:
    """Run the probe that the first argument names."""
    probe = {name: value for name, value in globals().items() if callable(value)}[sys.argv[1]]
    probe(*sys.argv[2:])


if __name__ == "__main__":
    main()
