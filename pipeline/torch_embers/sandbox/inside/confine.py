"""What a run's process gives up before it reads the script."""

from __future__ import annotations

import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from . import kernel, landlock

if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]

FOLDER = "/tmp"  # noqa: S108 - the run's own tmpfs
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def confine(config: Message, request: Message, ends: tuple[int, int, int], script: str, place: str) -> None:
    """Give up every right. Where a fresh process is asked for, become it; else come back to run the script here.

    ``ends`` are the descriptors for stdout, stderr, and what goes wrong here.
    """
    report = ends[2]
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(ends[0], 1)
        os.dup2(ends[1], 2)
        os.setsid()
        limit(config, request)
        prepare_environment(request, place)
        os.umask(0o022)
        if kernel.LINUX:
            if request["mode"] == "exec":
                enter_run(config)
                drop_rights(config)
            finish(config)
        os.chdir(place or FOLDER)
        if report != 3:
            os.dup2(report, 3)
            report = 3
        os.set_inheritable(3, False)  # noqa: FBT003 - the call's only form
        os.closerange(4, config["limits"]["files"])
        if request["mode"] == "exec":
            os.execv(sys.executable, [sys.executable, script, *request["arguments"]])  # noqa: S606
        if request["threads"] != 1 and "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(request["threads"])
        os.close(3)
    except BaseException as error:  # noqa: BLE001 - whatever fails here must never go on to the script
        os.write(report, f"cannot start the run: {error}".encode())
        os._exit(1)


def limit(config: Message, request: Message) -> None:
    """Resource limits; a limit that the host has already set lower stays."""
    limits = config["limits"]
    wanted = {
        # 1 and not 0: at 0 the kernel still hands cores to a piped helper, at 1 to nobody (core(5)).
        "RLIMIT_CORE": 1,
        "RLIMIT_FSIZE": limits["disk"],
        "RLIMIT_NOFILE": limits["files"],
        "RLIMIT_MEMLOCK": limits["locked"],
    }
    if kernel.LINUX:
        wanted.update(RLIMIT_MSGQUEUE=0, RLIMIT_SIGPENDING=limits["signals"])
    if config["isolate"]:  # elsewhere it would count all processes of the user
        wanted["RLIMIT_NPROC"] = limits["processes"]
    if request["memory"] and kernel.LINUX:
        base = request["allowance"] if request["mode"] == "exec" else config["data"]
        wanted["RLIMIT_DATA"] = base + request["memory"]
    for name, value in wanted.items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        lower = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (lower, lower))


def data_size() -> int:
    """Bytes of this process that RLIMIT_DATA counts."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5]) * resource.getpagesize()


def prepare_environment(request: Message, place: str) -> None:
    """What the script sees of the request."""
    if place:
        os.environ["HOME"] = os.environ["TMPDIR"] = place
        tempfile.tempdir = None
    if request["threads"] != 1:  # as the environment has it already
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(request["threads"])))
    os.environ.update(request["environment"])


def enter_run(config: Message) -> None:
    """Join the run's control group, and let its view of processes be only read; for a child of the supervisor."""
    if config["group"] >= 0:
        os.write(config["group"], b"0")
    if config["isolate"]:
        expendable()
        show_read_only()


def expendable() -> None:
    """Let this process and its children go first where the host runs out of memory."""
    kernel.write_file("/proc/self/oom_score_adj", b"1000")


def show_read_only() -> None:
    """Let nothing in ``/proc`` be changed any more."""
    flags = kernel.READ_ONLY | kernel.NO_SUID | kernel.NO_DEVICES | kernel.NO_EXECUTE
    kernel.mount(None, "/proc", None, kernel.REMOUNT | kernel.BIND | flags)


def drop_rights(config: Message) -> None:
    """No identity of value, no capability, no way to gain one, no call that is not listed: code of a build may run."""
    if config["isolate"]:
        if config["uid"]:
            os.setgroups([])
            os.setresgid(config["uid"], config["uid"], config["uid"])
            os.setresuid(config["uid"], config["uid"], config["uid"])
        kernel.clear_capabilities()
    kernel.prctl(kernel.NO_NEW_PRIVILEGES, 1)
    kernel.prctl(kernel.DUMPABLE, 1)  # it was lost with the steward's; a process may read its own /proc/self
    if config["filters"]:
        kernel.install_filter(config["filters"][0])


def finish(config: Message) -> None:
    """What concerns one run: its end with its parent, its folders, and that it makes no further rules of its own."""
    kernel.end_with(config["parent"])
    if config["isolate"]:
        landlock.restrict(config)
    if config["filters"]:
        kernel.install_filter(config["filters"][1])
