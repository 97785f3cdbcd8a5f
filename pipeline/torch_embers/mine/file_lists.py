"""Which files a mine reads: paths, folders, globs and addresses, and which of them were read as they are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import duckdb

from torch_embers.errors import InputError
from torch_embers.mine.files import suffix_of
from torch_embers.mine.marks import Mark
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TIME = "%Y-%m-%d %H:%M:%S.%f"
_HOUR_NAME = re.compile(r"(\d{4}-\d\d-\d\d)-(\d{1,2})\.json(?:\.gz)?")


@dataclass(frozen=True, slots=True)
class File:
    """A file to read. ``name`` is stored and shown: it never holds a query or a password."""

    name: str
    location: str
    mark: Mark
    is_remote: bool = False


def find(source: str, paths: Sequence[str], since: str | None, until: str | None) -> tuple[list[File], list[str]]:
    """The files of a source, each once, in order; of hours of GH Archive only those of a window of time.

    Returns:
        The files, and a line about each address that cannot be read: GH Archive lacks some hours.

    Raises:
        InputError: a path that does not exist, is of no known form, or a glob without a match.
    """
    if source == "jsonl":
        for name in paths:
            if not Path(name).is_file():
                raise InputError(f"{name}: no such file")
            suffix_of(Path(name))
        return list({file.name: file for file in map(_local, map(Path, paths))}.values()), []
    found: dict[str, File] = {}
    unread: list[str] = []
    for path in paths:
        try:
            found |= {file.name: file for file in (_remote(path) if "://" in path else _hours(path))}
        except duckdb.Error as error:
            shown = _without_secrets(path)
            reason = " ".join(str(error).split("\n", 2)[:2]).replace(path, shown).rstrip(" :")
            unread.append(f"{shown}: DuckDB cannot read this address ({reason}); download the file and give its path")
    return [file for file in found.values() if _in_window(file, since, until)], unread


def _hours(text: str) -> Iterator[File]:
    path = Path(text).expanduser()
    if path.is_dir():
        names = [entry for entry in path.iterdir() if entry.name.endswith((".json.gz", ".json"))]
    elif not path.exists() and has_magic(text):
        names = list(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        names = [path]
    names = sorted((name for name in names if not name.is_dir()), key=_order)
    if not names:
        raise InputError(f"{text}: no GH Archive file (.json.gz or .json) matches")
    return map(_local, names)


def _order(path: Path) -> tuple[str, int, str]:
    match = _HOUR_NAME.fullmatch(path.name)
    return (match[1], int(match[2]), path.name) if match else (path.name, -1, path.name)


def _local(path: Path) -> File:
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    modified = datetime.fromtimestamp(status.st_mtime, UTC).strftime(_TIME)
    return File(clean_text(str(path.resolve())), str(path), Mark(modified, str(status.st_size)))


def _remote(address: str) -> Iterator[File]:
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT filename, strftime(coalesce(last_modified::TIMESTAMP, TIMESTAMP 'epoch'), $1), size::VARCHAR "
            "FROM read_blob($2)",
            [_TIME, address],
        ).fetchall()
    for location, modified, size in rows:
        yield File(_without_secrets(location), location, Mark(modified, size), is_remote=True)


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _in_window(file: File, since: str | None, until: str | None) -> bool:
    """Whether an hour named by its file can hold events of the window; unnamed hours always can."""
    match = _HOUR_NAME.fullmatch(Path(file.name).name)
    if match is None:
        return True
    day, hour = match[1], int(match[2])
    begins, ends = f"{day}T{hour:02}:00:00Z", f"{day}T{hour:02}:59:59Z"
    return (since is None or ends >= since) and (until is None or begins < until)


def damage(lines: Sequence[str]) -> str:
    """One line about files that could not be read, of one line each."""
    first = "; ".join(lines[:3]) + (f"; and {len(lines) - 3} more" if len(lines) > 3 else "")
    return f"{first} - nothing of it is stored, other files were read; replace it and run the same again"
