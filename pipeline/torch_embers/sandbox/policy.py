"""The wall around a build's process: what it may see and do, as a command line, and the process behind that policy.

On Linux bubblewrap makes the outer wall once per zygote; ``zygote.py`` makes the inner one once per run, for which it
keeps a few capabilities that mean something only inside its own user namespace. On macOS it is ``sandbox-exec``.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import platform
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from torch_embers import resources
from torch_embers.errors import SandboxError
from torch_embers.sandbox import program, sandbox_rules, seccomp
from torch_embers.sandbox.inside.confine import THREAD_VARIABLES
from torch_embers.sandbox.inside.supervisor import send
from torch_embers.sandbox.layout import is_below

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.sandbox.layout import Layout

HOSTILE, REVIEWED, PROVING = "hostile", "reviewed", "proving"
_LOG = logging.getLogger(__name__)
PROFILES = (HOSTILE, REVIEWED, PROVING)
"""Proving is the hostile profile while its guarantees are being proven; for ``doctor`` alone."""

INSIDE = "/embers"
"""Folder inside the sandbox that holds the zygote's own file and second mounts of builds."""

CAPABILITIES = (
    *("SYS_ADMIN", "SYS_CHROOT", "SYS_RESOURCE", "SYS_PTRACE", "NET_ADMIN"),
    *("SETUID", "SETGID", "SETPCAP", "KILL", "DAC_OVERRIDE"),
)
"""What the steward, the zygote and the supervisors keep, in their own user namespace: mounts, a loopback, limits,
changing to the run's user. A run itself has none."""

