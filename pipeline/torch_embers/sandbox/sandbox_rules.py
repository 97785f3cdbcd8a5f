"""``data/sandbox.toml``: what a sandboxed run may use, and which system calls it may not make."""

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
    watches: int
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


class Seccomp(Entry):
    """System calls by their numbers on x86_64 and aarch64 (-1 where there is none), and checked arguments."""

    families: tuple[int, ...]
    protocols: tuple[int, ...]
    netlink: tuple[int, ...]
    ioctls: tuple[int, ...]
    passed_over: tuple[int, ...]
    socket_options: tuple[int, ...]
    pairs: tuple[int, ...]
    personalities: tuple[int, ...]
    namespaces: int
    siblings: int
    process_options: tuple[int, ...]
    about_process: dict[str, tuple[int, int, int]]
    about_user: dict[str, tuple[int, int, int]]
    denied: dict[str, tuple[int, int]]
    missing: dict[str, tuple[int, int]]


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
