"""Opening the database file: patience while somebody else has it, the schema check, errors in our words.

DuckDB lets no other process open a file that a writer has open. So a writer opens it only for the moment of each
batch, and readers try again for a few seconds: both work while a mine runs for hours. A writer keeps the instance of
DuckDB and attaches the file to it each time: of the 27 ms of CPU for opening and closing a file the instance takes 20.
"""

from __future__ import annotations

import logging
import os
import re
import time
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import duckdb

from torch_embers.errors import StoreBusyError, StoreCorruptError, StoreError, StoreFullError, StoreVersionError
from torch_embers.store import lock, schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

READ_PATIENCE = 5.0
"""Seconds a reader keeps trying; a writer's batch takes about a second at most."""
WRITE_PATIENCE = 600.0
"""Seconds a writer keeps trying: a notebook may have the file open, and what was read is not thrown away for that."""
OWN_PATIENCE = 60.0
"""Seconds to wait for a connection of this process itself: only another of its threads can end it."""
QUIET = 2.0
"""Seconds after which a waiting writer says for whom it waits."""
RETRY_PAUSE = 0.02
ROOM_SHARE, MOST_ROOM = 0.25, 0.1
"""A writer leaves the file alone for this share of the time for which it had it open, from ``RETRY_PAUSE`` up to this
many seconds: without it a writer that has much to write lets no reader in."""
OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": "512MB",
    "force_compression": "zstd",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
"""DuckDB spills to disk beyond the limit (its default would be 80 % of the machine). A view of many joins keeps a part
of each in memory: over 200,000 items and 1,000,000 comments `embers list` failed at 192 MB and went through at 256 MB.
Trying every compression on each write took twice the time of zstd alone and left files half as large again (measured
on issue texts). Extensions stay off: a file that looks like another database's would make DuckDB download one to open
it."""
BULK_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"threads": 1}
"""A bulk write leaves the other core to the thread that reads and parses: with two threads of its own it was a third
slower."""
UNMERGED_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"max_vacuum_tasks": 0}
"""What a transaction adds stays in row groups of its own when the file is closed."""
WRITE_OPTIONS: dict[str, str | bool | int | float | list[str]] = {"checkpoint_threshold": "0B"}
"""A commit writes its rows into the file itself at once, and not into a log before that: a third less to write. It
counts from the moment at which the file's header names it, so a kill leaves the transaction before it."""
DURABLE = "COMMIT succeeded and is durable"
"""What DuckDB says of a transaction that is in its log and not in the file itself, because the disk is full: it is
kept, and the next opening brings it into the file."""
ALIAS = "embers"
"""Name of the attached file; no view keeps it."""
_BESIDE = ("", ".wal", ".wal.checkpoint", ".wal.recovery", ".tmp")
"""What DuckDB reads and writes: the database and the files beside it that have its name."""
INTERRUPTED = "Query interrupted"
"""What DuckDB makes of Ctrl-C while it runs a statement: a bare RuntimeError."""
STRUCK = "KeyboardInterrupt"
"""What stands in DuckDB's own error when Ctrl-C strikes while it reads a frame of Python's."""

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


def _patiently(
    path: Path, patience: float, opening: Callable[[], duckdb.DuckDBPyConnection], *, told: bool
) -> duckdb.DuckDBPyConnection:
    """Open a file, trying again while somebody else has it; ``told`` where nobody is to hear of the waiting."""
    started = time.monotonic()
    while True:
        try:
            return opening()
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


def connect(path: Path, *, patience: float, folder: Path | None = None) -> duckdb.DuckDBPyConnection:
    """Open the file for reading, trying again while somebody else has it, and check its schema version.

    A reader lets a waiting writer go first. No statement can read or write other files, but those of ``folder``.

    Raises:
        StoreBusyError, StoreCorruptError, StoreVersionError
    """
    lock.yield_to_writer(path, min(patience, lock.YIELD))
    opening = partial(duckdb.connect, str(path), read_only=True, config=OPTIONS)
    connection = _patiently(path, patience, opening, told=True)
    try:
        _close_off(connection, folder)
        schema.check_version(connection, path)
    except (duckdb.Error, StoreVersionError, RuntimeError) as error:
        connection.close()
        if isinstance(error, duckdb.Error):
            raise explain(error, path) from error
        raise
    return connection


class Attaching:
    """Opens one file for writing, again and again, in one instance of DuckDB that reaches no other file.

    Not for two threads at once.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._real = path.resolve()  # DuckDB follows links, too, before it asks whether it may reach a file
        self._instance: duckdb.DuckDBPyConnection | None = None
        self._free_until = 0.0

    def leave_room(self) -> None:
        """Wait until readers had time to open the file, as far as that has not passed since it was closed."""
        time.sleep(max(self._free_until - time.monotonic(), 0.0))

    @contextmanager
    def opened(self, patience: float, *, bulk: bool, merge: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        """Have the file open in a transaction while the block runs; a writer that waits for long says for whom.

        ``bulk`` and ``merge`` as in ``Writer.transaction``. Where the block or its commit fails, nothing of it is kept.

        Raises:
            StoreBusyError, StoreCorruptError, StoreFullError, StoreVersionError
        """
        settings = (BULK_OPTIONS if bulk else {}) | ({} if merge else UNMERGED_OPTIONS)
        connection = _patiently(self.path, patience, lambda: self._attached(settings), told=False)
        began = time.monotonic()
        try:
            schema.check_version(connection, self.path)
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")
            connection.execute(f"USE memory; DETACH {ALIAS}")
        except BaseException as error:
            self.close()  # with the file: an instance that met an error may refuse every statement after it
            if not isinstance(error, duckdb.Error):
                raise
            if DURABLE not in str(error):
                raise explain(error, self.path) from error
        finally:
            connection.close()
            closed = time.monotonic()
            self._free_until = closed + min(max((closed - began) * ROOM_SHARE, RETRY_PAUSE), MOST_ROOM)

    def _attached(self, settings: Mapping[str, str | bool | int | float | list[str]]) -> duckdb.DuckDBPyConnection:
        if self._instance is None:
            self._instance = self._made()
        connection = self._instance.cursor()
        for name in (*BULK_OPTIONS, *UNMERGED_OPTIONS):
            connection.execute(f"SET GLOBAL {name} = {settings[name]}" if name in settings else f"RESET GLOBAL {name}")
        try:
            connection.execute(f"ATTACH {quoted(str(self._real))} AS {ALIAS} (TYPE duckdb); USE {ALIAS}")
        except duckdb.Error:
            connection.close()
            self.close()
            raise
        return connection

    def _made(self) -> duckdb.DuckDBPyConnection:
        spill = {"temp_directory": f"{self._real}.tmp"}
        instance = duckdb.connect(config=OPTIONS | WRITE_OPTIONS | spill)
        files = ", ".join(quoted(f"{self._real}{suffix}") for suffix in _BESIDE)
        instance.execute(f"SET allowed_paths = [{files}]")
        _close_off(instance, None)
        return instance

    def close(self) -> None:
        """Give the instance back, and the file where it is open."""
        if self._instance is not None:
            self._instance.close()
            self._instance = None
