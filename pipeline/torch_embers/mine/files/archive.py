"""GH Archive hours: one public event per line, all of GitHub in one file. Incomplete: a live mine must follow.

Nearly every line belongs to another repository, so a substring search selects lines before any JSON is parsed. Most of
the remaining time goes into unpacking. zlib is as fast at it as DuckDB's reader, and it gives line numbers, the
place of damage and the last complete line. DuckDB reads files behind an address.

A page holds the lines of one file that concern the repository, each with its line number and a tab in front,
so that a rejected line can be named again when stored pages are replayed.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass, replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import duckdb

from torch_embers.errors import InputError, SourceError
from torch_embers.mine.files.archive_events import (
    PAGE_KIND,
    READ_TYPES,
    EventLine,
    read_archive,
    repo_name,
    time_of,
)
from torch_embers.mine.files.record_files import LONGEST_RECORD
from torch_embers.mine.pages import make_page
from torch_embers.mine.scope import Scope
from torch_embers.mine.source import DamagedFileError, damage_report, read_cursor, sync_state
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.records import RAW_KEPT, Batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["ArchiveSource", "read_archive"]

STREAM = "archive"
EVENTS_PER_PAGE = 5_000
BYTES_PER_PAGE = 16 << 20
"""Bodies of 10 MB exist; a page is also bounded by size so that memory stays bounded."""
QUIET_FILES_PER_BATCH = 8
"""Hours without a relevant event share a transaction: there is only a cursor to write."""
READ_BYTES = 256 << 10
UNPACKED_BYTES = 1 << 20
"""Upper bound of one unpacking step: a few kilobytes of gzip can hold gigabytes."""

_HOUR_NAME = re.compile(r"(\d{4}-\d\d-\d\d)-(\d{1,2})\.json(?:\.gz)?")
_REPO_OF_LINE = re.compile(rb'"repo"\s*:\s*\{[^{}]*?"name"\s*:\s*"([^"]{1,200})"')
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = zlib.MAX_WBITS | 16


# --- which files -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One hour to read. ``name`` is stored (cursor, page, message): it never holds a query or a password."""

    name: str
    location: str
    size: int
    modified: str
    remote: bool = False

    def fingerprint(self) -> list[Any]:
        """Give what changes when the file does."""
        return [self.size, self.modified]


def find_files(paths: Sequence[str]) -> tuple[list[ArchiveFile], list[str]]:
    """Resolve local files, folders, globs and addresses; in order, each file once.

    Returns:
        The files, and a line about each address that cannot be read: GH Archive lacks some hours.

    Raises:
        InputError: a path that does not exist, or a glob without a match.
    """
    files: dict[str, ArchiveFile] = {}
    unread: list[str] = []
    for path in paths:
        try:
            for file in _remote_files(path) if "://" in path else _local_files(path):
                files.setdefault(file.name, file)
        except SourceError as error:
            unread.append(str(error))
    if not files and not unread:
        raise InputError("GH Archive: no files given; pass hourly .json.gz files, a glob or an address")
    return list(files.values()), unread


