"""Python lines of wheels: how large each part of a released PyTorch is, where no clone is at hand.

A wheel holds only the Python half of the source, so these numbers are **python lines of wheels** wherever they are
shown, and are never compared with totals that count C++ as well. Folders that hold only Python can be looked up line
for line, ``torch/sparse`` and ``torch/nested`` among them.

The rule is that of ``mine/git/gitlog.py``: a line is a line feed, so empty lines and comments count; symbolic links and
binary files do not. Only ``.py`` counts: of the ``.pyi`` of a wheel a large part is generated while it is built.
"""

from __future__ import annotations

import csv
import io
import re
import stat
import zipfile
import zlib
from collections import Counter
from dataclasses import asdict, astuple, dataclass
from datetime import date
from functools import cache
from typing import IO, TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from torch_embers import resources
from torch_embers.errors import InputError
from torch_embers.link.components import Components
from torch_embers.study import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

LABEL = "python lines of wheels"
"""What every table and figure made of these numbers is called."""
RESULT = ("results", "wheel_lines.csv")
"""The shipped measurement, below ``analysis/``."""
PACKAGE = "torch"
OTHER = "other"
MOST_BYTES = 512 << 20
"""Python text that a wheel may hold; the largest release has a tenth of it. A crafted archive can claim anything."""
_BLOCK = 1 << 20
_BINARY_PROBE = 8_000
"""Bytes in which a NUL makes a file binary, as git decides."""
_VERSION = re.compile(rb"^__version__\s{0,4}(?::[^=\n]{0,40})?=\s{0,4}['\"]([^'\"\n]{1,80})['\"]", re.MULTILINE)
_PLATFORM = re.compile(rb"^Tag: [^-\n]{1,80}-[^-\n]{1,80}-([\w.]{1,80})\s*$", re.MULTILINE)
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What ``zipfile`` raises for damaged, truncated, encrypted and exotically compressed archives."""


@dataclass(frozen=True, slots=True)
class WheelLines:
    """Size of one part of one release within one folder; the rows of a release add up to all its Python.

    Attributes:
        version: the release, without a local part such as ``+cpu``.
        released: first day on which the release had files on PyPI; None where nobody looked it up.
        platform: the platform tag of the wheel, empty where it does not say.
        module: the folder, e.g. ``torch/sparse``; ``torch`` for files directly in it.
        component: data_path, computation or other.
        subcomponent: entry of data/components.toml, empty for other.
        strict: in the study's own list of data-path modules.
        files: Python files.
        lines: lines in them.
    """

    version: str
    released: date | None
    platform: str
    module: str
    component: str
    subcomponent: str
    strict: bool
    files: int
    lines: int


@dataclass(frozen=True, slots=True)
class _File:
    """One file below the folder that holds ``torch``: its path from there, and how to open it."""

    path: str
    content: IO[bytes]


def count(place: Path, released: Mapping[str, date] | None = None) -> tuple[WheelLines, ...]:
    """Count the Python lines of one PyTorch by ``data/components.toml``; nothing of it is run or unpacked to disk.

    Args:
        place: a wheel (``.whl``, ``.zip``), an unpacked ``torch`` folder, or a folder that holds one.
        released: days of release by version.

    Raises:
        InputError: no PyTorch there, or an archive that cannot be read.
    """
    version = platform = ""
    sizes: Counter[tuple[str, str, str, bool]] = Counter()
    counts: Counter[tuple[str, str, str, bool]] = Counter()
    budget = MOST_BYTES
    try:
        for file in _archived(place) if place.is_file() else _installed(place):
            lines, read, beginning = _measure(file.content, budget)
            budget -= read
            if budget < 0:
                raise InputError(f"{place}: more than {MOST_BYTES >> 20} MiB of Python, this is no PyTorch wheel")
            if file.path == f"{PACKAGE}/version.py":
                version = _version(beginning)
            if file.path.endswith("WHEEL"):
                tag = _PLATFORM.search(beginning)
                platform = tag[1].decode() if tag else ""
            elif b"\0" not in beginning[:_BINARY_PROBE]:
                key = (_module(file.path), *_part(file.path))
                counts[key] += 1
                sizes[key] += lines
    except _UNREADABLE as error:
        raise InputError(f"{place} cannot be read as a PyTorch wheel: {error}") from error
    if not version:
        raise InputError(f"{place} holds no {PACKAGE}/version.py that tells a version: give a wheel or a torch folder")
    day = (released or {}).get(version)
    return tuple(WheelLines(version, day, platform, *key, counts[key], sizes[key]) for key in sorted(sizes))


def _installed(place: Path) -> Iterator[_File]:
    """Give the files of a folder that is or holds ``torch``."""
    folder = place if (place / "version.py").is_file() else place / PACKAGE
    tags = sorted(folder.parent.glob(f"{PACKAGE}-*.dist-info/WHEEL"))
    for path in (*sorted(folder.rglob("*.py")), *tags[:1]):
        if path.is_file() and not path.is_symlink():
            inside = path.relative_to(folder.parent if path in tags else folder)
            with path.open("rb") as stream:
                yield _File(inside.as_posix() if path in tags else f"{PACKAGE}/{inside.as_posix()}", stream)


def _archived(place: Path) -> Iterator[_File]:
    """Give the files of a wheel, read as a stream."""
    with zipfile.ZipFile(place) as archive:
        for entry in archive.infolist():
            name = entry.filename
            tag = name.count("/") == 1 and name.startswith(f"{PACKAGE}-") and name.endswith(".dist-info/WHEEL")
            linked = stat.S_ISLNK(entry.external_attr >> 16)
            if tag or (name.startswith(f"{PACKAGE}/") and name.endswith(".py") and not linked):
                with archive.open(entry) as stream:
                    yield _File(name, stream)


def _measure(stream: IO[bytes], most: int) -> tuple[int, int, bytes]:
    """Return line feeds, bytes read (just above ``most`` at the latest), and the first block."""
    lines = size = 0
    beginning = b""
    while size <= most and (block := stream.read(_BLOCK)):
        beginning = beginning or block
        lines += block.count(b"\n")
        size += len(block)
    return lines, size, beginning


def _version(text: bytes) -> str:
    written = _VERSION.search(text)
    try:
        return Version(written[1].decode("ascii", "replace")).public if written else ""
    except InvalidVersion:
        return ""


def _module(path: str) -> str:
    """Return the folder that a file is counted under: the one below ``torch``."""
    parts = path.split("/")
    return "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def _part(path: str) -> tuple[str, str, bool]:
    part = Components.load().by_path(path)
    return (part.component, part.subcomponent, part.strict) if part else (OTHER, "", False)


# --- the shipped measurement -----------------------------------------------------------------------------


@cache
def measured() -> tuple[WheelLines, ...]:
    """Return the shipped measurement, ``analysis/results/wheel_lines.csv``: one wheel per minor release from 1.3 on.

    Raises:
        InputError: the file is missing from this installation, or damaged.
    """
    return from_csv(resources.analysis_text(*RESULT))


def release_days() -> dict[str, date]:
    """Return the day of each release in the shipped measurement: the first upload to PyPI."""
    return {row.version: row.released for row in measured() if row.released}


def in_order(rows: Iterable[WheelLines]) -> list[WheelLines]:
    """Sort by release, then by folder and part."""
    return sorted(rows, key=lambda row: (Version(row.version), *astuple(row)[3:7]))


def to_csv(rows: Iterable[WheelLines]) -> str:
    """Write rows as CSV with a heading, in order of release."""
    return files.as_csv(
        [asdict(row) for row in in_order(rows)], lambda value: str(value).lower() if isinstance(value, bool) else value
    )


def from_csv(text: str) -> tuple[WheelLines, ...]:
    """Read what :func:`to_csv` wrote.

    Raises:
        InputError: a column is missing, or a value has another form; the message names the line.
    """
    reader = csv.DictReader(io.StringIO(text))
    rows: list[WheelLines] = []
    for raw in reader:
        try:
            rows.append(_row(raw))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{RESULT[-1]}, line {reader.line_num}: {error!r}: remake the file") from error
    return tuple(rows)


def _row(raw: Mapping[str, str]) -> WheelLines:
    values: dict[str, Any] = {
        "version": Version(raw["version"]).public,
        "released": date.fromisoformat(raw["released"]) if raw["released"] else None,
        "strict": {"true": True, "false": False}[raw["strict"]],
        "files": int(raw["files"]),
        "lines": int(raw["lines"]),
    }
    return WheelLines(**{**raw, **values})
