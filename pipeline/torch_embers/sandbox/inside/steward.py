"""First process of a sandbox: takes requests, and starts a supervisor for each. It never imports what a build brings.

Messages on the socket to the driver are JSON behind a length of four bytes; the first is the configuration (see
``policy.SandboxPolicy.configuration``), each further one a run (``sandbox/runner.py``). The steward is small, so that a
supervisor is a cheap fork, and it ends with its driver at any time, also while the zygote still imports.
"""

from __future__ import annotations

import base64
import json
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
    from typing import Any

    Message = dict[str, Any]

HERE = __name__.partition(".")[0]
"""The name under which this package was imported; a script shall not find it."""


def receive(control: socket.socket) -> Message | None:
    """The next message; None when the driver is gone."""
    head = exactly(control, 4)
    body = exactly(control, int.from_bytes(head, "big")) if head else b""
    message: Message = json.loads(body.decode()) if body else {}
    return message or None


def exactly(control: socket.socket, count: int) -> bytes:
    """Read ``count`` bytes; empty at the end of the stream."""
    parts: list[bytes] = []
    while count:
        part = control.recv(min(count, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def send(control: socket.socket, message: Message) -> None:
    """Send one message."""
    body = json.dumps(message).encode()
    control.sendall(len(body).to_bytes(4, "big") + body)


def seal(config: Message) -> int:
    """Make this process and its children untouchable, and user namespaces impossible; its own pid namespace."""
    # The kernel spares the first process of a namespace from signals of the others, but for those that it handles.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.pop("PWD", None)  # bubblewrap's
    config["filter"] = base64.b64decode(config["seccomp"])
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


class Zygote:
    """A process that forks runs: where it takes orders, and what its forks start with."""

    def __init__(self, link: socket.socket, sizes: Message) -> None:
        self.link, self.sizes = link, sizes


class Steward:
    """Answers the driver's requests, one at a time."""

    def __init__(self, control: socket.socket, config: Message) -> None:
        self.control, self.config = control, config
        config["parent"] = os.getpid()
        self.own_pids = seal(config)
        self.zygotes: dict[tuple[str, ...], Zygote] = {}
        self.network = kernel.network_state() if config["isolate"] else b""

    def start_zygote(self) -> zygote.Script | None:
        """Fork the process that forks runs, and wait until it is ready. In a run's process: what to execute."""
        ours, theirs = socket.socketpair()
        if not os.fork():
            ours.close()
            self.control.close()
            return zygote.serve(theirs, self.config)
        theirs.close()
        ready = self.await_zygote(ours)
        self.zygotes[()] = Zygote(ours, ready.pop("sizes", {}))
        send(self.control, ready)
        return None

    def await_zygote(self, link: socket.socket) -> Message:
        """What a zygote says after its imports. Ends with the driver."""
        poll = select.poll()
        poll.register(link, select.POLLIN)
        poll.register(self.control, select.POLLHUP)
        if self.control.fileno() in dict(poll.poll()):
            os._exit(0)
        return receive(link) or {"ready": False, "error": "the zygote ended while it imported", "versions": {}}

    def zygote_with(self, modules: list[str]) -> Zygote:
        """The zygote that has imported these, too: made when first asked for, a fork of the one with all but the last.

        Where the last cannot be imported, it is the one without it.
        """
        names = tuple(modules)
        if names not in self.zygotes:
            before = self.zygote_with(modules[:-1])
            ours, theirs = socket.socketpair()
            zygote.send_order(before.link, {"modules": names[-1:]}, [theirs.fileno()])
            theirs.close()
            ready = self.await_zygote(ours)
            self.zygotes[names] = Zygote(ours, ready["sizes"]) if ready["ready"] else before
            if not ready["ready"]:
                if "pid" in ready:
                    zygote.send_order(before.link, {"ended": ready["pid"]}, [ours.fileno()])
                ours.close()  # and so it ends
        return self.zygotes[names]

    def attend(self, request: Message) -> None:
        """One run, from request to reply."""
        place = tempfile.mkdtemp(prefix="run-", dir=self.config["scratch"]) if self.config["scratch"] else ""
        reader, writer = os.pipe()
        # stdout, stderr, what goes wrong before the script starts, the request itself, how the run ended
        pipes = [os.pipe() for _ in range(5)]
        forking = self.zygote_with(request["modules"]) if request["mode"] == "fork" else None
        if forking is not None:
            self.config.update(forking.sizes)
        try:
            first = self.fork_supervisor()
        except OSError as error:
            send(self.control, supervisor.broken(f"cannot fork: {error}"))
            os._exit(1)
        if not first:
            os.close(reader)
            supervisor.supervise(self.config, request, writer, pipes, place)
        os.close(writer)
        if forking is not None:
            order = {"supervisor": first, "place": place}
            zygote.send_order(forking.link, order, [pipes[0][1], pipes[1][1], pipes[2][1], pipes[3][0], pipes[4][1]])
        for pair in pipes:
            os.close(pair[0])
            os.close(pair[1])
        text = collect(reader, self.control, time.monotonic() + self.patience(request))
        os.close(reader)
        reply = settle(first, text)
        if self.config["isolate"]:
            self.renew_network()
        reply["zygotes"] = len(set(self.zygotes.values()))
        send(self.control, reply)
        if place:
            shutil.rmtree(place, ignore_errors=True)

    def patience(self, request: Message) -> float:
        """Seconds until the supervisor must have answered: the longest that it may let a run go on, and some more."""
        limits = self.config["limits"]
        return float(request["timeout"] * limits["patience"] + limits["grace"])

    def fork_supervisor(self) -> int:
        """Fork, into a new pid namespace where runs are isolated; the child's number, 0 in the child."""
        if self.config["isolate"]:
            kernel.call("unshare", kernel.NEW_PIDS)  # for the next child, not for us
        first = kernel.fork() if kernel.LINUX else os.fork()
        if first and self.config["isolate"]:
            kernel.call("setns", self.own_pids, kernel.NEW_PIDS)
        return first

    def renew_network(self) -> None:
        """Give the next run a network namespace of its own where this one used its one: ports wait there a minute."""
        if kernel.network_state() != self.network:
            kernel.new_network(self.config["limits"]["socket_cost"] // 2)
            self.network = kernel.network_state()


def collect(reader: int, control: socket.socket, deadline: float) -> bytes | None:
    """What the supervisor wrote, until it ends; None when time is over. Ends with the driver."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    poll.register(control, select.POLLHUP)
    parts: list[bytes] = []
    while True:
        left = deadline - time.monotonic()
        events = dict(poll.poll(left * 1000)) if left > 0 else {}
        if control.fileno() in events:
            os._exit(0)
        if not events:
            return None
        part = os.read(reader, 1 << 20)
        if not part:
            return b"".join(parts)
        parts.append(part)


def settle(first: int, text: bytes | None) -> Message:
    """End the supervisor, and so all of its namespace, and turn its word into the reply."""
    os.kill(first, signal.SIGKILL)
    _, status = os.waitpid(first, 0)
    if text is None:
        return supervisor.broken("the supervisor of the run did not answer in time")
    if not text:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
        return supervisor.broken(f"the supervisor of the run ended early ({how}), perhaps the host had no memory left")
    reply: Message = json.loads(text.decode())
    return reply


def serve(control: socket.socket) -> zygote.Script:
    """Answer requests until the driver goes away. Comes back only in the process of a run, with what to execute."""
    config = receive(control)
    if config is None:
        os._exit(0)
    try:
        steward = Steward(control, config)
    except OSError as error:
        send(control, {"ready": False, "error": f"sandbox: {error}", "versions": {}})
        os._exit(1)
    if config["zygote"]:
        script = steward.start_zygote()
        if script is not None:
            KEPT.append(steward)
            return script
    else:
        send(control, {"ready": True, "error": "", "versions": zygote.own_version()})
    while True:
        request = receive(control)
        if request is None:
            os._exit(0)
        steward.attend(request)


def main(descriptor: int) -> int:
    """Serve, and in a run's process, run; the run's exit status."""
    for name in [name for name in sys.modules if name.partition(".")[0] == HERE]:
        del sys.modules[name]
    return execute.execute(*serve(socket.socket(fileno=descriptor)))
