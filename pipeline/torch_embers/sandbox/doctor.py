"""Prove on this host, by trying, that the sandbox holds. What is not proven here is not promised anywhere.

Every guarantee has probes: small scripts that try what it forbids, run as a fork of a zygote and as a fresh process.
The proof is kept until the machine boots anew or bubblewrap, the kernel, the user or the sandbox's own code changes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import select
import socket
import stat
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs

from torch_embers import resources
from torch_embers.errors import EmbersError
from torch_embers.sandbox import cgroups, layout, policy, program, sandbox_rules, seccomp
from torch_embers.sandbox.inside import landlock
from torch_embers.sandbox.inside.confine import THREAD_VARIABLES
from torch_embers.sandbox.proof import GUARANTEES, Proof
from torch_embers.sandbox.runner import Attempt, Runner, RunResult, Worker, descendants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MEMORY = 96 << 20
"""Bytes that a probe may take: small, so that the proof is quick."""

ENDS_WITHIN = 15.0
"""Seconds in which a sandbox has to end without its driver: a busy machine takes its time to schedule the guard."""

KEPT = ("host", "program", "cgroup", "cgroup_reason")
"""Fields of a proof that its file has beside the guarantees, in their order."""

SOURCES = (
    "cgroups.py",
    "layout.py",
    "policy.py",
    "program.py",
    "guard.py",
    "proof.py",
    "runner.py",
    "sandbox_rules.py",
    "seccomp.py",
    "probes.py",
    "doctor.py",
)


@dataclass(frozen=True, slots=True)
class Probe:
    """One attempt to break a guarantee, and how its run has to end."""

    guarantee: str
    name: str
    arguments: tuple[str, ...] = ()
    ended: tuple[str, ...] = ("exited",)
    exit_code: int | None = 0
    timeout: float = 60.0
    memory: int = MEMORY


@dataclass(frozen=True, slots=True)
class Bait:
    """Things on the host that a probe must not reach."""

    port: int
    abstract: str
    path: str
    secrets: tuple[str, ...]
    locked: tuple[str, ...]
    value: str


def prove(*, again: bool = False) -> Proof:
    """Return the proof for this host, from the cache or by trying (some seconds). Never raises.

    Args:
        again: try even where a proof is kept.
    """
    if not again and (kept := _kept()) is not None:
        return kept
    found = program.find()
    if found is None or found.distrust:
        missing = "bubblewrap is not installed" if sys.platform.startswith("linux") else "bubblewrap needs Linux"
        return Proof(dict.fromkeys(GUARANTEES, found.distrust if found else missing), policy.machine())
    outcome, group = _tried()
    proof = Proof(outcome, policy.machine(), found.identity, str(group.folder or ""), group.why)
    _keep(proof)
    return proof


def report(proof: Proof) -> list[str]:
    """The proof as lines of text: the host, each guarantee, and what to do where one is missing.

    Guarantees that are missing for the same reason share a line.
    """
    lines = [proof.host, *walls(proof), *(f"{_held(proof, name)} {name}" for name in proof.held)]
    by_reason: dict[str, list[str]] = {}
    for name, why in proof.missing.items():
        by_reason.setdefault(why, []).append(name)
    for why, names in by_reason.items():
        every = len(names) == len(proof.guarantees)
        lines.append(f"MISSING {f'all {len(names)} guarantees' if every else ', '.join(names)}: {why}")
    if proof.complete:
        lines.append("Scripts from issues can run here (profile hostile).")
    else:
        lines.append("Scripts from issues are refused here; reviewed cases run with what holds, or by --unsandboxed.")
        lines += [f"hint: {hint}" for hint in hints()]
    return lines


def _held(proof: Proof, name: str) -> str:
    return "held, estimated" if proof.is_estimated(name) else "held   "


def as_table(proof: Proof) -> dict[str, Any]:
    """The proof as plain data, for `embers doctor --json`."""
    return {
        "host": proof.host,
        "complete": proof.complete,
        "bubblewrap": proof.program or None,
        "landlock": landlock.version(),
        "system_call_filter": sys.platform.startswith("linux") and seccomp.supported(),
        "memory_counted_by": _counter(proof) or None,
        "cgroup": proof.cgroup or None,
        "cgroup_reason": proof.cgroup_reason or None,
        "guarantees": [
            {"name": name, "held": not why, "estimated": not why and proof.is_estimated(name), "reason": why or None}
            for name, why in proof.guarantees.items()
        ],
        "hints": [] if proof.complete else hints(),
    }


def _counter(proof: Proof) -> str:
    """What counted the memory of the probes; empty where none ran."""
    if proof.cgroup:
        return "cgroup"
    return "supervisor" if proof.cgroup_reason else ""


def walls(proof: Proof) -> list[str]:
    """What the guarantees rest on here, beside namespaces."""
    if not sys.platform.startswith("linux"):
        return []
    found = landlock.version()
    memory = {
        "cgroup": f"by the kernel (a cgroup below {proof.cgroup}) and by the supervisor",
        "supervisor": f"by the supervisor, kernel memory by its bounds (no delegated cgroup: {proof.cgroup_reason})",
        "": "by nothing yet: no sandbox was started",
    }
    return [
        f"memory  counted {memory[_counter(proof)]}",
        f"walls   namespaces, {'a' if seccomp.supported() else 'no'} filter of system calls, "
        f"{f'Landlock {found}' if found else 'no Landlock'}",
    ]


def hints() -> list[str]:
    """What on this host may stand in the way, and how to change it."""
    advice = []
    if sys.platform.startswith("linux") and program.find() is None:
        advice.append("install bubblewrap: apt install bubblewrap, dnf install bubblewrap")
    for name, wanted in (("apparmor_restrict_unprivileged_userns", "0"), ("unprivileged_userns_clone", "1")):
        with contextlib.suppress(OSError):
            if Path(f"/proc/sys/kernel/{name}").read_text(encoding="ascii").strip() != wanted:
                advice.append(f"as root: sysctl kernel.{name}={wanted}")
    with contextlib.suppress(OSError):
        if int(Path("/proc/sys/user/max_user_namespaces").read_text(encoding="ascii")) < 16:
            advice.append("as root: sysctl user.max_user_namespaces=1024")
    return advice


# --- trying -----------------------------------------------------------------------------------------------------------


def _tried() -> tuple[dict[str, str], cgroups.Delegation]:
    """Run all probes; guarantee -> empty, or the first thing that was possible; and which control group they had."""
    outcome, group = dict.fromkeys(GUARANTEES, ""), cgroups.Delegation(None)
    try:
        with _bait() as bait, Runner(Path(sys.executable), policy.PROVING, preload=()) as runner:
            for fresh in (False, True):
                for probe in _probes(bait):
                    result = next(iter(runner.run([_attempt(probe, fresh=fresh)])))
                    if result.ended == "sandbox_error" and group == cgroups.Delegation(None):  # none was ever started
                        return dict.fromkeys(GUARANTEES, result.detail), group
                    why = _breach(probe, result) or _left_alive(runner)
                    outcome[probe.guarantee] = outcome[probe.guarantee] or why
                    if result.ended == "sandbox_error":
                        return {name: why or result.detail for name, why in outcome.items()}, group
                    group = next(iter(runner.delegations()), group)
                outcome["sibling_isolation"] = outcome["sibling_isolation"] or _side_by_side(runner, fresh=fresh)
                outcome["no_survivors"] = outcome["no_survivors"] or _left_by_driver(runner, fresh=fresh)
    except (EmbersError, OSError) as error:
        return {name: why or str(error) for name, why in outcome.items()}, group
    return outcome, group


def _probes(bait: Bait) -> list[Probe]:
    limits = sandbox_rules.load().limits
    cap, disk = str(limits.processes), str(limits.disk)
    allowed = (*sandbox_rules.load().environment, "EMBERS_SEED", "PYTHONHASHSEED", "LC_CTYPE", *THREAD_VARIABLES)
    return [
        Probe("no_network", "network", (str(bait.port), bait.abstract, bait.path)),
        Probe("no_network", "families"),
        Probe("private_home", "home", bait.secrets),
        Probe("clean_environment", "environment", (bait.value, *allowed)),
        Probe("read_only_build", "build"),
        Probe("read_only_build", "locked", bait.locked),
        *([Probe("read_only_build", "fence")] if landlock.version() else []),
        Probe("private_tmp", "leave"),
        Probe("private_tmp", "found", (disk,)),
        Probe("private_tmp", "terminals"),
        Probe("own_pid_namespace", "processes"),
        Probe("own_pid_namespace", "disturb"),
        Probe("no_user_namespaces", "namespaces"),
        Probe("memory_cap", "data", (str(MEMORY + (2 << 30)),)),
        Probe("memory_cap", "shared"),
        Probe("memory_cap", "many", (str(MEMORY),), ("memory",), None),
        Probe("memory_cap", "kernels"),
        Probe("memory_cap", "buffers", (str(4 * MEMORY),), ("memory",), None),
        Probe("memory_cap", "tables", (str(2 * MEMORY),), ("memory",), None),
        Probe("memory_cap", "locks", (str(limits.locks),), ("memory",), None),
        Probe("memory_cap", "mappings", (str(2 * MEMORY),), ("memory",), None),
        Probe("memory_cap", "watchers", (str(MEMORY),), ("memory",), None),
        Probe("process_cap", "counters"),
        Probe("process_cap", "bomb", (cap,), ("exited", "processes"), memory=8 * MEMORY),
        Probe("process_cap", "threads", (cap,), ("exited", "processes"), memory=8 * MEMORY),
        Probe("output_cap", "flood", (), ("output",), None),
        Probe("time_cap", "stay", (), ("timeout",), None, 0.5),
        Probe("no_new_privileges", "rights"),
        Probe("no_survivors", "outlive"),
        Probe("sealed_result", "forge", (), ("exited",), 7),
        Probe("sibling_isolation", "keys"),
        Probe("sibling_isolation", "ports"),
        Probe("sibling_isolation", "ports"),
    ]


def _attempt(probe: Probe, *, fresh: bool) -> Attempt:
    code = resources.package_file("sandbox", "probes.py").read_text(encoding="utf-8")
    arguments = (probe.name, *probe.arguments)
    return Attempt(probe.name, code, "probe.py", arguments, timeout=probe.timeout, memory=probe.memory, fresh=fresh)


def _breach(probe: Probe, result: RunResult) -> str:
    """Empty where the run ended as it must, in the sandbox that it began in."""
    if result.repeated:
        return f"{probe.name}: the sandbox broke: {result.repeated}"
    if result.ended in probe.ended and (probe.exit_code in (None, result.exit_code) or result.ended != "exited"):
        return ""
    said = (result.stdout or result.stderr).strip().splitlines()
    return f"{probe.name}: {said[-1] if said and result.exit_code == 1 else result.detail}"


def _left_alive(runner: Runner) -> str:
    """Empty where nothing but idle zygotes runs in the sandbox, as the host's own list of processes says."""
    left = runner.left_alive()
    return f"{len(left)} processes outlived their run" if left else ""


