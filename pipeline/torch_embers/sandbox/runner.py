"""Run scripts on one build: the driver's side. It never sees a script's word for how it ended, only the kernel's.

A *worker* runs one script at a time in a sandbox of its own, so that scripts that run together share no process, no
memory, no folder and no user count. It holds up to two zygotes: one with torch imported, one bare for fresh processes.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import platform
import secrets
import select
import sys
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from torch_embers.errors import InputError, SandboxError
from torch_embers.sandbox import cgroups, layout, policy, program, sandbox_rules
from torch_embers.sandbox.inside.supervisor import send
from torch_embers.sandbox.output import harmless
from torch_embers.sandbox.proof import ESTIMATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from torch_embers.sandbox.proof import Proof

PRELOAD = ("numpy", "torch")
NO_SANDBOX = cgroups.Delegation(None, "no sandbox")
STOP_PAUSE = 0.25
"""Seconds between two looks at whether runs are to stop."""


class RunsStoppedError(SandboxError):
    """Whoever asked for runs wants no more of them."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One execution of a script that is asked for."""

    key: str
    """Opaque; comes back with the result."""
    code: str
    name: str
    """Shown as the file's name in tracebacks."""
    arguments: tuple[str, ...] = ()
    seed: int = 0
    """EMBERS_SEED for the script, and the hash seed of a fresh process; no generator is touched."""
    timeout: float = 60.0
    """Seconds of wall time, without those that the run waits for a processor (at most ``patience`` times as long)."""
    memory: int = 4 << 30
    """Bytes above what the preloaded interpreter holds, per process and for all processes of the run."""
    threads: int = 1
    inject: bool = False
    """Ask the script to inject its fault: EMBERS_PLANT=1."""
    finalise: bool = False
    """Take the interpreter apart at the end, where some crashes hide."""
    fresh: bool = False
    """A new process instead of a fork of the zygote."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables; those that are not of data/sandbox.toml, ``variables``, are left out."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """What became of an attempt."""

    key: str
    exit_code: int | None
    """None where a signal ended it or the sandbox failed."""
    signal: int | None
    ended: str
    """exited | signalled | timeout | memory | output | disk | processes | sandbox_error."""
    detail: str
    """One line naming what happened."""
    stdout: str
    """The end of it, bounded, control characters written out."""
    stderr: str
    duration: float
    """Seconds of wall time."""
    cpu: float
    """Seconds of processor time, of the script and the children that it waited for."""
    waited: float
    """Seconds that its processes waited for a processor: above zero on a busy machine, 0 where that is not counted."""
    peak_memory: int
    """Bytes resident at most, as the kernel says; a fork of the zygote starts with what the zygote holds."""
    zygote: str
    """Identity of the zygote's process, random; empty for a fresh process."""
    profile: str
    guarantees: tuple[str, ...]
    versions: Mapping[str, str]
    """python, numpy and torch as imported before the fork; python alone for a fresh process."""
    repeated: str = ""
    """Why the sandbox of a first try broke, where this is the second one, in a fresh process; else empty."""
    memory_counted_by: str = ""
    """cgroup (the kernel, and the supervisor) | supervisor | empty where neither did: no sandbox."""
    kernel: str = field(default_factory=platform.release)
    """Release of the kernel on which it ran."""


