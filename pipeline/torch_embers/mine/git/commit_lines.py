"""Records of commits in a file of JSON Lines: a merged history without its repository.

Each record is one commit of the main line: ``sha``, ``committed`` (time), ``message``, ``files`` as git's letter and
the path (``M torch/nn.py``), and ``files_total`` where ``files`` was cut.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.commits import CHANGES, MAIN, Change, Landed, add_commit, subject_of
from torch_embers.mine.git.git_records import SHA
from torch_embers.mine.records.rest_records import BadRecordError, whole
from torch_embers.normalize import clean_text, iso_utc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from torch_embers.store.records import Batch, Page

_REQUIRED = frozenset({"sha", "committed", "message"})
_FILE = re.compile(r"(?:([A-Z])\d{0,3}[ \t])?(.+)", re.DOTALL)


def is_commit(record: Mapping[str, Any]) -> bool:
    """Whether a record has the fields of a commit."""
    return record.keys() >= _REQUIRED


def add(record: Mapping[str, Any], page: Page, batch: Batch) -> None:
    """Add the commit of a record.

    Raises:
        BadRecordError: the hash is no hash, or the message is no text.
    """
    sha, message = record["sha"], record["message"]
    if not isinstance(sha, str) or not SHA.fullmatch(sha.lower()):
        raise BadRecordError("a commit whose sha is no hash of 40 or 64 digits")
    if not isinstance(message, str):
        raise BadRecordError("a commit whose message is no text")
    message = clean_text(message)
    files = record.get("files")
    commit = Landed(
        page.repo,
        sha.lower(),
        subject=subject_of(message),
        message=message,
        committed_at=iso_utc(record["committed"]),
        files=list(_changes(files)) if isinstance(files, list) else None,
        files_total=whole(record.get("files_total")),
        line=MAIN,
    )
    add_commit(batch, commit, page.stamp)


def _changes(files: list[object]) -> Iterator[Change]:
    for entry in dict.fromkeys(file for file in files if isinstance(file, str)):
        if match := _FILE.fullmatch(entry):
            letter, path = match.groups()
            if path := clean_text(path.rpartition("\t")[2]):
                yield Change(path, CHANGES.get(letter, "changed") if letter else None)
