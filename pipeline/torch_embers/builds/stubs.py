"""Stands in for the CUDA libraries of a build of torch, so that it can be imported without them and run on the CPU.

One small library (ELF, x86-64) defines each CUDA symbol that the build's own libraries ask for, and links to it have
the names of the missing libraries. Each function reports that there is no device. No compiler is needed.
"""

from __future__ import annotations

import re
import struct
from itertools import accumulate
from mmap import ACCESS_READ, mmap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

NAME = "libembers_no_cuda.so"
_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
"""What NVIDIA's packages bring; the other libraries come with torch or with the system."""
_SYMBOL = re.compile(r"(__cuda|cu|nv|nccl)\w")
_NO_DEVICE = b"\xb8\x64\0\0\0\xc3"
"""Machine code: mov eax, 100 (cudaErrorNoDevice); ret."""
_FUNCTIONS = (
    (re.compile("cudaGetDeviceCount$"), b"\xc7\x07\0\0\0\0" + _NO_DEVICE),  # *count = 0 before it
    (re.compile("cuda(GetLast|PeekAtLast)Error$|__cuda"), b"\x31\xc0\xc3"),  # return 0: called while torch is loaded
    (re.compile(r"\w+Get\w*(String|Name)$"), b"\x48\x8d\x05\x01\0\0\0\xc3no CUDA here\0"),  # return the text behind it
    (re.compile(""), _NO_DEVICE),
)
_PAGE = 0x1000
_HEAD = 64 + 4 * 56
"""Bytes of the file's header and of the headers of four segments."""
# types of sections and keys of the dynamic one, by the gABI and glibc's elf.h
_DYNAMIC, _DYNSYM, _VERNEED, _VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
_NEEDED, _HASH, _STRTAB, _SYMTAB, _STRSZ, _SYMENT, _SONAME = 1, 4, 5, 6, 10, 11, 14
_OF_SYMBOLS, _VERDEF, _VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD


class Symbol(NamedTuple):
    """A symbol and the version of it that is asked for; empty where any will do."""

    name: str
    version: str = ""


class Linked(NamedTuple):
    """What the dynamic linker reads of a library: what it needs, and which symbols it defines and lacks."""

    needed: set[str]
    defined: set[str]
    lacked: set[Symbol]


def write(folder: Path) -> list[str]:
    """Write the library into torch's folder ``lib``, with a link for each CUDA library that is not there.

    Returns:
        The names of those libraries.
    """
    linked = []
    for path in (*folder.glob("*.so*"), *folder.parent.glob("_C*.so")):
        with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
            linked.append(read(content))
    needed = set[str]().union(*(one.needed for one in linked))
    defined = set[str]().union(*(one.defined for one in linked))
    missing = sorted(name for name in needed if _LIBRARY.match(name) and not (folder / name).exists())
    lacked = {symbol for one in linked for symbol in one.lacked if _SYMBOL.match(symbol.name)}
    (folder / NAME).write_bytes(library(symbol for symbol in lacked if symbol.name not in defined))
    for name in missing:
        (folder / name).symlink_to(NAME)
    return missing


def read(file: bytes | mmap) -> Linked:
    """What the dynamic linker reads of a 64-bit library; nothing of a file that is none."""
    linked = Linked(set(), set(), set())
    if file[:6] != b"\x7fELF\x02\x01":
        return linked
    start, size, count = struct.unpack_from("<Q10xHH", file, 40)
    headers = [struct.unpack_from("<4xI16xQQI", file, start + place * size) for place in range(count)]
    sections = {kind: (file[at : at + long], headers[link][1]) for kind, at, long, link in headers}
    if _DYNSYM not in sections:
        return linked
    table, texts = sections[_DYNSYM]
    entries = struct.iter_unpack("<QQ", sections[_DYNAMIC][0])
    linked.needed.update(_text(file, texts + value) for key, value in entries if key == _NEEDED)
    versions = dict(_versions(file, *sections[_VERNEED])) if _VERNEED in sections else {}
    numbers = sections[_VERSYM][0] if _VERSYM in sections else bytes(len(table))
    for (name, info, section), (number,) in zip(
        struct.iter_unpack("<IBxH16x", table), struct.iter_unpack("<H", numbers), strict=False
    ):
        if section:
            linked.defined.add(_text(file, texts + name))
        elif info >> 4 != 2:  # not weak
            linked.lacked.add(Symbol(_text(file, texts + name), versions.get(number & 0x7FFF, "")))
    return linked