class _Server:
    """A zygote and what the driver knows of it: its buffer, its readiness."""

    def __init__(self, sandbox_policy: policy.SandboxPolicy) -> None:
        self.isolated = sandbox_policy.isolate
        self.group, self.delegation = cgroups.join() if self.isolated else (None, NO_SANDBOX)
        try:
            self.sandbox = policy.start(replace(sandbox_policy, group=self.group.entry if self.group else -1))
        except BaseException:
            self._leave_group()
            raise
        self.helpers = 1 + int(sandbox_policy.zygote)
        """Processes below the steward beside a run: its supervisor, and zygotes."""
        self.ident = secrets.token_hex(4) if sandbox_policy.preload else ""
        self.ready = False
        self.versions: Mapping[str, str] = {}
        self._buffer = bytearray()
        self.sandbox.control.settimeout(0)

    def stop(self) -> None:
        """End the sandbox and every process in it."""
        self.sandbox.stop()
        self._leave_group()

    def _leave_group(self) -> None:
        if self.group is not None:
            self.group.close()
            self.group = None

    def bound(self, attempt: Attempt, allowance: int) -> None:
        """Tell the kernel what the next run may use in all: its memory, and its folders, which are memory, too."""
        if self.group is not None:
            limits = sandbox_rules.load().limits
            folders = len(policy.COVERED) * limits.disk
            memory = attempt.memory + allowance + folders if attempt.memory else 0
            self.group.bound(memory, limits.processes, attempt.threads)

    def memory_counted_by(self) -> str:
        """As in ``RunResult``."""
        if not self.isolated:
            return ""
        return "cgroup" if self.group is not None and self.group.counts_memory else "supervisor"

    def receive(self) -> dict[str, Any] | None:
        """The next whole message, if there is one.

        Raises:
            ConnectionError: the zygote is gone, or what it says is no message.
        """
        while True:
            try:
                part = self.sandbox.control.recv(1 << 20)
            except BlockingIOError:
                return self._message()
            if not part:
                raise ConnectionError("the zygote ended")
            self._buffer += part
            if len(self._buffer) > sandbox_rules.load().limits.message:
                raise ConnectionError("the zygote's reply is too long")

    def _message(self) -> dict[str, Any] | None:
        length = int.from_bytes(self._buffer[:8], "big")
        if len(self._buffer) < 8 or len(self._buffer) < 8 + length:
            return None
        body = bytes(self._buffer[8 : 8 + length])
        del self._buffer[: 8 + length]
        try:
            message = json.loads(body)
        except ValueError as error:
            raise ConnectionError("the zygote's reply is no JSON") from error
        if not isinstance(message, dict):
            raise ConnectionError("the zygote's reply is no message")
        return message

    def request(self, message: dict[str, Any]) -> None:
        """Send one request; the zygote is waiting for it, so that this does not block for long."""
        self.sandbox.control.settimeout(sandbox_rules.load().limits.grace)
        send(self.sandbox.control, message)
        self.sandbox.control.settimeout(0)


