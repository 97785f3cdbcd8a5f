"""The bubblewrap of this host: which file it is, byte for byte, and who could have changed it."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Program:
    """A file that is run as bubblewrap."""

    path: str
    """Absolute, links followed: what is started is what was looked at."""
    version: str
    identity: str
    """Path, owner, rights and hash of the content; a proof holds for this and no other."""
    distrust: str = ""
    """Why nothing is proven with it; empty where only root and this user could have written it."""


def find() -> Program | None:
    """The first ``bwrap`` on PATH; None where there is none."""
    found = shutil.which("bwrap") if sys.platform.startswith("linux") else None
    if found is None:
        return None
    path = Path(found).resolve()
    try:
        state = path.stat()
        return _examined(str(path), state.st_ino, state.st_mtime_ns, state.st_ctime_ns, state.st_size)
    except OSError:
        return None


@cache
def _examined(path: str, *_state: int) -> Program:
    """Look at the file once for each of its states."""
    content = Path(path).read_bytes()
    status = Path(path).stat()
    identity = f"{path} {status.st_uid}:{status.st_gid} {status.st_mode:o} {hashlib.sha256(content).hexdigest()}"
    if distrust := _distrust(Path(path)):
        return Program(path, "", identity, distrust)
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False, timeout=10, env={})
    return Program(path, answer.stdout.strip().removeprefix("bubblewrap "), identity)


def _distrust(path: Path) -> str:
    """Who else could put another program there: somebody who owns or may write the file or a folder above it."""
    for place in (path, *path.parents):
        if why := closed_to_others(place):
            return why
    return ""


def closed_to_others(place: Path) -> str:
    """Empty where only root and this user can change a file or folder; else why not."""
    state = place.lstat()
    if state.st_uid not in (0, os.geteuid()):
        return f"{place} belongs to another user"
    is_shared = state.st_mode & 0o022 and not (stat.S_ISDIR(state.st_mode) and state.st_mode & stat.S_ISVTX)
    return f"{place} can be written by others" if is_shared else ""
