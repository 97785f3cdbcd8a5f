"""Records of commits in a file of JSON Lines: a merged history without its repository.

Each record is one commit of the main line: ``sha``, ``committed`` (time), ``message``, ``files`` as git's letter and
the path (``M torch/nn.py``), and ``files_total`` where ``files`` was cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.commits import CHANGES, LARGEST, MAIN, FileChange, Landed, subject_of
from torch_embers.mine.git.git_records import SHA
from torch_embers.normalize import clean_text, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FILE = re.compile(r"(?:([A-Z])\d{0,3}[ \t])?(.+)", re.DOTALL)


def read(record: Mapping[str, Any], repo: str) -> Landed:
    """The commit of a record.

    Raises:
        ValueError: the hash is no hash, or the message is no text.
    """
    sha, message = record["sha"], record["message"]
    if not isinstance(sha, str) or not SHA.fullmatch(sha.lower()):
        raise ValueError("a commit whose sha is no hash of 40 or 64 digits")
    if not isinstance(message, str):
        raise ValueError("a commit whose message is no text")  # noqa: TRY004 - one kind of error for bad records
    message = clean_text(message)
    files = record.get("files")
    total = record.get("files_total")
    return Landed(
        repo,
        sha.lower(),
        subject=subject_of(message),
        message=message,
        committed_at=iso_utc(record["committed"]),
        files=list(_changes(files)) if isinstance(files, list) else None,
        files_total=total if type(total) is int and 0 <= total <= LARGEST else None,
        line=MAIN,
    )


def _changes(files: list[object]) -> Iterator[FileChange]:
    for entry in dict.fromkeys(file for file in files if isinstance(file, str)):
        if match := _FILE.fullmatch(entry):
            letter, path = match.groups()
            if path := clean_text(path.rpartition("\t")[2]):
                yield FileChange(path, CHANGES.get(letter, "changed") if letter else None)