def _local_files(text: str) -> list[ArchiveFile]:
    path = Path(text).expanduser()
    if path.is_dir():
        names = [entry for entry in path.iterdir() if entry.name.endswith((".json.gz", ".json"))]
    elif not path.exists() and has_magic(text):
        names = list(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    else:
        names = [path]
    names = sorted((name for name in names if not name.is_dir()), key=_hour_order)
    if not names:
        raise InputError(f"{text}: no GH Archive file (.json.gz or .json) matches")
    return [_local_file(name) for name in names]


def _hour_order(path: Path) -> tuple[str, int, str]:
    match = _HOUR_NAME.fullmatch(path.name)
    return (match[1], int(match[2]), path.name) if match else (path.name, -1, path.name)


def _local_file(path: Path) -> ArchiveFile:
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    name = clean_text(str(path.resolve()))
    return ArchiveFile(name, str(path), status.st_size, str(status.st_mtime_ns))


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _remote_rows(columns: str, address: str) -> list[tuple[Any, ...]]:
    shown = _without_secrets(address)
    try:
        with duckdb.connect() as connection:
            query = f"SELECT {columns} FROM read_blob(?)"
            return connection.execute(query, [address]).fetchall()
    except duckdb.Error as error:
        reason = " ".join(str(error).split("\n", 2)[:2]).replace(address, shown).rstrip(" :")
        raise SourceError(
            f"{shown}: DuckDB cannot read this address ({reason}); download the file and give its path"
        ) from error


def _remote_files(address: str) -> list[ArchiveFile]:
    rows = _remote_rows("filename, size, epoch_us(last_modified)", address)
    return [
        ArchiveFile(_without_secrets(location), location, size, str(modified or ""), remote=True)
        for location, size, modified in rows
    ]


# --- reading lines ---------------------------------------------------------------------------------------


def _raw_chunks(file: ArchiveFile) -> Iterator[bytes]:
    if file.remote:
        content = bytes(_remote_rows("content", file.location)[0][0])
        for start in range(0, len(content), READ_BYTES):
            yield content[start : start + READ_BYTES]
        return
    try:
        with Path(file.location).open("rb") as stream:
            while chunk := stream.read(READ_BYTES):
                yield chunk
    except OSError as error:
        raise DamagedFileError(error.strerror or str(error)) from error


def unpack(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack gzip (of one or several members, as GH Archive's older hours are) in bounded steps.

    Text that is not gzip passes unchanged.

    Raises:
        DamagedFileError: the data is damaged or ends before its end mark.
    """
    chunks = iter(chunks)
    first = next(chunks, b"")
    if not first:
        raise DamagedFileError("the file is empty: an incomplete download?")
    if not first.startswith(_GZIP_MAGIC):
        if not first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            raise DamagedFileError("neither gzip nor JSON lines")
        yield first
        yield from chunks
        return
    member = zlib.decompressobj(_GZIP_WINDOW)
    data = first
    while True:
        try:
            yield member.decompress(data, UNPACKED_BYTES)
        except zlib.error as error:
            raise DamagedFileError(f"damaged gzip: {error}") from error
        if member.eof:
            data = _next_member(member.unused_data, chunks)
            if not data:
                return
            member = zlib.decompressobj(_GZIP_WINDOW)
            continue
        data = member.unconsumed_tail or next(chunks, b"")
        if not data:
            raise DamagedFileError("the gzip data ends early: an incomplete download?")


def _next_member(data: bytes, chunks: Iterator[bytes]) -> bytes:
    """Pass over the zeros that may pad a gzip member; return the rest of the data, nothing at its end."""
    while not (data := data.lstrip(b"\0")) and (chunk := next(chunks, b"")):
        data = chunk
    return data


def blocks_of_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Regroup chunks into blocks that end with a line feed; the last line may lack one.

    A line beyond ``LONGEST_RECORD`` is passed on cut short, so that it is rejected rather than held in memory.
    Raises whatever ``chunks`` raises, after the lines that were complete by then.
    """
    rest = b""
    skipping = False
    for chunk in chunks:
        start = chunk.find(b"\n") + 1 if skipping else 0
        if skipping and not start:
            continue
        skipping = False
        end = chunk.rfind(b"\n") + 1
        if end > start:
            yield rest + chunk[start:end]
            rest = chunk[end:]
        else:
            rest += chunk[start:]
        if len(rest) > LONGEST_RECORD:
            yield rest[:RAW_KEPT] + b"\n"
            rest, skipping = b"", True
    if rest:
        yield rest + b"\n"


@dataclass(frozen=True, slots=True)
class Sieve:
    """Finds the lines that may concern one repository, without parsing the others."""

    owner: bytes
    name: bytes

    @classmethod
    def of(cls, repo: str) -> Sieve:
        """Build the sieve of ``owner/name``; GitHub's names do not differ by case."""
        owner, _, name = repo.lower().encode().partition(b"/")
        return cls(owner, name)

    def lines(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """Yield (line number, line) of the candidates and of broken lines that might be one."""
        before = 0
        for block in blocks:
            count = block.count(b"\n")
            whole = block.count(b"}\n{") == count - 1 and block[:1] == b"{" and block[-2:] == b"}\n"
            pick = self._hits if whole else self._slow
            for offset, line in pick(block):
                yield before + offset, line
            before += count

    def _hits(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        folded = block.lower()
        # an encoder may write the slash as \/
        owners = (b'"' + self.owner, b'"' + self.owner + b"\\")
        needle = b"/" + self.name + b'"'
        place = line_end = number = 0
        while (place := folded.find(needle, place)) >= 0:
            if not folded.endswith(owners, 0, place):
                place += 1
                continue
            start = block.rfind(b"\n", 0, place) + 1
            number += block.count(b"\n", line_end, start) + 1
            line_end = block.index(b"\n", place) + 1
            yield number, block[start : line_end - 1]
            place = line_end

    def _slow(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Look at every line, for a block in which one is no complete object."""
        for number, line in enumerate(block.split(b"\n"), 1):
            stripped = line.strip(b"\xef\xbb\xbf \t\r\0")
            if not stripped:
                continue
            if stripped[:1] == b"{" and stripped[-1:] == b"}":
                yield from ((number, hit) for _, hit in self._hits(stripped + b"\n"))
            elif self._may_be_ours(stripped):
                yield number, stripped

    def _may_be_ours(self, broken: bytes) -> bool:
        repo = _REPO_OF_LINE.search(broken)
        return repo is None or repo[1].replace(b"\\/", b"/").lower() == self.owner + b"/" + self.name


# --- the source ------------------------------------------------------------------------------------------


class _Taken:
    """Lines of one page, kept as they are passed on."""

    def __init__(self, lines: Iterator[EventLine]) -> None:
        self._lines = lines
        self.kept: list[bytes] = []
        self.damage: DamagedFileError | None = None
        self.ended = False

    def __iter__(self) -> Iterator[EventLine]:
        size = 0
        try:
            for line in self._lines:
                self.kept.append(line.numbered())
                size += len(line.raw)
                yield line
                if len(self.kept) == EVENTS_PER_PAGE or size >= BYTES_PER_PAGE:
                    return
        except DamagedFileError as error:
            self.damage = error
        self.ended = True


class ArchiveSource:
    """GH Archive hours as a source of batches; see the module's text for how a file is read."""

    name = "archive"

    def __init__(self, repo: str, paths: Sequence[str], since: str | None = None, until: str | None = None) -> None:
        """Take files, folders, globs and addresses, and a half-open window [since, until) of event times."""
        self.repo = repo
        self.paths = tuple(paths)
        self.since = iso_utc(since)
        self.until = iso_utc(until)
        self.stream = Scope(repo, self.since, self.until).stream(STREAM)

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield what is new in the files; the cursor of a batch names the files that ended in it.

        A damaged file or a missing hour does not stop the others: good lines are kept, it stays off the cursor, and
        the error comes at the end.

        Raises:
            InputError: no such file, or (after the rest was read) damaged files, by name.
            SourceError: after the rest was read, addresses that cannot be read.
        """
        done = dict(read_cursor(state.get(self.stream)).get("files") or {})  # name -> fingerprint of what was read
        damaged: list[str] = []
        quiet = 0
        files, unread = find_files(self.paths)
        for file in files:
            if done.get(file.name) == file.fingerprint() or not self._in_window(file):
                continue
            last = Batch()
            try:
                for batch in self._pages(file):
                    if last:
                        yield last
                    last = batch
            except DamagedFileError as error:
                damaged.append(f"{file.name}: {error}")
            except SourceError as error:
                unread.append(str(error))
            else:
                done[file.name] = file.fingerprint()
                last.cursors.append(sync_state(self, self.stream, files=done))
                quiet = 0 if last.pages else quiet + 1
            if last.pages or quiet == QUIET_FILES_PER_BATCH:
                yield last
                quiet = 0
        if quiet:
            yield Batch(cursors=[sync_state(self, self.stream, files=done)])
        if unread:
            raise SourceError(damage_report([*unread, *damaged]))
        if damaged:
            raise InputError(damage_report(damaged))

    def _in_window(self, file: ArchiveFile) -> bool:
        """Whether an hour named by its file can hold events of the window; unnamed hours always can."""
        match = _HOUR_NAME.fullmatch(Path(file.name).name)
        if match is None:
            return True
        day, hour = match[1], int(match[2])
        begins, ends = f"{day}T{hour:02}:00:00Z", f"{day}T{hour:02}:59:59Z"
        return (self.since is None or ends >= self.since) and (self.until is None or begins < self.until)

    def _pages(self, file: ArchiveFile) -> Iterator[Batch]:
        """Read a file's relevant lines page by page; an event is parsed once and not kept.

        Raises:
            DamagedFileError: after the page with the last good lines.
        """
        lines = self._relevant(file)
        place = 0
        while True:
            # the content is known when it was read, so the id is made of the page's place in the file
            page = make_page(self.repo, self.name, PAGE_KIND, file.name, b"%d" % place)
            taken = _Taken(lines)
            batch = read_archive(page, taken)
            if taken.kept:
                batch.pages.append(replace(page, body=b"".join(taken.kept)))
                yield batch
            if taken.damage:
                raise taken.damage
            if taken.ended:
                return
            place += 1

    def _relevant(self, file: ArchiveFile) -> Iterator[EventLine]:
        for number, raw in Sieve.of(self.repo).lines(blocks_of_lines(unpack(_raw_chunks(file)))):
            line = EventLine.of(number, raw)
            if self._is_relevant(line):
                yield line

    def _is_relevant(self, line: EventLine) -> bool:
        """Whether a line belongs on a page: ours, of a kind that is read, in the window - or unreadable."""
        event = line.event
        if line.error:
            return True
        if not isinstance(event, dict):
            return False
        name = repo_name(event)
        if not isinstance(name, str) or name.lower() != self.repo.lower():
            return False
        moment = time_of(event.get("created_at"))  # an event without a time is in every window
        if moment and ((self.since and moment < self.since) or (self.until and moment >= self.until)):
            return False
        return event.get("type") in READ_TYPES