def _versions(file: bytes | mmap, table: bytes, texts: int) -> Iterator[tuple[int, str]]:
    """The versions that a library asks for, by the number that its symbols have."""
    place, step = 0, 1
    while step:
        first, step = struct.unpack_from("<8xII", table, place)
        entry, further = place + first, 1
        while further:
            number, name, further = struct.unpack_from("<6xHII", table, entry)
            yield number, _text(file, texts + name)
            entry += further
        place += step


def _text(file: bytes | mmap, at: int) -> str:
    return file[at : file.find(b"\0", at)].decode("utf-8", "replace")


def library(symbols: Iterable[Symbol]) -> bytes:
    """A shared library for x86-64 Linux that defines these symbols."""
    ordered = sorted(symbols)
    versions = [NAME, *sorted({symbol.version for symbol in ordered} - {""})]
    names = list(dict.fromkeys([*versions, *(symbol.name for symbol in ordered)]))
    at = dict(zip(names, accumulate((len(name) + 1 for name in names), initial=1), strict=False))
    texts = "\0".join(["", *names, ""]).encode()
    image = bytearray(_HEAD)

    def placed(part: bytes) -> int:
        image.extend(bytes(-len(image) % 8) + part)
        return len(image) - len(part)

    table = [bytes(24)]
    for name, _ in ordered:
        code = next(code for pattern, code in _FUNCTIONS if pattern.match(name))
        table.append(struct.pack("<IBBHQQ", at[name], 0x12, 0, 1, placed(code), len(code)))  # a global function
    numbers = [0, *(versions.index(version or NAME) + 1 for _, version in ordered)]
    known = [
        struct.pack("<HHHHIIIII", 1, place == 1, place, 1, _hash(name), 20, 28 * (place < len(versions)), at[name], 0)
        for place, name in enumerate(versions, 1)
    ]
    entries = [
        (_SONAME, at[NAME]),
        (_HASH, placed(_hash_table([name for name, _ in ordered]))),
        (_STRTAB, placed(texts)),
        (_STRSZ, len(texts)),
        (_SYMTAB, placed(b"".join(table))),
        (_SYMENT, 24),
        (_OF_SYMBOLS, placed(struct.pack(f"<{len(numbers)}H", *numbers))),
        (_VERDEF, placed(b"".join(known))),
        (_VERDEFNUM, len(known)),
        (0, 0),
    ]
    image.extend(bytes(-len(image) % _PAGE))
    fixed, dynamic = len(image), b"".join(struct.pack("<QQ", *entry) for entry in entries)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 62, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    for kind, rights, start, size in (
        (1, 5, 0, fixed),  # loaded; read and run
        (1, 6, fixed, len(dynamic)),  # loaded; read and write: the linker writes addresses into it
        (2, 6, fixed, len(dynamic)),  # where the dynamic section is
        (0x6474E551, 6, 0, 0),  # no code on the stack
    ):
        head += struct.pack("<IIQQQQQQ", kind, rights, start, start, start, size, size, _PAGE)
    image[:_HEAD] = head
    return bytes(image) + dynamic


def _hash(name: str) -> int:
    """The hash of a name, as the gABI has it."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ high >> 24) & ~high
    return value


def _hash_table(names: list[str]) -> bytes:
    """Numbers of buckets and of chains; the first symbol of each bucket; behind each symbol the next one."""
    size = len(names) + 1
    buckets, chains = [0] * size, [0] * size
    for number, name in enumerate(names, 1):
        bucket = _hash(name) % size
        chains[number], buckets[bucket] = buckets[bucket], number
    return struct.pack(f"<{2 + 2 * size}I", size, size, *buckets, *chains)
