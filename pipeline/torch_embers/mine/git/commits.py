"""What a commit of the merged history says: the pull request it landed, and the issues it fixes.

Shared by clones (``gitlog.py``) and by files of commits (``commit_lines.py``). Pure.

A history holds more numbers than its own. Subtrees were merged with the history of other repositories (caffe2, ATen,
THC in pytorch), imports keep the numbers of another tracker, and a revert quotes the title of what it takes out.
So a number counts by evidence only: the address of the pull request first, then the end of the subject where nothing
speaks against it (data/history.toml). What a commit brings is no statement of the tracker. The store lets every other
source win over it (``store/sql.py``).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import Field

from torch_embers import toml_models
from torch_embers.link import relations
from torch_embers.link.messages import own_part
from torch_embers.link.references import parse
from torch_embers.link.relations import contains_any
from torch_embers.mine import raw
from torch_embers.mine.raw import Said, part_id
from torch_embers.store import rows
from torch_embers.toml_models import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

FILE = "history.toml"
SOURCE = "git"
LARGEST = 2**31 - 1
CHANGES = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "C": "copied"}
"""Git's letter of a change; every other letter (a file that became a link ...) is ``changed``."""

Line = Literal["main", "release", "branch", "foreign"]
MAIN: Line = "main"
RELEASE: Line = "release"
BRANCH: Line = "branch"
FOREIGN: Line = "foreign"

_SUBJECT_NUMBER = re.compile(r"\(#(\d{1,10})\)\s*$", re.ASCII)
_TWO_NUMBERS = re.compile(r"\(#\d{1,10}\)\s{0,3}\(#\d{1,10}\)\s*$", re.ASCII)
_PICKED = re.compile(r"\[[^\]\n]{0,40}(?:cherry[- ]?pick|release|v?\d{1,2}\.\d{1,2})", re.ASCII | re.IGNORECASE)
_MERGE_SUBJECT = re.compile(r"(?:Merge pull request|Auto merge of|Merge(?: PR)?) #(\d{1,10})\b", re.ASCII)
"""GitHub's own button, and the bots bors and homu."""
_MERGES_LINE = re.compile(r"^Merges #(\d{1,10})\b", re.ASCII | re.MULTILINE)
"""What people write below "Merge branch 'x' of 'address'"."""
_RESOLVED = re.compile(
    r"^(?:Pull Request resolved|Pull-Request(?:-resolved)?):\s*https?://github\.com/([\w.-]{1,100}/[\w.-]{1,100})/pull/(\d{1,10})\b",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)


class _Tracker(Entry):
    """How fast a tracker gave out numbers."""

    repo: str
    oldest_share: float = Field(gt=0, lt=1)
    oldest_share_reason: str
    reached: Mapping[str, int]
    reached_reason: str


class _Rules(Entry):
    tracker: tuple[_Tracker, ...]


@cache
def _rules() -> _Rules:
    return toml_models.load(_Rules, FILE)


class FileChange(NamedTuple):
    """A file that a commit changes; the numbers of lines are ``None`` for a binary file, or where they are unknown."""

    path: str
    change: str | None = None
    additions: int | None = None
    deletions: int | None = None


@dataclass(frozen=True, slots=True)
class Landed:
    """A commit as its source gives it."""

    repo: str
    sha: str
    subject: str
    message: str
    committed_at: str | None
    files: Sequence[FileChange] | None = ()
    """``None`` where the source cannot say."""
    files_total: int | None = None
    """Files changed, where ``files`` is only a part of them."""
    author: str | None = None
    authored_at: str | None = None
    line: Line | None = None
    is_merge: bool = False


def subject_of(message: str) -> str:
    """The subject as git has it: the lines before the first empty one, joined."""
    return " ".join(message.lstrip("\n").partition("\n\n")[0].split("\n")).strip()


