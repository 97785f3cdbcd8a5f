"""Lines of code per release tag and component, counted in a local clone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from torch_embers.link.components import Component, Components
from torch_embers.mine.git.gitrepo import Clone, path_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MISSING = b"missing"

RELEASE_TAG = re.compile(r"v\d{1,4}(\.\d{1,6}){1,3}(\.post\d{1,6})?", re.ASCII)
"""A published release: no release candidate, no alpha. Post releases are published, too."""

SOURCE_SUFFIXES = frozenset(
    {".py", ".pyi", ".pyx"}  # Python, its type stubs, Cython
    | {".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".inl"}  # C and C++
    | {".cu", ".cuh", ".hip"}  # kernels for CUDA and HIP
    | {".m", ".mm", ".metal"}  # Objective-C and Metal: the MPS backend
    | {".glsl", ".s"}  # Vulkan kernels, assembly
)
_REGULAR_FILE = (b"100644", b"100755")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LFS_LARGEST = 1_024
_READ_BYTES = 1 << 20
_BINARY_PROBE = 8_000
"""Bytes in which a NUL makes a file binary, as git itself decides."""


@cache
def component_of(path: str) -> Component:
    """Return the component of a path by data/components.toml; 'other' where no entry fits."""
    return Components.load().by_path(path) or Component("other", "", strict=False)


class Counted(NamedTuple):
    """Lines of code of a tag."""

    rows: list[dict[str, Any]]
    """Rows of ``code_sizes``."""
    pointers: list[str]
    """Source files that are Git LFS pointers, and count as nothing."""


def counted(files: Iterable[tuple[bytes, bytes]], **of_tag: str | None) -> Counted:
    """Add up (line count, path) of the files of one tag, as rows of ``code_sizes`` per component.

    'data_path_strict' repeats the part of 'data_path' that the study's own module list covers; every other
    component stands once, so that without it the rows of a tag add up.
    """
    counts: Counter[tuple[str, str]] = Counter()
    lines: Counter[tuple[str, str]] = Counter()
    pointers = []
    for count, name in files:
        path = path_text(name)
        if count == b"lfs":
            pointers.append(path)
            continue
        component, subcomponent, strict = component_of(path)
        names = (component, "data_path_strict") if strict and component == "data_path" else (component,)
        for one in names:
            counts[one, subcomponent] += 1
            lines[one, subcomponent] += int(count)
    keys = ("component", "subcomponent")
    rows = [
        of_tag | dict(zip(keys, key, strict=True)) | {"files": counts[key], "lines": lines[key]}
        for key in sorted(counts)
    ]
    return Counted(rows, pointers)


@dataclass(slots=True)
class Sizes:
    """Line counts by blob: most files of a release are those of the release before."""

    clone: Clone
    known: dict[bytes, bytes] = field(default_factory=dict)

    def of_tag(self, sha: str) -> list[tuple[bytes, bytes]]:
        """Give (line count, ``lfs`` or ``missing``, path) of every source file of a tag, without binary files."""
        files = list(_source_files(self.clone.run("ls-tree", "-r", "-z", "--full-tree", sha)))
        wanted = list(dict.fromkeys(blob for blob, _ in files if blob not in self.known))
        if wanted:
            names = (blob.decode() for blob in wanted)
            with self.clone.stream("cat-file", "--batch", "--buffer", lines=names) as output:
                for blob in wanted:
                    self.known[blob] = self._measure(output)
        return [(self.known[blob], path) for blob, path in files if self.known[blob] != b"binary"]

    def _measure(self, output: IO[bytes]) -> bytes:
        header = output.readline().split()
        if len(header) != 3 or not header[2].isdigit():
            return MISSING
        size = left = int(header[2])
        lines = 0
        verdict = b""
        while left:
            block = output.read(min(left, _READ_BYTES))
            if not block:
                return MISSING
            if left == size:
                verdict = _verdict(block, size)
            left -= len(block)
            lines += block.count(b"\n")
        output.read(1)  # git ends each content with a line feed
        return verdict or b"%d" % lines


def _verdict(beginning: bytes, size: int) -> bytes:
    if size <= _LFS_LARGEST and beginning.startswith(_LFS_POINTER):
        return b"lfs"
    return b"binary" if b"\0" in beginning[:_BINARY_PROBE] else b""


def _source_files(listing: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give (blob, path) of the regular source files of ``git ls-tree -r -z``."""
    for entry in listing.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        parts = head.split()
        if len(parts) < 3 or parts[0] not in _REGULAR_FILE:
            continue  # symbolic links and submodules have no lines of their own
        if PurePosixPath(path.decode("utf-8", "replace")).suffix.lower() in SOURCE_SUFFIXES:
            yield parts[2], path
