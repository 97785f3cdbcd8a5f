"""First process of a sandbox: takes requests, which a supervisor and zygotes carry out. It imports no build.

Messages on the socket to the driver are JSON behind a length of eight bytes; the first is the configuration (see
``policy.SandboxPolicy.configuration``), each further one a run (``sandbox/runner.py``). It ends with its driver at any
time, also while a zygote still imports.
"""

from __future__ import annotations

import base64
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import execute, host_files, kernel, landlock, supervisor, zygote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Message = dict[str, Any]

HERE = __name__.partition(".")[0]
"""The name under which this package was imported; a script shall not find it."""


def seal(config: Message) -> int:
    """Make this process and its children untouchable, and user namespaces impossible; its own pid namespace."""
    # The kernel spares the first process of a namespace from signals of the others, but for those that it handles.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.pop("PWD", None)  # bubblewrap's
    config["filters"] = [base64.b64decode(text) for text in config["filters"]]
    if not kernel.LINUX:
        return -1
    if config["isolate"]:
        # bubblewrap covers parts of /proc where the caller is root; the kernel lets us mount a /proc for each run
        # only where ours is wholly visible. Runs get theirs read-only. Terminals are covered for good.
        for path in ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/dev/pts"):
            kernel.uncover(path)
        host_files.cover()
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
        kernel.bound_buffers(config["limits"]["socket_cost"] // 2)
        kernel.drop_capabilities()
        config["landlock"] = landlock.version()
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    kernel.prctl(kernel.DUMPABLE, 0)
    return own_pids


KEPT: list[Steward] = []
"""Where a run's process leaves the steward that it was, so as not to take it apart on its way to the script."""


class ForkedRun(BaseException):
    """Raised in the process of a run, which so leaves the steward that it was forked from."""

    def __init__(self, script: zygote.Script) -> None:
        self.script = script


class Zygote:
    """A process that forks runs: where it takes orders, and what its forks start with."""

    def __init__(self, pid: int, link: socket.socket, sizes: Message) -> None:
        self.pid, self.link, self.sizes, self.used = pid, link, sizes, False

    def end(self) -> None:
        """Let it go."""
        self.link.close()
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Steward:
    """Answers the driver's requests, one at a time."""

    def __init__(self, control: socket.socket, config: Message) -> None:
        self.control, self.config = control, config
        config["parent"] = os.getpid()
        self.own_pids = seal(config)
        self.zygotes: dict[tuple[str, ...], Zygote] = {}
        self.start_supervisor()

    def start_supervisor(self) -> None:
        """Fork the first process of a new pid namespace, in which runs are made.

        Raises:
            OSError: it cannot be, or cannot mount what runs need.
        """
        self.link, theirs = socket.socketpair()
        if self.config["isolate"]:
            kernel.call("unshare", kernel.NEW_PIDS)  # for the next child, not for us
        self.supervisor = os.fork()
        if not self.supervisor:
            self.link.close()
            self.control.close()
            supervisor.serve(theirs, self.config)
        theirs.close()
        if self.config["isolate"]:
            kernel.call("setns", self.own_pids, kernel.NEW_PIDS)
        answer, _ = supervisor.receive(self.link)
        if answer is None or answer["ended"]:
            raise OSError(answer["detail"] if answer else "the supervisor ended")

    def start_zygote(self, modules: Sequence[str] = ()) -> Message:
        """Fork a process that imports and forks runs, and wait until it is ready; what it says.

        Raises:
            ForkedRun: in the process of a run.
        """
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if not pid:
            for one in (ours, self.control, self.link, *(other.link for other in self.zygotes.values())):
                one.close()
            KEPT.append(self)
            raise ForkedRun(zygote.serve(theirs, self.config, self.supervisor, [*modules]))
        theirs.close()
        made = Zygote(pid, ours, {})
        return self.note(made, tuple(modules))

    def note(self, made: Zygote, names: tuple[str, ...]) -> Message:
        """Keep a zygote once it has imported these; one that could not is ended."""
        ready = self.await_zygote(made.link)
        if self.config["isolate"]:
            supervisor.send(self.link, {})
        if ready["ready"]:
            made.sizes = ready["sizes"]
            self.zygotes[names] = made
        else:
            made.end()
        return ready

    def await_zygote(self, link: socket.socket) -> Message:
        """What a zygote says after its imports. Ends with the driver."""
        wait(link, self.control, None)
        return supervisor.receive(link)[0] or {
            "ready": False,
            "error": "the zygote ended while it imported",
            "versions": {},
        }

    def zygote_with(self, modules: list[str]) -> Zygote:
        """The zygote that has imported these, too: one that has forked nothing yet imports them, else a new one.

        Where the last cannot be imported, it is the one without it.

        Raises:
            OSError: not even the first one can import what it should.
        """
        names = tuple(modules)
        if names not in self.zygotes:
            first = self.zygotes.get(())
            if names and first is not None and not first.used:
                del self.zygotes[()]
                zygote.send_order(first.link, {"modules": names}, [])
                ready = self.note(first, names)
            else:
                ready = self.start_zygote(names)
            if not ready["ready"]:
                if not names:
                    raise OSError(ready["error"])
                self.zygotes[names] = self.zygote_with(modules[:-1])
        return self.zygotes[names]

    def attend(self, request: Message) -> None:
        """One run, from request to reply."""
        place = tempfile.mkdtemp(prefix="run-", dir=self.config["scratch"]) if self.config["scratch"] else ""
        forking = self.zygote_with(request["modules"]) if request["mode"] == "fork" else None
        # stdout, stderr, what goes wrong before the script starts, the request itself, how the run ended
        pipes = [os.pipe() for _ in range(5)]
        ours = [pipes[0][0], pipes[1][0], pipes[2][0], pipes[3][1], pipes[4][0]]
        theirs = [pipes[0][1], pipes[1][1], pipes[2][1], pipes[3][0], pipes[4][1]]
        asked = {**request, "place": place, "sizes": forking.sizes if forking else {}}
        network = kernel.network_state() if self.config["isolate"] else b""
        supervisor.send(self.link, asked, ours if forking else [*ours, *theirs[:3]])
        if forking is not None:
            forking.used = True
            zygote.send_order(forking.link, {"place": place}, theirs)
        for number in (*ours, *theirs):
            os.close(number)
        if wait(self.link, self.control, time.monotonic() + self.patience(request)):
            reply = supervisor.receive(self.link)[0] or supervisor.broken(
                "the supervisor of the run ended early, perhaps the host had no memory left"
            )
        else:
            reply = supervisor.broken("the supervisor of the run did not answer in time")
        if self.config["isolate"] and kernel.network_state() != network:
            self.renew_network()
        reply["helpers"] = 1 + len(set(self.zygotes.values()))
        supervisor.send(self.control, reply)
        if place:
            shutil.rmtree(place, ignore_errors=True)

    def patience(self, request: Message) -> float:
        """Seconds until the supervisor must have answered: the longest that it may let a run go on, and some more."""
        limits = self.config["limits"]
        return float(request["timeout"] * limits["patience"] + limits["grace"])

    def renew_network(self) -> None:
        """Start anew in another network namespace, because a run used this one: its ports wait there a minute."""
        for one in set(self.zygotes.values()):
            one.end()
        self.zygotes.clear()
        self.link.close()
        os.kill(self.supervisor, signal.SIGKILL)
        os.waitpid(self.supervisor, 0)
        kernel.new_network(self.config["limits"]["socket_cost"] // 2)
        self.start_supervisor()


def wait(link: socket.socket, control: socket.socket, deadline: float | None) -> bool:
    """Wait until somebody says something on ``link``; False when time is over. Ends with the driver."""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    poll.register(control, select.POLLHUP)
    events = dict(poll.poll(None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000))
    if control.fileno() in events:
        os._exit(0)
    return bool(events)


def serve(control: socket.socket) -> zygote.Script:
    """Answer requests until the driver goes away. Comes back only in the process of a run, with what to execute."""
    config, _ = supervisor.receive(control)
    if config is None:
        os._exit(0)
    try:
        steward = Steward(control, config)
    except OSError as error:
        supervisor.send(control, {"ready": False, "error": f"sandbox: {error}", "versions": {}})
        os._exit(1)
    try:
        if config["zygote"]:
            supervisor.send(control, steward.start_zygote())
        else:
            supervisor.send(control, {"ready": True, "error": "", "versions": zygote.own_version()})
        while True:
            request, _ = supervisor.receive(control)
            if request is None:
                os._exit(0)
            steward.attend(request)
    except ForkedRun as run:
        return run.script


def main(descriptor: int) -> int:
    """Serve, and in a run's process, run; the run's exit status."""
    for name in [name for name in sys.modules if name.partition(".")[0] == HERE]:
        del sys.modules[name]
    return execute.execute(*serve(socket.socket(fileno=descriptor)))
