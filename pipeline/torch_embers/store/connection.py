"""Opening the database file: patience while somebody else has it, the schema check, errors in our words.

DuckDB lets no other process open a file that a writer has open. So a writer opens it only for the moment of each
batch, and readers try again for a few seconds: both work while a mine runs for hours.
"""

from __future__ import annotations

import logging
import os
import re
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb

from torch_embers.errors import EmbersError, StoreBusyError, StoreCorruptError, StoreError, StoreFullError
from torch_embers.store import lock, schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READ_PATIENCE = 5.0
"""Seconds a reader keeps trying; a writer's batch takes about a second at most."""
WRITE_PATIENCE = 600.0
"""Seconds a writer keeps trying: a notebook may have the file open, and what was read is not thrown away for that."""
OWN_PATIENCE = 60.0
"""Seconds to wait for a connection of this process itself: only another of its threads can end it."""
QUERY_LIMIT = 1800.0
"""Seconds after which a query of a reader is ended: a view in a file of somebody else can run for ever."""
QUIET = 2.0
"""Seconds after which a waiting writer says for whom it waits."""
RETRY_PAUSE = 0.02
OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "512MB",
    "force_compression": "zstd",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "storage_compatibility_version": "v1.2.0",
}
"""DuckDB spills to disk beyond the limit (its default would be 80 % of the machine). A view of many joins keeps a part
of each in memory: over 200,000 items and 1,000,000 comments `embers list` failed at 192 MB and went through at 256 MB.
Trying every compression on each write took twice the time of zstd alone and left files half as large again (measured
on issue texts). Extensions stay off: a file that looks like another database's would make DuckDB download one to open
it. A new file has the format of DuckDB 1.2, so that nobody needs a newer one to read it; an older one keeps its own."""
ALONE_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"threads": 1}
"""A batch is written by one thread. That leaves the other core to the thread that reads and parses: with two threads of
its own a bulk write was a third slower; and a page costs 8 % less processor time than with threads that wait."""
UNMERGED_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"max_vacuum_tasks": 0}
"""What a transaction adds stays in row groups of its own when the file is closed."""
INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it runs a statement: a bare RuntimeError."""
STRUCK = "KeyboardInterrupt"
"""What stands in DuckDB's own error when Ctrl-C strikes while it reads a frame of Python's."""

_SEEN: dict[Path, tuple[int, int, int, int]] = {}
"""Files whose contents this process has checked, with device, inode, time and size: to check takes as long as to open.
"""

_OWN = ("different configuration", "nique file handle")
_BUSY = ("Could not set lock", "Conflicting lock", *_OWN)
_HOLDER = re.compile(r"held in (.+?) \(PID (\d+)\)")
_LOG = logging.getLogger(__name__)
_FULL = ("No space left", "Disk quota", "File too large")
_CORRUPT = (
    "not a valid DuckDB",
    "orrupt",
    "erialization",
    "checksum",
    "magic bytes",
    "newer version of DuckDB",
    "Could not read enough bytes",
    "sqlite_scanner",
)


def quoted(text: str) -> str:
    """Return a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def explain(error: duckdb.Error, path: Path) -> StoreError:
    """Turn DuckDB's error into ours, with advice.

    Raises:
        KeyboardInterrupt: Ctrl-C struck while DuckDB read an object of Python's; it wraps that like any other error.
    """
    if STRUCK in str(error):
        raise KeyboardInterrupt from error
    if isinstance(error, duckdb.InterruptException):
        return StoreError(
            f"{path}: ended after {QUERY_LIMIT:,.0f} s without an answer: ask for less, or do not trust this file"
        )
    text = str(error).strip().splitlines()[0][:300]
    message = text.replace(str(path), "")
    if any(mark in message for mark in _OWN):
        return StoreBusyError(f"{path} is in use by this process ({os.getpid()}) itself: close its connection first")
    if any(mark in message for mark in _BUSY):
        found = _HOLDER.search(str(error))
        user = lock.process(path, int(found[2]), found[1]) if found else lock.holder(path)
        return StoreBusyError(f"{path} is in use by {user}: try again when it is done, or end it")
    if any(mark in message for mark in _FULL):
        return StoreFullError(f"no room for {path}: free some disk and run the same command again ({text})")
    if any(mark in message for mark in _CORRUPT):
        return StoreCorruptError(
            f"{path} cannot be read as a database: restore a copy, or move it away and mine again ({text})"
        )
    return StoreError(f"{path}: {text}")


@contextmanager
def ctrl_c() -> Iterator[None]:
    """Make what DuckDB raises on Ctrl-C, also while it opens a file, what Python raises."""
    try:
        yield
    except RuntimeError as error:
        raise (KeyboardInterrupt if str(error) == INTERRUPTED else error) from error


def _opened(
    path: Path, *, read_only: bool, patience: float, options: dict[str, str | bool | int | float | list[str]]
) -> duckdb.DuckDBPyConnection:
    started = time.monotonic()
    told = read_only
    while True:
        try:
            return duckdb.connect(str(path), read_only=read_only, config=OPTIONS | options)
        except duckdb.Error as error:
            known = explain(error, path)
            waited = time.monotonic() - started
            own = any(mark in str(error) for mark in _OWN)
            if not isinstance(known, StoreBusyError) or waited >= (min(patience, OWN_PATIENCE) if own else patience):
                raise known from error
            if waited >= QUIET and not told:
                _LOG.warning("waiting up to %d s: %s", patience, known)
                told = True
            time.sleep(RETRY_PAUSE)


def _close_off(connection: duckdb.DuckDBPyConnection, folder: Path | None) -> None:
    """Let the database reach no file but its own and those of ``folder``, nor change that.

    It may come from somebody else: a view in it can name a file of this machine, and an export would carry that out.
    """
    if folder is not None:
        with suppress(duckdb.InvalidInputException):  # another connection of this process has closed it already
            connection.execute(f"SET allowed_directories = [{quoted(str(folder.absolute()))}]")
    connection.execute("SET enable_external_access = false")


def remember(path: Path) -> bool:
    """Whether the file is as this process saw it last; it counts as seen from now on."""
    try:
        found = path.stat()
    except OSError:  # moved away meanwhile
        return False
    state = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)
    known = _SEEN.get(path) == state
    _SEEN[path] = state
    return known


def connect(
    path: Path,
    *,
    read_only: bool,
    patience: float,
    alone: bool = False,
    merge: bool = True,
    folder: Path | None = None,
    former: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Open the file, trying again while somebody else has it, and check what it holds.

    A reader lets a waiting writer go first; a writer that waits for long says for whom. No statement can read or write
    other files, but those of ``folder``. ``former`` opens a file of an older embers, from which rows are taken over.

    Raises:
        StoreBusyError, StoreCorruptError, StoreVersionError
        InputError: it holds what embers did not make.
        StoreError: the file, or one beside it, is no regular file.
    """
    lock.require_regular(path)
    if read_only:
        lock.yield_to_writer(path, min(patience, lock.YIELD))
    options = (ALONE_OPTIONS if alone else {}) | ({} if merge else UNMERGED_OPTIONS)
    connection = _opened(path, read_only=read_only, patience=patience, options=options)
    try:
        _close_off(connection, folder)
        if former:
            schema.check_former(connection, path)
        elif not remember(path):
            schema.check(connection, path)
    except (duckdb.Error, EmbersError, RuntimeError) as error:
        connection.close()
        _SEEN.pop(path, None)
        if isinstance(error, duckdb.Error):
            raise explain(error, path) from error
        raise
    return connection
