"""Imports torch once and forks a run for each order of the steward. It never sees a script, an argument or an output.

So a fork starts without remains of the run before: what is asked for is read after the fork, by the run itself.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import json
import os
import platform
import signal
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from . import confine, execute, kernel, supervisor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Message = dict[str, Any]
    Script = tuple[str, dict[str, Any], execute.Finalizers]
    """The path of the script, the request, and the finalizers that were taken over."""

COMPILER_CACHE = "TORCHINDUCTOR_CACHE_DIR"
MOST_ORDER = 4096
"""Bytes of an order: two numbers and a path."""


def own_version() -> dict[str, str]:
    """Of the interpreter."""
    return {"python": platform.python_version()}


def preload(names: list[str]) -> tuple[dict[str, str], str]:
    """Import what every run needs; versions by module, and what stopped it or an empty text.

    A build without numpy is one (PyTorch works without it); a build without torch is none. Modules within torch only
    save time: where one cannot be imported here, each run imports it.
    """
    versions = own_version()
    with no_temporary_files():
        return versions, import_all(names, versions)


@contextlib.contextmanager
def no_temporary_files() -> Iterator[None]:
    """Name a folder that is there to modules that ask for one as they load; nothing is written, a run finds its own.

    The compiler of torch 2.15 makes its cache as soon as it is imported, if the folder does not exist.
    """
    tempfile.tempdir = os.environ[COMPILER_CACHE] = "/tmp"  # noqa: S108
    try:
        yield
    finally:
        del os.environ[COMPILER_CACHE]
        tempfile.tempdir = None


def import_all(names: list[str], versions: dict[str, str]) -> str:
    """Import modules and note their versions; what stopped it, or an empty text."""
    for name in names:
        if name.startswith("torch.") and not can_import(name):
            continue
        try:
            module = importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever a broken build raises must be told
            if isinstance(error, ModuleNotFoundError) and name != "torch":
                continue
            return f"import {name}: {type(error).__name__}: {error}"
        versions[name] = str(getattr(module, "__version__", ""))
    return ""


def can_import(name: str) -> bool:
    """Whether a module can be imported here, tried in a process of its own: half an import would stay in every run."""
    pid = os.fork()
    if not pid:
        try:
            importlib.import_module(name)
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


def send_order(link: socket.socket, order: Message, descriptors: list[int]) -> None:
    """Give an order, with the descriptors of a run; the zygote reads one before the next is sent."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    with contextlib.suppress(OSError):  # a zygote that is gone is told by its descriptors, which close with it
        link.sendmsg([json.dumps(order).encode()], rights)


def receive_order(link: socket.socket) -> tuple[Message, list[int]] | None:
    """The next order with its descriptors; None when the steward is gone."""
    text, rights, _, _ = link.recvmsg(MOST_ORDER, socket.CMSG_SPACE(5 * array.array("i").itemsize))
    if not text:
        return None
    numbers = array.array("i")
    for _, _, data in rights:
        numbers.frombytes(data[: len(data) - len(data) % numbers.itemsize])
    order: Message = json.loads(text.decode())
    return order, list(numbers)


def serve(link: socket.socket, config: Message, supervisor_pid: int, modules: list[str]) -> Script:
    """Import, then fork runs until the steward goes away. Comes back in the process of a run, with what to execute.

    What needs rights is done before anything is imported: children are born in the namespaces of the supervisor.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as a script finds it
    if config["isolate"]:
        confine.expendable()
        kernel.enter(f"/proc/{supervisor_pid}/ns", (("mnt", kernel.NEW_MOUNTS), ("pid", kernel.NEW_PIDS)))
    if config["group"] >= 0:
        os.close(config["group"])
    if kernel.LINUX:
        confine.drop_rights(config)
        kernel.end_with(config["parent"])
    versions, problem = preload(config["preload"])
    if modules and not problem:
        problem = extend(modules)
    config["parent"] = os.getpid()
    return fork_runs(link, config, versions, problem)


def extend(names: list[str]) -> str:
    """Import further modules; what speaks against a fork, or an empty text.

    It is refused where a module is missing or broken, or leaves threads or processes behind, which a fork would lack.
    """
    try:
        for name in names:
            importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - whatever a broken module raises must be told
        return f"import {name}: {type(error).__name__}: {error}"
    return company()


def company() -> str:
    """What this process has beside its one thread, processes being ended; empty where nothing."""
    if not kernel.LINUX:
        return ""
    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    for pid in map(int, children):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return f"{threads} threads and {len(children)} processes after the import" if threads > 1 or children else ""


def tell_ready(link: socket.socket, config: Message, versions: dict[str, str], problem: str) -> None:
    """Say what was imported, and what a fork starts with."""
    gc.collect()
    gc.freeze()  # a collection in a run would touch, and so copy, every object of torch
    if kernel.LINUX:
        if config["preload"]:
            kernel.gather_pages()
        # read once, because it is the same for every run
        config["data"], config["resident"] = confine.data_size(), supervisor.memory_of("self")[0]
    sizes = {name: config.get(name, 0) for name in ("data", "resident")}
    supervisor.send(link, {"ready": not problem, "error": problem, "versions": versions, "sizes": sizes})


def fork_runs(link: socket.socket, config: Message, versions: dict[str, str], problem: str) -> Script:
    """Say what was imported, then take orders. Comes back only in the process of a run."""
    finalizers = execute.Finalizers()
    finalizers.take_over()
    tell_ready(link, config, versions, problem)
    while True:
        order = receive_order(link)
        if order is None:
            os._exit(0)
        wanted, descriptors = order
        if "modules" in wanted:
            tell_ready(link, config, {}, extend(wanted["modules"]))
            continue
        script = fork_run(config, wanted, descriptors)
        if script is not None:
            link.detach()  # closed long ago; Python would look for somebody to warn
            return (*script, finalizers)


def fork_run(config: Message, order: Message, descriptors: list[int]) -> tuple[str, Message] | None:
    """One run, from order to its end, which the supervisor is told. In the run's own process: what to execute."""
    out, err, problem, go, ending = descriptors
    pid = -1
    with contextlib.suppress(OSError):  # the supervisor sees its descriptors close without a word
        pid = os.fork()
    if not pid:
        return begin(config, (out, err, problem), go, order["place"])
    for number in (out, err, problem, go):
        os.close(number)
    with contextlib.suppress(OSError), os.fdopen(ending, "wb", buffering=0) as file:
        if pid > 0:
            file.write(b"%d\n" % pid)
            _, status, usage = os.wait4(pid, 0)
            file.write(json.dumps(supervisor.ending_of(status, usage)).encode())
    return None


def begin(config: Message, ends: tuple[int, int, int], go: int, place: str) -> tuple[str, Message]:
    """In the run's process: wait until the supervisor is ready, give up what is left."""
    text = kernel.read_all(go)
    if not text:
        os._exit(1)
    request: Message = json.loads(text.decode())
    confine.confine(config, request, ends, request["script"], place)
    return request["script"], request
