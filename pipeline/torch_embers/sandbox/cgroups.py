"""Control groups (cgroup v2), where a part of their tree is delegated to us: the kernel counts all memory of a run.

A group is made below the nearest group above this process that may be written and gives memory and processes to its
children; `systemd-run --user --scope` starts a command in such a place. Nothing is moved but the runs themselves.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids")
DELEGATED = ("trusted.delegate", "user.delegate")
"""Attributes by which systemd marks what it leaves to others."""
PERIOD = 100_000
"""Microseconds in which processor time is counted: the kernel's default."""
PREFIX = "embers-"


@dataclass(frozen=True, slots=True)
class Delegation:
    """Where groups can be made: ``folder``, or ``why`` nowhere."""

    folder: Path | None
    why: str = ""


def find(root: Path = Path("/")) -> Delegation:
    """Look for a delegated group; ``root`` is another folder only in tests."""
    try:
        own = _own_path((root / "proc/self/cgroup").read_text(encoding="utf-8"))
        above, mount = _mount((root / "proc/self/mountinfo").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Delegation(None, str(error) if isinstance(error, ValueError) else "no control groups here")
    top = root / mount.lstrip("/")
    place = top / os.path.relpath(own, above) if Path(own).is_relative_to(above) else top
    reasons = [(len(CONTROLLERS) + 1, f"{own} and the groups above it are not ours to write")]
    for folder in (place, *(one for one in place.parents if one.is_relative_to(top))):
        if not all(os.access(path, os.W_OK) for path in (folder, folder / "cgroup.procs")):
            continue
        lacking = [name for name in CONTROLLERS if name not in _words(folder / "cgroup.subtree_control")]
        if lacking:
            reasons.append((len(lacking), f"{' and '.join(lacking)} not given to groups below {own}"))
        elif os.geteuid() == 0 and not _is_left_to_us(folder, top):
            advice = "start embers below a scope with Delegate=yes, as docs/commands/doctor.md shows for root"
            reasons.append((0, f"systemd keeps the groups above {own} for itself: {advice}"))
        else:
            return Delegation(folder)
    return Delegation(None, min(reasons)[1])


def join() -> tuple[Group | None, Delegation]:
    """A group for the runs of one worker with where it is; or none with why, which may be the kernel's refusal."""
    found = find()
    if found.folder is None:
        return None, found
    try:
        return Group(found.folder), found
    except OSError as error:
        return None, Delegation(None, f"a group below {found.folder} was refused: {error.strerror or error}")


def _own_path(text: str) -> str:
    """Path of this process in the tree of version 2, of ``/proc/self/cgroup``."""
    lines = [line.split(":", 2) for line in text.splitlines()]
    for number, names, path in lines:
        if number != "0" and "memory" in names.split(","):
            raise ValueError("memory is counted by control groups of version 1 here")
        if number == "0":
            return path
    raise ValueError("no control groups of version 2 here")


def _mount(text: str) -> tuple[str, str]:
    """Which group is mounted where, of ``/proc/self/mountinfo``."""
    for line in text.splitlines():
        fields, _, kind = line.partition(" - ")
        if kind.startswith("cgroup2 "):
            above, mount = fields.split()[3:5]
            return above, mount
    raise ValueError("control groups of version 2 are not mounted here")


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="ascii").split()
    except OSError:
        return []


def _is_left_to_us(folder: Path, top: Path) -> bool:
    """Whether root may make groups here: marked so, or the top of a container's tree (the machine's has no type)."""
    places = [one for one in (folder, *folder.parents) if one.is_relative_to(top)]
    for place in places:
        for name in DELEGATED:
            with contextlib.suppress(OSError):
                if os.getxattr(place, name) == b"1":
                    return True
    return folder == top and (top / "cgroup.type").exists()


def make_folder(folder: Path) -> None:
    """Make a group: the kernel fills the folder."""
    folder.mkdir()


class Group:
    """A group for the runs of one worker, one after the other. ``close`` removes it; so does a later driver."""

    def __init__(self, parent: Path) -> None:
        """Raises OSError where the kernel refuses it after all."""
        remove_abandoned(parent)
        self.folder = parent / f"{PREFIX}{secrets.token_hex(6)}"
        make_folder(self.folder)
        self._held = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        self.entry = os.open(self.folder / "cgroup.procs", os.O_WRONLY)
        """A process that writes 0 here joins the group."""
        self.counts_memory = (self.folder / "memory.max").exists()
        self._kills = self._killed()

    def bound(self, memory: int, processes: int, threads: int) -> None:
        """Set what the next run may use: bytes (0: no bound), processes, and one core more than it has threads."""
        self._kills = self._killed()
        wanted = {
            "memory.max": str(memory or "max"),
            "memory.swap.max": "0",
            "memory.oom.group": "1",
            "pids.max": str(processes),
            "cpu.max": f"{(threads + 1) * PERIOD} {PERIOD}",
        }
        for name, value in wanted.items():
            file = self.folder / name
            if file.exists():  # swap and processors may be another's to share out
                file.write_text(value, encoding="ascii")

    def ended_by_memory(self) -> bool:
        """Whether the kernel ended processes of the run because they met the bound."""
        return self._killed() > self._kills

    def _killed(self) -> int:
        words = _words(self.folder / "memory.events")
        return int(dict(zip(words[::2], words[1::2], strict=False)).get("oom_kill", 0))

    def close(self) -> None:
        """Remove the group; its processes have ended."""
        os.close(self.entry)
        os.close(self._held)
        remove_abandoned(self.folder.parent)


def remove_abandoned(parent: Path) -> None:
    """Remove groups that no driver holds any more and no process is in."""
    for folder in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                folder.rmdir()
            finally:
                os.close(number)
