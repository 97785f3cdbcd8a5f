"""From what ``git log`` printed to rows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torch_embers.errors import InputError
from torch_embers.mine.git.commits import CHANGES, MAIN, FileChange, Landed
from torch_embers.mine.git.gitrepo import moment, path_text
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from torch_embers.mine.git.commits import Line, Rows

FIELDS = ("%H", "%P", "%an", "%at", "%ct", "%s", "%B")
SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_RAW = re.compile(rb"\n?:\d{6} \d{6} [0-9a-f]{40,64} [0-9a-f]{40,64} ([A-Z])\d{0,3}")
_TWO_PATHS = (b"R", b"C")


def read_git_log(body: bytes, repo: str, rows: Rows, lines: Mapping[str, Line], pathless: Collection[str] = ()) -> None:
    """Read what ``git log -z --raw`` printed.

    A renamed file stands under its new name.

    Args:
        body: the output.
        repo: of the commits.
        rows: where they are added.
        lines: their places in the history.
        pathless: those whose files are not known.

    Raises:
        InputError: it is not the output of git log.
    """
    tokens = body.split(b"\0")
    place = 0
    while place < len(tokens) - 1:
        values = tokens[place : place + len(FIELDS)]
        sha = values[0].decode("ascii", "replace")
        if len(values) < len(FIELDS) or not SHA.fullmatch(sha):
            raise InputError(f"git log printed what is no commit: {b' '.join(values)[:100]!r}")
        files, place = _files(tokens, place + len(FIELDS) + 1)
        rows.add(_landed(repo, sha, values, None if sha in pathless else files, lines.get(sha, MAIN)))


def _landed(
    repo: str, sha: str, values: Sequence[bytes], files: Sequence[FileChange] | None, line: Line | None
) -> Landed:
    return Landed(
        repo,
        sha,
        subject=_prose(values[5]),
        message=_prose(values[6]).rstrip("\n"),
        committed_at=moment(values[4]),
        files=files,
        author=_prose(values[2]),
        authored_at=moment(values[3]),
        line=line,
        is_merge=b" " in values[1],
    )


def _files(tokens: Sequence[bytes], place: int) -> tuple[list[FileChange], int]:
    """The files from ``place`` on, and where the next commit begins."""
    found: dict[bytes, str] = {}
    while place < len(tokens) and (entry := _RAW.fullmatch(tokens[place])):
        place += 2 if entry[1] in _TWO_PATHS else 1
        found[tokens[min(place, len(tokens) - 1)]] = CHANGES.get(entry[1].decode(), "changed")
        place += 1
    return [FileChange(path_text(name), change) for name, change in found.items()], place


def _prose(raw: bytes) -> str:
    return clean_text(raw.decode("utf-8", "replace"))