def _side_by_side(runner: Runner, *, fresh: bool) -> str:
    """Two runs at a time: each looks for the other."""
    probes = [Probe("sibling_isolation", "processes"), Probe("sibling_isolation", "leave")] * 2
    attempts = [_attempt(probe, fresh=fresh) for probe in probes]
    for result in runner.run(attempts, jobs=2):
        if result.exit_code != 0:
            return _breach(probes[0], result)
    return ""


def _left_by_driver(runner: Runner, *, fresh: bool) -> str:
    """Close in the middle of a run what the kernel closes when a driver dies: empty where all of its sandbox ends."""
    worker = Worker(runner)
    if worker.begin(_attempt(Probe("no_survivors", "stay", timeout=60.0), fresh=fresh)) is not None:
        return "abandoned: no sandbox could be started"
    try:
        while not worker.asked():
            select.select([worker.descriptor()], [], [], worker.deadline - time.monotonic())
            if (result := worker.advance()) is not None:
                return f"abandoned: {result.detail}"
        time.sleep(0.05)  # the run begins
        alive = [pid for first in worker.first_pids() for pid in (first, *descendants(first))]
        worker.abandon()
        end = time.monotonic() + ENDS_WITHIN
        while alive and time.monotonic() < end:
            time.sleep(0.01)
            alive = [pid for pid in alive if Path(f"/proc/{pid}").exists()]
        return f"abandoned: {len(alive)} processes outlived their driver" if alive else ""
    finally:
        worker.close()