def pull_number(
    repo: str, subject: str, message: str, committed_at: str | None = None, line: Line | None = None
) -> int | None:
    """Return the pull request that became this commit, as its message states it.

    Args:
        repo: the repository whose numbers are wanted.
        subject: first paragraph of the message.
        message: the whole message.
        committed_at: time of the commit, where known: an old number in a new commit is another repository's.
        line: where the commit stands in the history; a commit inside a branch landed nothing.

    Returns:
        The number of "Pull Request resolved:" (ghstack: "Pull-Request:") of this repository: the one that also ends the
        subject, else the last. Without such a line the number that ends the subject, or that of "Merge pull request
        #n", or of a line "Merges #n" below "Merge branch". The number within a quoted title ('Revert "x (#1)"') is
        another commit's.
    """
    if line in (BRANCH, FOREIGN):
        return None
    ending = _SUBJECT_NUMBER.search(subject)
    resolved = _RESOLVED.findall(message)
    own = [number for place, number in resolved if place.lower() == repo.lower()]
    if own:
        return _bounded(int(ending[1] if ending and ending[1] in own else own[-1]))
    if match := _MERGE_SUBJECT.match(subject) or (subject.startswith("Merge ") and _MERGES_LINE.search(message)):
        return _bounded(int(match[1]))
    if ending is None or resolved or _is_too_old(repo, int(ending[1]), committed_at):
        return None
    return _bounded(int(ending[1]))


def _bounded(number: int) -> int | None:
    return number if 0 < number <= LARGEST else None


def _is_too_old(repo: str, number: int, committed_at: str | None) -> bool:
    """Whether the tracker had given out so many numbers that this one is another repository's."""
    tracker = next((tracker for tracker in _rules().tracker if tracker.repo == repo.lower()), None)
    if tracker is None or committed_at is None:
        return False
    days = sorted(tracker.reached)
    place = bisect_right(days, committed_at[:10]) - 1
    return place >= 0 and number < tracker.oldest_share * tracker.reached[days[place]]


def may_fix(message: str) -> bool:
    """Whether a message has a word without which no rule finds a fix in it (a cheap test)."""
    return contains_any(message.lower(), _fixing_words())


@cache
def _fixing_words() -> tuple[str, ...]:
    return relations.load().words("fixes", "commit")


def fixed_numbers(repo: str, subject: str, message: str) -> list[int]:
    """Numbers of this repository that a message names as fixed, each once."""
    if not may_fix(message):
        return []
    found = [
        reference.target_number
        for text, title in ((subject, True), (_rest(own_part(message)), False))
        for reference in parse(text, repo=repo, title=title, kind="commit")
        if reference.relation == "fixes" and not reference.inverse and reference.target_repo == repo
    ]
    return list(dict.fromkeys(number for number in found if number))


def _rest(message: str) -> str:
    return message.lstrip("\n").partition("\n\n")[2].strip("\n")


def title_and_body(subject: str, message: str) -> tuple[str | None, str]:
    """Title and body of the pull request as it was merged: the message without what the merge added to it."""
    body = _rest(message)
    if _MERGE_SUBJECT.match(subject):
        title, _, body = body.partition("\n")
        return title.strip() or None, body.strip("\n")
    if subject.startswith("Merge ") and _MERGES_LINE.search(body):
        return None, body  # the subject names branches
    return _SUBJECT_NUMBER.sub("", subject).rstrip(), body