FINISHING = ("seccomp", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
"""Calls by which a fork of the zygote gives up what is left, these among it."""

COVERED = (0o1777, 0o700, 0o1777)
"""Modes of a run's folders: for temporary files, home, shared memory."""

RUN_ID = 1000
FIRST_HOST_ID = 0x70000000
"""Where root starts the sandbox, runs get a user of their own in the range that systemd's list of user ids marks as
unused, because the kernel counts no processes of root (RLIMIT_NPROC)."""


@dataclass(frozen=True, slots=True)
class SandboxPolicy:
    """Everything that decides a sandbox: pure data, from which command line and configuration follow."""

    layout: Layout
    profile: str
    isolate: bool
    preload: tuple[str, ...] = ()
    own_id: bool = False
    zygote: bool = True
    bubblewrap: str = "bwrap"
    scratch: str = ""
    seed: int | None = None
    """Hash seed of the zygote; None for a random one."""
    group: int = -1
    """Descriptor by which runs join their control group, where there is one."""

    @property
    def covers(self) -> list[tuple[str, int]]:
        """Folders that are empty and private in each run, with their mode."""
        return list(zip(("/tmp", sandbox_rules.load().environment["HOME"], "/dev/shm"), COVERED, strict=True))  # noqa: S108

    @property
    def bound(self) -> tuple[tuple[Path, tuple[str, ...]], ...]:
        """Folders beside the system's that are visible, read-only, with the parts that are; the outer ones first."""
        folders = {Path.cwd() / prefix: parts for prefix, parts in self.layout.parts().items()}
        return tuple(sorted(folders.items(), key=lambda found: len(found[0].parts)))

    @property
    def devices(self) -> list[Path]:
        """Devices of a GPU, for reviewed scripts alone."""
        patterns = sandbox_rules.load().binds.devices if self.profile == REVIEWED else ()
        return [path for pattern in patterns for path in sorted(Path("/").glob(pattern.lstrip("/")))]

    def covered(self) -> list[tuple[str, Path, tuple[str, ...]]]:
        """Bound folders that a private folder of the run would hide, with the place of their second mount."""
        hidden = [found for found in self.bound if any(is_below(found[0], Path(cover)) for cover, _ in self.covers)]
        return [(f"{INSIDE}/bound/{place}", folder, parts) for place, (folder, parts) in enumerate(hidden)]

    def configuration(self) -> dict[str, Any]:
        """What the zygote is told."""
        limits = sandbox_rules.load().limits
        owner = RUN_ID if self.own_id else 0
        options = f"size={limits.disk},nr_inodes={limits.inodes},uid={owner},gid={owner}"
        use_filter, calls = sys.platform.startswith("linux") and seccomp.supported(), sandbox_rules.load().seccomp
        return {
            "isolate": self.isolate,
            "covers": [(path, f"{options},mode={mode:o}") for path, mode in self.covers],
            "rebinds": [(source, str(target)) for source, target, _ in self.covered()],
            "uid": owner,
            "filters": [
                base64.b64encode(seccomp.program(calls, devices=bool(self.devices), more=more)).decode()
                for more in (FINISHING, ())
                if use_filter
            ],
            "limits": limits.model_dump(),
            "devices": bool(self.devices),
            "zygote": self.zygote,
            "preload": list(self.preload),
            "scratch": self.scratch,
            "group": self.group,
        }

    def environment(self) -> dict[str, str]:
        """The whole environment of the zygote."""
        variables = dict.fromkeys(THREAD_VARIABLES, "1")
        variables |= sandbox_rules.load().environment
        variables["PATH"] = f"{self.layout.python.parent}:{variables['PATH']}"
        if self.seed is not None:
            variables["PYTHONHASHSEED"] = str(self.seed)
        if not self.isolate:
            variables |= {"HOME": self.scratch, "TMPDIR": self.scratch}
        return variables


def bubblewrap_command(
    policy: SandboxPolicy, files: Mapping[str, int], descriptor: int, extra: Sequence[str] = ()
) -> list[str]:
    """The command that starts the zygote behind bubblewrap.

    ``files`` maps paths to descriptors with their content; ``descriptor`` is the zygote's socket.
    """
    words = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "embers"]
    words += ["--uid", "0", "--gid", "0", *extra, "--cap-drop", "ALL"]
    for capability in CAPABILITIES:
        words += ["--cap-add", f"CAP_{capability}"]
    words.append("--clearenv")
    for name, value in policy.environment().items():
        words += ["--setenv", name, value]
    optional = [Path(path) for path in sandbox_rules.load().binds.optional]
    bound = [(folder, folder, part) for folder, parts in policy.bound for part in parts]
    bound += [(folder, Path(place), part) for place, folder, parts in policy.covered() for part in parts]
    places = [target / part for _, target, part in bound]
    for_devices = sandbox_rules.load().binds.device_binds if policy.devices else ()
    parents = [*map(Path, files), *optional, *places, *map(Path, for_devices)]
    words += _folders([*parents, *(Path(path, "x") for path, _ in policy.covers)])
    words += _system_binds()
    # Shared memory that is mapped of /dev/zero counts for no process; /dev/full reads the same and cannot be mapped.
    words += ["--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/full", "/dev/zero"]
    for device in policy.devices:
        words += ["--dev-bind", str(device), str(device)]
    for path in for_devices:
        words += ["--ro-bind-try", path, path]
    words += ["--perms", "0755", "--dir", "/dev/shm"]  # noqa: S108 - inside the sandbox
    for folder, target, part in bound:
        if (folder / part).is_symlink() and not (link := (folder / part).readlink()).is_absolute():
            words += ["--symlink", str(link), str(target / part)]
        else:
            words += ["--ro-bind", str(folder / part), str(target / part)]
    for inside, number in files.items():
        words += ["--perms", "0644", "--ro-bind-data", str(number), inside]
    words += ["--ro-bind", str(own_code()), f"{INSIDE}/inside"]
    words += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/", "--"]
    return [policy.bubblewrap, *words, *zygote_command(policy, INSIDE, descriptor)]


def own_code() -> Path:
    """The folder of the code that runs inside a build."""
    return resources.package_file("sandbox", "inside", "steward.py").parent


def zygote_command(policy: SandboxPolicy, above: str, descriptor: int) -> list[str]:
    """The zygote itself: no user site, no bytecode, and our folder on the path only while it is imported."""
    steps = f"sys.path[0] = ''; sys.path.append({above!r}); from inside import steward; del sys.path[-1], sys.path[0]"
    return [str(policy.layout.python), "-s", "-B", "-c", f"import sys; {steps}; sys.exit(steward.main({descriptor}))"]


