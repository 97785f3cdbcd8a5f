"""From what ``git log`` printed to records: pure, shared by a run and by a replay."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.commits import CHANGES, LARGEST, MAIN, Change, Landed, add_commit
from torch_embers.mine.git.gitrepo import moment, path_text
from torch_embers.mine.pages import reject
from torch_embers.normalize import clean_text
from torch_embers.store.records import Batch, Page

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.mine.git.commits import Line

LOG_KIND = "git.log"
"""Pages of older releases: line counts alone, nothing about the place of a commit in the history."""
HISTORY_KIND = "git.history"
"""A header, then ``git log -z --raw``; pages of older releases have ``--numstat``, too."""
FIELDS = ("%H", "%P", "%an", "%at", "%ct", "%s", "%B")
SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_RAW = re.compile(rb"\n?:\d{6} \d{6} [0-9a-f]{40,64} [0-9a-f]{40,64} ([A-Z])\d{0,3}")
_NUMSTAT = re.compile(rb"\n?(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_TWO_PATHS = (b"R", b"C")
PATHLESS = "pathless"


def header(places: Mapping[str, Sequence[str]]) -> bytes:
    """The beginning of a page: which of its commits stand beside the main line, and of which no path is known."""
    return json.dumps({name: list(shas) for name, shas in sorted(places.items()) if shas}).encode() + b"\0"


def read_git_log(page: Page) -> Batch:
    """Turn a page of ``git log`` into commits, files, pull requests and fixed issues (no page, no cursor).

    A renamed file stands under its new name; a binary file has neither additions nor deletions.
    What cannot be read as git's output becomes one reject that holds its beginning.
    """
    batch = Batch()
    body = page.body
    places: dict[str, Any] = {}
    if page.kind == HISTORY_KIND:
        head, _, body = body.partition(b"\0")
        places = json.loads(head)
    lines: dict[str, Line] = {sha: line for line in ("release", "branch", "foreign") for sha in places.get(line, ())}
    pathless = frozenset(places.get(PATHLESS, ()))
    usual = MAIN if page.kind == HISTORY_KIND else None
    tokens = body.split(b"\0")
    place = 0
    while place < len(tokens) - 1:
        values = tokens[place : place + len(FIELDS)]
        sha = values[0].decode("ascii", "replace")
        if len(values) < len(FIELDS) or not SHA.fullmatch(sha):
            raw = b"\0".join(tokens[place : place + 10])
            batch.rejects.append(reject(page, None, "not the output of git log", raw))
            break
        files, place = _files(tokens, place + len(FIELDS) + 1)
        commit = _landed(page.repo, sha, values, None if sha in pathless else files, lines.get(sha, usual))
        add_commit(batch, commit, page.stamp)
    return batch


def _landed(repo: str, sha: str, values: Sequence[bytes], files: Sequence[Change] | None, line: Line | None) -> Landed:
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


def _files(tokens: Sequence[bytes], place: int) -> tuple[list[Change], int]:
    """The files from ``place`` on, and where the next commit begins: paths from ``--raw``, lines from ``--numstat``."""
    found: dict[bytes, tuple[str | None, int | None, int | None]] = {}
    while place < len(tokens):
        if entry := _RAW.fullmatch(tokens[place]):
            place += 2 if entry[1] in _TWO_PATHS else 1
            name = tokens[min(place, len(tokens) - 1)]
            found[name] = (CHANGES.get(entry[1].decode(), "changed"), None, None)
        elif entry := _NUMSTAT.fullmatch(tokens[place]):
            added, deleted, name = entry.groups()
            if not name:  # a rename: old and new name follow as tokens of their own
                name = tokens[min(place + 2, len(tokens) - 1)]
                place += 2
            found[name] = (found.get(name, (None,))[0], _lines(added), _lines(deleted))
        else:
            break
        place += 1
    return [Change(path_text(name), *values) for name, values in found.items()], place


def _lines(raw: bytes) -> int | None:
    return None if raw == b"-" else min(int(raw), LARGEST)


def _prose(raw: bytes) -> str:
    return clean_text(raw.decode("utf-8", "replace"))
