"""``data/sandbox.toml``: what a sandboxed run may use, and which system calls it may make."""

from __future__ import annotations

import re
from functools import cache

from packaging.version import InvalidVersion, Version

from torch_embers import toml_models
from torch_embers.toml_models import Entry

FILE = "sandbox.toml"


class SandboxLimits(Entry):
    """Sizes in bytes, times in seconds; what each is for stands in the file."""

    disk: int
    inodes: int
    processes: int
    tail: int
    output: int
    files: int
    locked: int
    preload: int
    interpreter: int
    copied: int
    file_cost: int
    free_files: int
    socket_cost: int
    locks: int
    free_sockets: int
    signals: int
    reserve: int
    tick: float
    patience: float
    grace: float
    start: float
    message: int


class Binds(Entry):
    """Parts of the host that are visible, read-only; devices and their folders in the profile ``reviewed`` alone."""

    system: tuple[str, ...]
    links: tuple[str, ...]
    optional: tuple[str, ...]
    environment: tuple[str, ...]
    installation: tuple[str, ...]
    devices: tuple[str, ...]
    device_binds: tuple[str, ...]


class AllowedCalls(Entry):
    """System calls that a run may make, whatever their arguments."""

    reason: str
    calls: tuple[str, ...]


class RefusedCalls(AllowedCalls):
    """Calls that answer with another error than those that are not listed; ``error`` is its name in ``errno``."""

    error: str


class Condition(Entry):
    """What an argument, without the bits that ``mask`` leaves out, must be: one of some values, or none of others."""

    argument: int
    mask: int = 0xFFFFFFFF
    among: tuple[int, ...] = ()
    without: tuple[int, ...] = ()


class Checked(RefusedCalls):
    """Calls that are allowed in some ways, each a list of conditions that hold together."""

    ways: tuple[tuple[Condition, ...], ...]
    passed_over: tuple[tuple[Condition, ...], ...] = ()
    """Ways in which the call does nothing and answers that it was done."""
    with_devices: tuple[tuple[Condition, ...], ...] = ()
    """Further ways where the run sees devices of a GPU."""


class Seccomp(Entry):
    """The system calls of a run; those that are not named do not exist for it."""

    allowed: tuple[AllowedCalls, ...]
    checked: tuple[Checked, ...]
    refused: tuple[RefusedCalls, ...]


class Preload(Entry):
    """Modules that torch imports on behalf of scripts with these words, from a release on and before another one."""

    since: str
    before: str = ""
    words: re.Pattern[str]
    modules: tuple[str, ...]


class SandboxRules(Entry):
    """The whole file."""

    limits: SandboxLimits
    variables: re.Pattern[str]
    environment: dict[str, str]
    binds: Binds
    seccomp: Seccomp
    preloads: tuple[Preload, ...]


@cache
def load() -> SandboxRules:
    """Read the shipped file.

    Raises:
        InputError: it is missing, or an entry is wrong.
    """
    return toml_models.load(SandboxRules, FILE)


def modules_for(code: str, torch: str) -> list[str]:
    """What a zygote with this release of torch imports beforehand, because the script is going to."""
    try:
        release = Version(torch)
    except InvalidVersion:  # a build without torch, or somebody's own that is numbered in another way
        return []
    fitting = [one for one in load().preloads if _holds(one, release) and one.words.search(code)]
    return list(dict.fromkeys(name for entry in fitting for name in entry.modules))


def _holds(entry: Preload, release: Version) -> bool:
    return Version(entry.since) <= release and (not entry.before or release < Version(entry.before))
