"""The records of a file as JSON lines, whatever its form, in memory that does not grow with the file.

A file is a text from outside: a few kilobytes of gzip can hold gigabytes, and a line need not end. So a record has a
longest size, and a packed file a largest one.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from typing import TYPE_CHECKING, Any

import orjson

from torch_embers.mine.source import DamagedFileError
from torch_embers.store.records import RAW_KEPT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONGEST_RECORD = 16 << 20
"""Bytes. A thread of 200 comments as long as GitHub allows (65,536 characters) fits; parsed, JSON can take 25 times
its size in memory."""
LARGEST_RATIO = 200
"""How often a packed file may hold its own size: texts of issues pack 3 to 8 times, made-up ones up to 60 times, and
gzip ends at 1,030."""
ALWAYS_UNPACKED = 64 << 20
"""Bytes that any packed file may hold: a short one may well repeat itself."""
READ_BYTES = 256 << 10
SUFFIXES = (".jsonl", ".ndjson", ".json", ".csv")
CUT = b" \x00 cut"
"""End of a line that was too long; no JSON line ends so."""
TOO_LONG = f"longer than {LONGEST_RECORD >> 20} MiB"

_BLANKS = " \t\r\n"
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks of texts that are not UTF-8: PowerShell's ``>`` writes UTF-16. The longer marks stand first, because
one of them begins with a shorter one."""


def base_suffix(path: Path) -> str:
    """What a file holds by its name, packed or not: ``.jsonl``, ``.csv`` ...."""
    return (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()


def lines_of(path: Path) -> Iterator[bytes]:
    """The records of a file as JSON lines; one that is too long comes cut (see ``CUT``).

    Raises:
        DamagedFileError: the file ends early, cannot be parsed, or is larger than it may be; what came before is good.
    """
    try:
        with _opened(path) as content, _as_utf8(content) as stream:
            suffix = base_suffix(path)
            if suffix == ".json":
                yield from _array_lines(stream)
            elif suffix == ".csv":
                yield from _table_lines(stream)
            else:
                yield from _text_lines(stream)
    except (EOFError, OSError, zlib.error, csv.Error, UnicodeError, RecursionError) as error:
        raise DamagedFileError(str(error) or type(error).__name__) from error


def _opened(path: Path) -> io.BufferedReader:
    if path.suffix != ".gz":
        return io.BufferedReader(io.FileIO(path), READ_BYTES)
    return io.BufferedReader(_Unpacked(path), READ_BYTES)


def _as_utf8(content: io.BufferedReader) -> io.BufferedReader:
    """The text of a file without its byte order mark, in UTF-8 where the mark names another encoding."""
    head = content.peek(4)[:4]
    if head.startswith(codecs.BOM_UTF8):
        content.read(len(codecs.BOM_UTF8))
    encoding = next((name for mark, name in _WIDE_MARKS if head.startswith(mark)), "")
    return io.BufferedReader(_Recoded(content, encoding), READ_BYTES) if encoding else content


class _Recoded(io.RawIOBase):
    """A text in another encoding as UTF-8; what is no character becomes U+FFFD."""

    def __init__(self, content: io.BufferedReader, encoding: str) -> None:
        super().__init__()
        self._content = content
        self._decode = codecs.getincrementaldecoder(encoding)("replace").decode
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        ended = False
        while not self._ready and not ended:
            data = self._content.read1(READ_BYTES)
            ended = not data
            self._ready = self._decode(data, final=ended).encode()
        taken, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(taken)] = taken
        return len(taken)


class _Unpacked(io.RawIOBase):
    """The content of a packed file, up to the size that is no longer believed."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._most = max(ALWAYS_UNPACKED, LARGEST_RATIO * path.stat().st_size)
        self._file = gzip.open(path, "rb")  # noqa: SIM115 - closed below
        self._taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        self._taken += len(data)
        if self._taken > self._most:
            raise DamagedFileError(
                f"it unpacks to more than {self._most >> 20:,} MiB, over {LARGEST_RATIO} times its size; "
                "if it is meant so, unpack it yourself and mine the plain file"
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def _text_lines(stream: io.BufferedReader) -> Iterator[bytes]:
    while line := stream.readline(LONGEST_RECORD + 1):
        if len(line) <= LONGEST_RECORD:
            yield line
            continue
        yield line[:RAW_KEPT] + CUT + b"\n"
        while line and not line.endswith(b"\n"):
            line = stream.readline(READ_BYTES)


def _table_lines(stream: io.BufferedReader) -> Iterator[bytes]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = _RowLines(io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline=""))
    for row in csv.DictReader(lines):
        lines.taken = 0
        yield orjson.dumps({str(k): v for k, v in row.items()}) + b"\n"


class _RowLines:
    """Lines of a table; ends where one row takes too many characters, be it on one line or on many."""

    def __init__(self, table: io.TextIOWrapper) -> None:
        self._table = table
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        while line := self._table.readline(LONGEST_RECORD + 1):
            self.taken += len(line)
            if self.taken > LONGEST_RECORD:
                raise DamagedFileError(f"a row is {TOO_LONG}: an open quotation mark?")
            yield line


def _array_lines(stream: io.BufferedReader) -> Iterator[bytes]:
    """Entries of an array, or the one object that the file is."""
    text = _Window(stream)
    if text.next_character() != "[":
        yield _dumped(text.value())
    else:
        text.skip()
        more = text.next_character() != "]"
        while more:
            yield _dumped(text.value())
            mark = text.next_character()
            if mark not in (",", "]"):
                raise DamagedFileError(
                    "no JSON: the array has no end" if not mark else f"no JSON: {mark!r} in an array"
                )
            more = mark == ","
            if more:
                text.skip()
        text.skip()
    if behind := text.next_character():
        raise DamagedFileError(f"no JSON: {behind!r} behind its end")


def _dumped(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


class _Window:
    """The part of a JSON text that is being parsed; more is read when a value goes on beyond it."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream
        self._text_of = codecs.getincrementaldecoder(json.detect_encoding(stream.peek(4)))().decode
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._place = 0

    def _read(self) -> bool:
        """Take in as much again as is waiting; false at the end of the text."""
        rest = self._text[self._place :]
        if len(rest) > LONGEST_RECORD:
            raise DamagedFileError(f"an entry is no JSON, or {TOO_LONG}")
        data = self._stream.read(max(READ_BYTES, len(rest)))
        self._text, self._place = rest + self._text_of(data, final=not data), 0
        return bool(data)

    def skip(self) -> None:
        """Pass over one character."""
        self._place += 1

    def next_character(self) -> str:
        """The character that comes behind blanks; empty at the end of the text."""
        while True:
            while self._place < len(self._text):
                if (character := self._text[self._place]) not in _BLANKS:
                    return character
                self._place += 1
            if not self._read():
                return ""

    def value(self) -> Any:
        """Parse the value that comes next.

        Raises:
            DamagedFileError: no JSON, or too long.
        """
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
            except json.JSONDecodeError as error:
                if not self._read():
                    raise DamagedFileError(f"no JSON: {error.msg}") from error
                continue
            length = end - self._place
            # a number may go on behind the part that was read: with more digits, or as far as in `1e+` with an exponent
            if end + 2 < len(self._text) or not self._read():
                self._place += length
                return value
