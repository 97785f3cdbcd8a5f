"""Imports torch once, then answers requests: each a fork with a supervisor and a run of its own.

Messages on the socket to the driver are JSON behind a length of four bytes; the first is the configuration (see
``run.sandbox.Wall.configuration``), each further one a run (``run.runner``).
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import platform
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from . import confine, execute, kernel, supervisor

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


def preload(names: list[str]) -> tuple[dict[str, str], str]:
    """Import what every run needs; versions by module, and what stopped it or an empty text.

    A build without numpy is one (PyTorch works without it); a build without torch is none.
    """
    versions = {"python": platform.python_version()}
    for name in names:
        try:
            module = importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever a broken build raises must be told
            if isinstance(error, ModuleNotFoundError) and name != "torch":
                continue
            return versions, f"import {name}: {type(error).__name__}: {error}"
        versions[name] = str(getattr(module, "__version__", ""))
    return versions, ""


def seal(config: Message) -> int:
    """Make the zygote untouchable, and user namespaces impossible from here on; a descriptor of its pid namespace."""
    if not kernel.LINUX:
        return -1
    if config["isolate"]:
        # bubblewrap covers parts of /proc where the caller is root; the kernel lets us mount a /proc for each run
        # only where ours is wholly visible. Runs get theirs read-only.
        for name in ("sys", "sysrq-trigger", "irq", "bus"):
            kernel.uncover(f"/proc/{name}")
        Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")
    own_pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    kernel.prctl(kernel.DUMPABLE, 0)
    return own_pids


def serve(control: socket.socket) -> tuple[execute.Work, list[Any]]:
    """Answer requests until the driver goes away. Comes back only in the process of a run, with what to execute."""
    config = receive(control)
    if config is None:
        os._exit(0)
    own_pids = -1
    versions: dict[str, str] = {}
    try:
        own_pids = seal(config)
        versions, problem = preload(config["preload"])
    except OSError as error:
        problem = f"sandbox: {error}"
    finalizers = execute.take_over_finalizers()
    gc.collect()
    gc.freeze()  # a collection in a run would touch, and so copy, every object of torch
    if kernel.LINUX:
        if config["preload"]:
            kernel.gather_pages()
        # what a fork starts with; read once, because it is the same for every run
        config["data"], config["resident"] = confine.data_size(), supervisor.memory_of("self")[0]
    send(control, {"ready": not problem, "error": problem, "versions": versions})
    while True:
        request = receive(control)
        if request is None:
            os._exit(0)
        work = attend(control, config, request, own_pids)
        if work is not None:
            return work, finalizers


def attend(control: socket.socket, config: Message, request: Message, own_pids: int) -> execute.Work | None:
    """One run, from request to reply; in the run's own process: what to execute."""
    place = tempfile.mkdtemp(prefix="run-", dir=config["scratch"]) if config["scratch"] else ""
    reader, writer = os.pipe()
    try:
        if config["isolate"]:
            kernel.call("unshare", kernel.NEW_PIDS)  # for the next child, not for us
        first = os.fork()
    except OSError as error:
        send(control, supervisor.broken(f"cannot fork: {error}"))
        os._exit(1)
    if not first:
        os.close(reader)
        return supervisor.supervise(config, request, writer, place)
    os.close(writer)
    if config["isolate"]:
        kernel.call("setns", own_pids, kernel.NEW_PIDS)
    text = collect(reader, control, time.monotonic() + request["timeout"] + config["limits"]["grace"])
    os.close(reader)
    send(control, settle(first, text))
    if place:
        shutil.rmtree(place, ignore_errors=True)
    return None


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


def main(descriptor: int) -> int:
    """Serve, and in a run's process, run; the run's exit status."""
    for name in [name for name in sys.modules if name.partition(".")[0] == HERE]:
        del sys.modules[name]
    (script, request), finalizers = serve(socket.socket(fileno=descriptor))
    return execute.execute(script, request, finalizers)