@dataclass(eq=False)
class Worker:
    """Runs one attempt at a time; knows the next step whenever its zygote says something or time is over.

    Attributes:
        runner: of the build and profile that its runs are made with.
    """

    runner: Runner
    servers: dict[bool, _Server] = field(default_factory=dict)
    attempt: Attempt | None = None
    fresh: bool = False
    retried: str = ""
    deadline: float = 0.0

    def begin(self, attempt: Attempt) -> RunResult | None:
        """Take an attempt; a result at once only where nothing can be started."""
        self.attempt, self.retried = attempt, ""
        return self._launch(fresh=attempt.fresh or not self.runner.zygote)

    def descriptor(self) -> int:
        """The socket to wait for."""
        return self.servers[self.fresh].sandbox.control.fileno()

    def advance(self) -> RunResult | None:
        """Take what the zygote says; the result when there is one."""
        server = self.servers[self.fresh]
        try:
            message = server.receive()
        except (ConnectionError, OSError) as error:
            return self._failed(server.sandbox.last_words() or str(error))
        if message is None:
            return self._failed("it did not answer in time") if time.monotonic() > self.deadline else None
        if not server.ready:
            if not message.get("ready"):
                self.drop()
                return self._result({"ended": "sandbox_error", "detail": str(message.get("error"))})
            server.ready, server.versions = True, _texts(message.get("versions"))
            return self._ask(server)
        server.helpers = int(message.get("helpers") or server.helpers)
        if message.get("ended") == "sandbox_error":
            return self._failed(str(message.get("detail")))
        if server.group is not None and server.group.ended_by_memory():
            message = {**message, "ended": "memory", "detail": "killed by the kernel at the bound of its control group"}
        return self._result(message)

    def _launch(self, *, fresh: bool) -> RunResult | None:
        self.fresh = fresh
        server = self.servers.get(fresh)
        if server is not None and server.ready:
            return self._ask(server)
        try:
            self.servers[fresh] = _Server(self.runner.policy_for(fresh=fresh))
        except (SandboxError, OSError) as error:
            return self._result({"ended": "sandbox_error", "detail": str(error)})
        self.deadline = time.monotonic() + self.runner.start
        return None

    def _ask(self, server: _Server) -> RunResult | None:
        attempt = self._current()
        limits = sandbox_rules.load().limits
        modules = sandbox_rules.modules_for(attempt.code, server.versions.get("torch", "")) if not self.fresh else []
        longest = attempt.timeout * limits.patience + 2 * limits.grace
        self.deadline = time.monotonic() + longest + (limits.start if modules else 0)
        try:
            server.bound(attempt, self.runner.allowance if self.fresh else limits.copied)
            server.request(_request(attempt, modules, fresh=self.fresh, allowance=self.runner.allowance))
        except OSError:
            return self._failed("the zygote had ended before the run")
        return None

    def _failed(self, why: str) -> RunResult | None:
        """The sandbox broke: the run is repeated once, in a fresh process and a fresh sandbox.

        Not while guarantees are being proven: what breaks a sandbox there is what the proof looks for.
        """
        self.drop()
        if self.retried or self.runner.profile == policy.PROVING:
            return self._result({"ended": "sandbox_error", "detail": why or "the sandbox broke"})
        self.retried = why or "the sandbox broke"
        return self._launch(fresh=True)

    def _result(self, message: Mapping[str, Any]) -> RunResult:
        attempt = self._current()
        self.attempt = None
        server = self.servers.get(self.fresh)
        return RunResult(
            key=attempt.key,
            exit_code=_number(message.get("exit_code")),
            signal=_number(message.get("signal")),
            ended=str(message.get("ended", "sandbox_error")),
            detail=_line(message.get("detail", "")),
            stdout=harmless(_bytes(message.get("stdout"))),
            stderr=harmless(_bytes(message.get("stderr"))),
            duration=float(message.get("duration") or 0.0),
            cpu=float(message.get("cpu") or 0.0),
            waited=float(message.get("waited") or 0.0),
            peak_memory=int(message.get("peak_memory") or 0),
            zygote=server.ident if server else "",
            profile=self.runner.profile,
            guarantees=self._guarantees(server),
            versions=server.versions if server else {},
            repeated=_line(self.retried),
            memory_counted_by=server.memory_counted_by() if server else "",
        )

    def _guarantees(self, server: _Server | None) -> tuple[str, ...]:
        """Those that are proven, by the names under which this run keeps them."""
        by_kernel = server is not None and server.memory_counted_by() == "cgroup"
        return tuple(ESTIMATED if name == "memory_cap" and not by_kernel else name for name in self.runner.guarantees)

    def _current(self) -> Attempt:
        if self.attempt is None:
            raise AssertionError("the worker has no attempt")
        return self.attempt

    def first_pids(self) -> list[int]:
        """Of the running sandboxes."""
        return [server.sandbox.first_pid for server in self.servers.values()]

    def left_alive(self) -> list[int]:
        """Processes below the stewards, but for the zygote that belongs to one of them."""
        found = []
        for server in self.servers.values():
            below = descendants(server.sandbox.first_pid)
            found += below[server.helpers :]
        return found

    def asked(self) -> bool:
        """Whether the present attempt was handed to its zygote."""
        return self.attempt is not None and self.servers[self.fresh].ready

    def abandon(self) -> None:
        """Leave the sandboxes alone, as a driver does that dies; ``close`` collects what is left."""
        for server in self.servers.values():
            server.sandbox.abandon()

    def drop(self) -> None:
        """Stop the zygote of the present attempt."""
        server = self.servers.pop(self.fresh, None)
        if server is not None:
            server.stop()

    def close(self) -> None:
        """Stop everything; the next run comes from a freshly started zygote."""
        for server in self.servers.values():
            server.stop()
        self.servers.clear()
        self.attempt = None