def guard_command(lifeline: int) -> list[str]:
    """What stands before bubblewrap's command, so that nothing of it outlives the driver."""
    return [sys.executable, "-I", "-S", str(resources.package_file("sandbox", "guard.py")), str(lifeline)]


def _folders(paths: Sequence[Path]) -> list[str]:
    """Make what lies above ``paths``, open to the run's user: bubblewrap's own folders may be closed to others."""
    above = {folder: None for path in paths for folder in reversed(path.parents) if len(folder.parts) > 1}
    words = []
    for folder in above:
        if folder.parts[1] not in {"usr", "dev", "proc"}:
            words += ["--perms", "0755", "--dir", str(folder)]
    return words


def _system_binds() -> list[str]:
    binds = sandbox_rules.load().binds
    words = []
    for path in binds.system:
        words += ["--ro-bind", path, path]
    for link in map(Path, binds.links):
        if link.is_symlink():
            words += ["--symlink", str(link.readlink()), str(link)]
        elif link.is_dir():
            words += ["--ro-bind", str(link), str(link)]
    for path in binds.optional:
        words += ["--ro-bind-try", path, path]
    return words


def identity_files() -> dict[str, str]:
    """The few files of /etc that name the run's user and its own host; nothing of the real machine."""
    home = sandbox_rules.load().environment["HOME"]
    return {
        "/etc/passwd": "".join(f"embers:x:{number}:{number}::{home}:/bin/sh\n" for number in (RUN_ID, 0)),
        "/etc/group": "".join(f"embers:x:{number}:\n" for number in (RUN_ID, 0)),
        "/etc/hosts": "127.0.0.1 localhost embers\n::1 localhost embers\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def macos_profile(policy: SandboxPolicy) -> str:
    """The text for ``sandbox-exec -p``: reads of the system and the build, writes to the scratch folder, no network."""
    reads = [
        "/usr",
        "/bin",
        "/sbin",
        "/System",
        "/Library",
        "/private/var/db",
        "/dev",
        *(str(folder / part) for folder, parts in policy.bound for part in parts),
    ]
    reads.append(str(own_code()))
    quoted = " ".join(f"(subpath {json.dumps(path)})" for path in reads)
    return "\n".join(
        [
            "(version 1)",
            "(deny default)",
            "(deny network*)",
            "(allow process-fork process-exec signal sysctl-read mach-lookup iokit-open ipc-posix-shm)",
            '(allow file-read-metadata) (allow file-read* (literal "/") ' + quoted + ")",
            f"(allow file-read* file-write* (subpath {json.dumps(policy.scratch)}))",
            '(allow file-write-data (literal "/dev/null") (literal "/dev/zero"))',
            "",
        ]
    )


@dataclass
class Sandbox:
    """One running zygote behind its policy. Make it with ``start``; ``stop`` leaves nothing alive."""

    process: subprocess.Popen[bytes]
    control: socket.socket
    log: IO[bytes]
    scratch: str = ""
    first_pid: int = 0
    lifeline: int = -1
    """While it is open, the guard lets bubblewrap live."""
    ended: bool = field(default=False)

    def abandon(self) -> None:
        """Close what the kernel closes when a driver dies: the sandbox has to end by itself."""
        self.control.close()
        if self.lifeline >= 0:
            os.close(self.lifeline)
            self.lifeline = -1

    def stop(self) -> None:
        """End every process in the sandbox and wait until the kernel has done so."""
        if self.ended:
            return
        self.ended = True
        self.control.close()
        # The first process of the pid namespace: with it the kernel ends all others, then bubblewrap sees its end.
        _kill(self.first_pid or self.process.pid)
        if self.lifeline >= 0:
            os.close(self.lifeline)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        if self.scratch:
            shutil.rmtree(self.scratch, ignore_errors=True)

    def last_words(self) -> str:
        """The end of what the zygote itself or bubblewrap printed: why it did not start."""
        return "" if self.log.closed else last_line(self.log)


def last_line(log: IO[bytes]) -> str:
    """The last line of a log, shortened."""
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1][:500] if lines else ""


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def start(policy: SandboxPolicy) -> Sandbox:
    """Start a zygote behind its wall; it still has to say that it is ready.

    Raises:
        SandboxError: bubblewrap cannot start (the message has its last line).
    """
    _LOG.info("starting a sandbox: profile %s, %s", policy.profile, "isolated" if policy.isolate else "not isolated")
    ours, theirs = socket.socketpair()
    log = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the sandbox
    with theirs:
        try:
            if policy.isolate:
                return _start_bubblewrap(policy, ours, theirs, log)
            return _start_plain(policy, ours, theirs, log)
        except OSError as error:
            ours.close()
            words = last_line(log)
            log.close()
            raise SandboxError(f"the sandbox cannot start: {words or error} (ask: embers doctor)") from error