@contextlib.contextmanager
def _bait() -> Iterator[Bait]:
    """Put out what a probe might reach: servers, secrets in files and in the environment."""
    value = secrets.token_hex(16)
    cache = _cache_file().parent
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="embers-bait-")))
        places: list[Path] = []
        with contextlib.suppress(OSError):
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        prefixes = layout.find(Path(sys.executable)).prefixes  # a project's own folder may be one
        wanted = [folder / "secret", *(place / f".embers-secret-{value[:8]}" for place in (cache, *prefixes))]
        for place in wanted:
            with contextlib.suppress(OSError):
                place.write_text(value, encoding="ascii")
                stack.callback(place.unlink, missing_ok=True)
                places.append(place)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.enter_context(_listening("\0embers-" + value))
        stack.enter_context(_listening(str(folder / "socket")))
        with _variable("EMBERS_BAIT", value):
            names = ("embers-" + value, str(folder / "socket"), tuple(map(str, places)), _locked(stack))
            yield Bait(tcp.getsockname()[1], *names, value)


def _locked(stack: contextlib.ExitStack) -> tuple[str, ...]:
    """Lock files and folders that a run sees, too."""
    places = ("/usr", "/usr/bin/env", sys.base_prefix + "/lib", os.__file__, "/etc/ld.so.cache")
    found = tuple(path for path in places if os.access(path, os.R_OK))
    for path in found:
        number = os.open(path, os.O_RDONLY)
        stack.callback(os.close, number)
        fcntl.flock(number, fcntl.LOCK_SH)
    return found