class Rows:
    """What commits say, as rows of ``commits`` and ``commit_files`` and as raw objects of the items that they name."""

    def __init__(self, fetched_at: str) -> None:
        self.fetched_at = fetched_at
        self.commits: list[dict[str, Any]] = []
        self.files: list[dict[str, Any]] = []
        self.objects: list[Said] = []

    def items(self) -> set[tuple[str, str]]:
        """Repository and number of the items of which they say something."""
        return {(one.repo, one.id) for one in self.objects if one.kind == "item"}

    def add(self, commit: Landed) -> None:
        """Add a commit with its files, the pull request that it landed, and the issues that it fixes."""
        number = pull_number(commit.repo, commit.subject, commit.message, commit.committed_at, commit.line)
        # what a merge into a branch brings has landed elsewhere: it has no files of its own
        files = () if commit.is_merge and commit.line in (BRANCH, FOREIGN) else commit.files
        made = {"repo": commit.repo, "sha": commit.sha, "source": SOURCE, "fetched_at": self.fetched_at}
        self.commits.append(
            made
            | {
                "author": commit.author,
                "authored_at": commit.authored_at,
                "committed_at": commit.committed_at,
                "subject": commit.subject,
                "message": commit.message,
                "pull_number": number,
                "line": commit.line,
                "files": commit.files_total if files is None or commit.files_total is not None else len(files),
            }
        )
        self.files += [made | file._asdict() for file in files or ()]
        if commit.line != FOREIGN:
            self._add_items(commit, number)
        if number is not None and _landed_here(commit):
            for file in files or ():
                what = {"changeType": file.change, "additions": file.additions, "deletions": file.deletions}
                self._say("file", part_id(number, file.path), commit.repo, commit.committed_at, what)

    def _add_items(self, commit: Landed, number: int | None) -> None:
        if number is not None and _landed_here(commit):
            title, body = title_and_body(commit.subject, commit.message)
            landed = {
                "kind": "pull",
                "title": title,
                "body": body,
                "state": "closed",
                "merged": True,
                "merged_at": commit.committed_at,
                "closed_at": commit.committed_at,
                "merge_commit_sha": commit.sha,
            }
            self._say("item", str(number), commit.repo, commit.committed_at, landed)
        for fixed in fixed_numbers(commit.repo, commit.subject, commit.message):
            if fixed != number:
                self._say("item", str(fixed), commit.repo, None, {"kind": "issue"})

    def _say(self, kind: str, key: str, repo: str, said_at: str | None, what: Mapping[str, Any]) -> None:
        text = json.dumps(what, separators=(",", ":"))
        self.objects.append(Said(repo, kind, key, SOURCE, said_at, None, self.fetched_at, text))


def store(connection: duckdb.DuckDBPyConnection, repo: str, pages: Iterable[Rows], *, whole: bool) -> int:
    """Store what commits say and derive their items, inside the caller's transaction.

    Args:
        connection: the database.
        repo: of the commits.
        pages: the commits; each is forgotten once it is stored.
        whole: they are the whole history, and take the place of what an earlier one said.

    Returns:
        How many commits came.
    """
    if whole:
        of_history = f"FROM raw WHERE repo = ? AND source = '{SOURCE}'"
        met = connection.execute(f"SELECT DISTINCT split_part(id, '/', 1)::INTEGER {of_history}", [repo]).fetchall()
        connection.execute(f"DELETE {of_history}", [repo])
        for table in ("commits", "commit_files"):
            connection.execute(f"DELETE FROM {table} WHERE repo = ?", [repo])
    numbers = {number for (number,) in met} if whole else set[int]()
    count = 0
    for page in pages:
        count += len(page.commits)
        if not whole:
            shas = [row["sha"] for row in page.commits]
            for table in ("commits", "commit_files"):
                connection.execute(f"DELETE FROM {table} WHERE repo = ? AND sha IN (SELECT unnest(?))", [repo, shas])
        rows.append(connection, "commits", page.commits)
        rows.append(connection, "commit_files", page.files)
        raw.put(connection, page.objects)
        numbers.update(int(one.id.partition("/")[0]) for one in page.objects)
    raw.derive(connection, repo, sorted(numbers))
    return count


def _landed_here(commit: Landed) -> bool:
    """Whether the commit is the landing of its pull request, and not a copy of it on a release branch."""
    if commit.line != RELEASE:
        return True
    return bool(_PICKED.match(commit.subject) or _TWO_NUMBERS.search(commit.subject))