def _start_plain(policy: SandboxPolicy, ours: socket.socket, theirs: socket.socket, log: IO[bytes]) -> Sandbox:
    scratch = tempfile.mkdtemp(prefix="embers-")
    policy = replace(policy, scratch=os.path.realpath(scratch))
    command = zygote_command(policy, str(own_code().parent), theirs.fileno())
    if sys.platform == "darwin" and shutil.which("sandbox-exec"):
        command = ["sandbox-exec", "-p", macos_profile(policy), *command]
    process = subprocess.Popen(
        command,
        env=policy.environment(),
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[theirs.fileno()],
        start_new_session=True,
    )
    send(ours, policy.configuration())
    return Sandbox(process, ours, log, scratch)


def _start_bubblewrap(policy: SandboxPolicy, ours: socket.socket, theirs: socket.socket, log: IO[bytes]) -> Sandbox:
    files = {path: _holding(text) for path, text in identity_files().items()}
    info_out, info_in = os.pipe()
    go_out, go_in = os.pipe()
    lifeline_out, lifeline = os.pipe()
    inherited = [theirs.fileno(), info_in, go_out, lifeline_out, *files.values()]
    kept = [*inherited, policy.group] if policy.group >= 0 else inherited
    extra = ["--info-fd", str(info_in)]
    extra += ["--userns-block-fd", str(go_out)] if policy.own_id else []
    try:
        process = subprocess.Popen(
            [*guard_command(lifeline_out), *bubblewrap_command(policy, files, theirs.fileno(), extra)],
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=kept,
        )
    finally:
        for number in inherited[1:]:
            os.close(number)
    try:
        first = _first_pid(info_out)
        if policy.own_id:
            policy = replace(policy, own_id=_map_ids(first))
            os.write(go_in, b"1")
        send(ours, policy.configuration())
    except OSError:
        os.close(lifeline)
        process.wait()
        raise
    finally:
        os.close(info_out)
        os.close(go_in)
    return Sandbox(process, ours, log, first_pid=first, lifeline=lifeline)


def _holding(text: str) -> int:
    """A descriptor from which ``text`` can be read (it fits a pipe)."""
    out, into = os.pipe()
    os.write(into, text.encode())
    os.close(into)
    return out


def _first_pid(descriptor: int) -> int:
    """The process id, outside, of the sandbox's first process, as bubblewrap says."""
    data = b""
    while b"}" not in data:
        if not select.select([descriptor], [], [], 20)[0]:
            raise OSError("bubblewrap does not answer")
        part = os.read(descriptor, 4096)
        if not part:
            raise OSError("bubblewrap ended before it started anything")
        data += part
    return int(json.loads(data)["child-pid"])


def _map_ids(pid: int) -> bool:
    """Root inside is root outside, for reading the build; runs get an id that owns nothing on this machine.

    Returns whether they do: root of a container may have no further ids to give.
    """
    free = FIRST_HOST_ID + secrets.randbelow(1 << 24)
    only_root = f"0 {os.geteuid()} 1\n"
    owned = True
    for name in ("uid_map", "gid_map"):
        file = Path(f"/proc/{pid}/{name}")
        try:
            file.write_text(only_root + (f"{RUN_ID} {free} 1\n" if owned else ""), encoding="ascii")
        except OSError:
            owned = False
            file.write_text(only_root, encoding="ascii")
    return owned


def machine() -> str:
    """One line that names the host as far as the sandbox depends on it."""
    found = program.find()
    name = f"bubblewrap {found.version or 'of unknown version'}" if found else "no bubblewrap"
    return f"{platform.system()} {platform.release()} {platform.machine()}, {name}"