@contextlib.contextmanager
def _listening(address: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        yield server


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


# --- keeping ----------------------------------------------------------------------------------------------------------


def _cache_file() -> Path:
    return Path(platformdirs.user_cache_dir("embers")) / "sandbox-proof.json"


def _identity() -> str:
    """Changes whenever the proof may no longer hold."""
    parts: list[Callable[[], str]] = [
        lambda: Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii"),
        policy.machine,
        lambda: found.identity if (found := program.find()) else "",
        lambda: f"{os.geteuid()} {sys.executable}",
        lambda: str(cgroups.find().folder),  # not why there is none: that names the session
        lambda: resources.data_file(sandbox_rules.FILE).read_text(encoding="utf-8"),
        *(file.read_text for file in sorted(policy.own_code().glob("*.py"))),
        *(resources.package_file("sandbox", name).read_text for name in SOURCES),
    ]
    digest = hashlib.sha256()
    for part in parts:
        with contextlib.suppress(OSError):
            digest.update(part().encode() + b"\0")
    return digest.hexdigest()


@dataclass(slots=True)
class _Memory:
    """The proof of this process: saves the look into the file, and stands in where no file can be written."""

    identity: str = ""
    proof: Proof | None = None


_memory = _Memory()


def _kept() -> Proof | None:
    identity = _identity()
    if _memory.identity == identity and _memory.proof is not None:
        return _memory.proof
    try:
        text = json.loads(_own_text(_cache_file()))
        if text["identity"] != identity:
            return None
        facts = (str(text[name]) for name in KEPT)
        proof = Proof({name: str(text["guarantees"][name]) for name in GUARANTEES}, *facts)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not proof.complete:  # what stood in the way may be gone by now
        return None
    _memory.identity, _memory.proof = identity, proof
    return proof


def _keep(proof: Proof) -> None:
    _memory.identity, _memory.proof = _identity(), proof
    text: dict[str, Any] = {
        "identity": _memory.identity,
        **{name: getattr(proof, name) for name in KEPT},
        "guarantees": dict(proof.guarantees),
    }
    file = _cache_file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_own(file.parent):
            return
        new = file.with_suffix(f".{secrets.token_hex(8)}")
        number = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(number, "w", encoding="utf-8") as into:
            json.dump(text, into, indent=1)
        new.replace(file)


def _is_own(folder: Path) -> bool:
    """Whether a folder belongs to this user, and nobody else may write there."""
    state = folder.lstat()
    return stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022


def _own_text(file: Path) -> str:
    """A file's content, where nobody but this user can have written it: root may run with another user's cache.

    Raises:
        OSError: it is not there, or somebody else could have written it.
    """
    if not _is_own(file.parent):
        raise PermissionError(f"{file.parent} is not this user's own")
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), encoding="utf-8") as opened:
        state = os.fstat(opened.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o022:
            raise PermissionError(f"{file} is not this user's own")
        return opened.read()