class Runner:
    """Runs attempts on one build in one profile; a context manager that owns its zygotes.

    Zygotes end with the thread that started them, so that a killed driver leaves nothing alive: use a runner from
    threads that live as long as it does. One ``run`` at a time.

    Args:
        python: the build's interpreter, in a virtual environment or not.
        profile: ``hostile`` (every guarantee proven on this host) or ``reviewed`` (what the host allows).
        proof: what holds on this host (``doctor.prove()``); without one nothing is taken as proven.
        zygote: whether to fork runs from a preloaded process; else each run starts Python anew.
        preload: modules that the zygote imports.
        unsandboxed: let reviewed scripts run with this user's rights where no sandbox can be had; nothing is then
            stored as held.
        start: seconds of wall time in which a zygote must be ready; for modules that take longer than torch.
        seed: hash seed of the zygote and so of its forks; None for a random one.
        stop: once it is set, what runs is ended at once: for runs in a thread, which Ctrl-C does not reach.

    Raises:
        InputError: no such profile.
        SandboxError: no interpreter there; or profile ``hostile`` and a guarantee does not hold on this host; or no
            sandbox can be had at all.
    """

    def __init__(
        self,
        python: Path,
        profile: str = policy.HOSTILE,
        proof: Proof | None = None,
        *,
        zygote: bool = True,
        preload: Sequence[str] = PRELOAD,
        unsandboxed: bool = False,
        start: float | None = None,
        seed: int | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        if profile not in policy.PROFILES:
            raise InputError(f"no profile {profile!r}: use hostile or reviewed")
        self.profile = profile
        # macOS: a fork of a process that has loaded Metal and Accelerate is not to be relied on
        self.zygote = zygote and sys.platform != "darwin"
        place = layout.find(python)
        found = program.find()
        isolate, self.guarantees = _guarantees(profile, proof, found, unsandboxed=unsandboxed)
        own_id = isolate and os.geteuid() == 0
        if own_id and (folder := layout.closed_to_others(place)) is not None:
            raise SandboxError(f"root runs scripts as another user, who cannot read {folder}: chmod -R go+rX {folder}")
        self._policy = policy.SandboxPolicy(
            layout=place,
            profile=profile,
            isolate=isolate,
            preload=tuple(preload),
            own_id=own_id,
            seed=seed,
            bubblewrap=found.path if found else "",
        )
        limits = sandbox_rules.load().limits
        self.start = float(start or limits.start)
        self.allowance = int(limits.preload if preload else limits.interpreter)
        """Bytes that a fresh process may hold beyond an attempt's memory: what a fork of the zygote begins with."""
        self._workers: list[Worker] = []
        self._stop = stop or threading.Event()

    def __enter__(self) -> Self:
        """Ready at once; zygotes start with the first run that needs them."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Leave nothing alive."""
        self.close()

    def policy_for(self, *, fresh: bool) -> policy.SandboxPolicy:
        """The sandbox of a zygote, preloaded or bare."""
        return replace(self._policy, preload=(), zygote=False) if fresh else self._policy

    def run(self, attempts: Iterable[Attempt], jobs: int = 1) -> Iterator[RunResult]:
        """Yield each attempt's result as it comes, ``jobs`` at a time; never raises for what a script does.

        Raises:
            RunsStoppedError: ``stop`` was set.
        """
        while len(self._workers) < max(1, jobs):
            self._workers.append(Worker(self))
        workers = self._workers[: max(1, jobs)]
        source = iter(attempts)
        try:
            for _, result in drive(workers, lambda _worker: next(source, None), self._stop):
                yield result
        finally:
            for worker in workers:
                if worker.attempt is not None:  # the caller stopped early: what still runs ends with its zygote
                    worker.drop()
                    worker.attempt = None

    def first_pids(self) -> tuple[int, ...]:
        """The process ids of the sandboxes' first processes, as the host numbers them."""
        return tuple(pid for worker in self._workers for pid in worker.first_pids())

    def delegations(self) -> tuple[cgroups.Delegation, ...]:
        """Where the running sandboxes have their control group, or why one has none; those without come first."""
        found = {server.delegation for worker in self._workers for server in worker.servers.values()}
        return tuple(sorted(found, key=lambda one: (one.folder is not None, str(one))))

    def left_alive(self) -> list[int]:
        """Processes, as the host numbers them, that outlived their run: to ask while none is going on."""
        return [pid for worker in self._workers for pid in worker.left_alive()]

    def close(self) -> None:
        """Stop all zygotes; the next runs come from freshly started ones."""
        for worker in self._workers:
            worker.close()


def drive(
    workers: Sequence[Worker], feed: Callable[[Worker], Attempt | None], stop: threading.Event | None = None
) -> Iterator[tuple[Worker, RunResult]]:
    """Keep every worker busy until there is nothing for any of them and the last result is out.

    Args:
        workers: one run at a time each.
        feed: the next attempt for a worker without one; None where there is nothing for it now. It is asked again after
            each result.
        stop: once it is set, no more is wanted.

    Raises:
        RunsStoppedError: ``stop`` was set.
    """
    while True:
        if stop is not None and stop.is_set():
            raise RunsStoppedError("the runs were stopped")
        ended = False
        for worker in workers:
            while worker.attempt is None and (attempt := feed(worker)) is not None:
                if (result := worker.begin(attempt)) is not None:
                    ended = True
                    yield worker, result
        busy = [worker for worker in workers if worker.attempt is not None]
        if not busy and ended:
            continue  # a worker that was asked before that result may have something to do now
        if not busy:
            return
        left = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        poll = select.poll()
        for worker in busy:
            poll.register(worker.descriptor(), select.POLLIN)
        spoke = {number for number, _ in poll.poll(min(left, STOP_PAUSE) * 1000 + 1)}
        for worker in busy:
            if worker.descriptor() in spoke or time.monotonic() > worker.deadline:
                result = worker.advance()
                if result is not None:
                    yield worker, result


def _request(attempt: Attempt, modules: Sequence[str], *, fresh: bool, allowance: int) -> dict[str, Any]:
    environment = {"EMBERS_SEED": str(attempt.seed)}
    if attempt.inject:
        environment["EMBERS_PLANT"] = "1"
    if fresh:
        environment["PYTHONHASHSEED"] = str(attempt.seed % (1 << 32))
    passed = sandbox_rules.load().variables
    environment |= {name: value for name, value in attempt.environment.items() if passed.fullmatch(name)}
    return {
        "code": attempt.code,
        "name": attempt.name,
        "arguments": list(attempt.arguments),
        "timeout": attempt.timeout,
        "memory": attempt.memory,
        "allowance": allowance,
        "threads": attempt.threads,
        "environment": environment,
        "finalise": attempt.finalise,
        "mode": "exec" if fresh else "fork",
        "modules": list(modules),
    }


def _guarantees(
    profile: str, proof: Proof | None, found: program.Program | None, *, unsandboxed: bool
) -> tuple[bool, tuple[str, ...]]:
    """Whether runs are isolated by bubblewrap here, and which guarantees are proven.

    Raises:
        SandboxError: profile ``hostile`` and not all of them are; or none, and nobody asked to run without.
    """
    if profile == policy.PROVING:
        return True, ()
    if proof is not None and proof.held and (found is None or found.identity != proof.program):
        raise SandboxError("bubblewrap is another program than the one that was tried: ask embers doctor")
    if proof is not None and (proof.complete or (profile == policy.REVIEWED and proof.held)):
        return True, proof.held
    name, why = next(iter(proof.missing.items())) if proof else ("the sandbox", "no proof was given")
    if profile == policy.HOSTILE:
        raise SandboxError(
            f"scripts from issues are not run here: {name} does not hold ({why}); see embers doctor, "
            "or run reviewed cases only"
        )
    if not unsandboxed:
        raise SandboxError(
            f"no sandbox here ({why}): mend what `embers doctor` names, or let reviewed cases run with all your rights "
            "by --unsandboxed"
        )
    return False, ()


def descendants(pid: int) -> list[int]:
    """All processes below one, the oldest first."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in sorted(map(int, task.read_text(encoding="ascii").split())):
                found += [child, *descendants(child)]
    return found


def _texts(value: object) -> dict[str, str]:
    return {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}


def _line(text: object) -> str:
    return harmless(str(text).encode(errors="backslashreplace"))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _bytes(value: object) -> bytes:
    try:
        return base64.b64decode(value) if isinstance(value, str) else b""
    except binascii.Error:
        return b""
