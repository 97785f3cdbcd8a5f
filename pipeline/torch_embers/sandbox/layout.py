"""Where an interpreter lives: the folders that a sandbox has to show for it to start, found without running it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from torch_embers.errors import SandboxError
from torch_embers.sandbox import sandbox_rules

OPEN = 0o005
"""Others may list a folder and enter it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an interpreter lives: its path inside and outside, and the folders it cannot do without."""

    python: Path
    prefixes: tuple[Path, ...]

    def parts(self) -> dict[Path, tuple[str, ...]]:
        """Of each folder what an interpreter needs: it may be the root of a project, with ``.env`` and ``.git``."""
        return {prefix: _parts(prefix) for prefix in self.prefixes}


def _parts(prefix: Path) -> tuple[str, ...]:
    binds = sandbox_rules.load().binds
    patterns = binds.environment if (prefix / "pyvenv.cfg").is_file() else binds.installation
    return tuple(str(found.relative_to(prefix)) for pattern in patterns for found in sorted(prefix.glob(pattern)))


def find(python: Path) -> Layout:
    """Find the folders behind ``python``, following each symbolic link and ``pyvenv.cfg``, without running it.

    Raises:
        SandboxError: there is no such file, or it lies in no folder of a Python installation.
    """
    hops = _hops(python)
    if not hops[-1].is_file() or not os.access(hops[-1], os.X_OK):
        raise SandboxError(f"{python} is no interpreter: check the path, or remove the build (embers builds list)")
    prefixes: dict[Path, None] = {}
    start = None
    for hop in hops:
        prefix = hop.parent.parent
        if _is_installation(prefix):
            start = start or hop
            prefixes.update(dict.fromkeys([prefix, *_base_prefixes(prefix)]))
    if start is None:
        raise SandboxError(f"{python} lies in no Python installation (no pyvenv.cfg, no lib/python3.x above it)")
    return Layout(start, tuple(prefix for prefix in prefixes if not is_below(prefix, Path("/usr"))))


def _hops(path: Path) -> list[Path]:
    hops = [Path.cwd() / path]
    while hops[-1].is_symlink() and len(hops) < 40:
        hops.append(Path(os.path.normpath(hops[-1].parent / hops[-1].readlink())))
    return hops


def _base_prefixes(prefix: Path) -> list[Path]:
    """The installation that a virtual environment was made from, as its file names it and where that really is."""
    try:
        text = (prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home":
            home = Path(value.strip())
            places = {home.parent: None, home.resolve().parent: None}
            return [place for place in places if _is_installation(place)]
    return []


def _is_installation(prefix: Path) -> bool:
    if prefix == prefix.parent or prefix == Path.home():
        return False
    return (prefix / "pyvenv.cfg").is_file() or any(prefix.glob("lib*/python3*/os.py"))


def is_below(path: Path, folder: Path) -> bool:
    """Whether ``path`` is ``folder`` or lies in it, by name alone."""
    return path == folder or folder in path.parents


def closed_to_others(found: Layout) -> Path | None:
    """A folder of the build that only its owner can read, if there is one; where root runs scripts as another user."""
    for prefix in found.prefixes:
        for folder in (
            prefix,
            prefix / "lib",
            *prefix.glob("lib/python3*"),
            *prefix.glob("lib/python3*/site-packages"),
        ):
            if folder.is_dir() and folder.stat().st_mode & OPEN != OPEN:
                return folder
    return None
