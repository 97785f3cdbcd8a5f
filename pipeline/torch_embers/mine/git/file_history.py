"""What commits say, and which commits touch given files: one git process each, whatever their number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.mine.git.git_records import moment
from torch_embers.mine.git.gitrepo import path_text
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.mine.git.gitrepo import Clone

_ENTRY = re.compile(rb"\n?:\d{6} \d{6} ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) [A-Z]\d{0,3}")
_PLAIN = ("--stdin", "-z", "--no-notes", "--no-show-signature", "--no-color", "--encoding=UTF-8")
_TREES = ("--raw", "--no-abbrev", "--no-renames", "--submodule=short", "--no-ext-diff", "--no-textconv")


class FileChange(NamedTuple):
    """A commit that touches a file: contents before and after; None where the file is not there."""

    sha: str
    committed_at: str
    subject: str
    old_blob: str | None
    blob: str | None


def messages(clone: Clone, shas: Sequence[str]) -> dict[str, str]:
    """The messages of commits, by hash.

    Raises:
        InputError: git failed, or the clone lacks one of them.
    """
    if not shas:
        return {}
    output = clone.run("log", "--no-walk=unsorted", *_PLAIN, "--format=tformat:%x01%H%x00%B", lines=shas)
    found = (record.removesuffix(b"\0").partition(b"\0") for record in output.split(b"\x01")[1:])
    return {sha.decode("ascii"): clean_text(text.decode("utf-8", "replace")).strip() for sha, _, text in found}


def changes_of_files(clone: Clone, revision: str, paths: Sequence[str]) -> Mapping[str, Sequence[FileChange]]:
    """The commits of a history that touch these files, oldest first, by path. A renamed file is gone, and a new one.

    Raises:
        InputError: git failed, or a tree is missing.
    """
    found: dict[str, list[FileChange]] = {path: [] for path in paths}
    if not paths:
        return found
    form = "--format=tformat:%x01%H%x00%ct%x00%s"
    output = clone.run("log", "--reverse", *_PLAIN, *_TREES, form, "--", *paths, lines=[revision])
    for record in output.split(b"\x01")[1:]:
        sha, seconds, subject, *tokens = record.split(b"\0")
        head = (sha.decode("ascii"), moment(seconds) or "", clean_text(subject.decode("utf-8", "replace")))
        for place, token in enumerate(tokens[:-1]):
            path = path_text(tokens[place + 1])
            if (entry := _ENTRY.fullmatch(token)) and path in found:
                found[path].append(FileChange(*head, *map(_blob, entry.groups())))
    return found


def _blob(name: bytes) -> str | None:
    return name.decode("ascii") if name.strip(b"0") else None
