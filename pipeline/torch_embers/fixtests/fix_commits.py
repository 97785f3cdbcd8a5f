"""Commits of a clone that fix issues, with the test files that each changes; no process is started per commit."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.errors import InputError
from torch_embers.mine.git.commits import fixed_numbers, may_fix, pull_number
from torch_embers.mine.git.gitrepo import MissingObjectError, moment, path_text
from torch_embers.normalize import clean_text

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from torch_embers.mine.git.gitrepo import Clone

_MESSAGES = ("--no-merges", "-z", "--no-notes", "--no-show-signature", "--no-color", "--encoding=UTF-8")
_REVERTS = re.compile(rb"^This reverts commit ([0-9a-f]{40,64})\b", re.MULTILINE)
_TAKES_BACK = re.compile(rb"\W*(?:\[[^\]\n]*\]\s*)*(?:revert|back(?:ing|ed)?[ -]?out|unland)", re.IGNORECASE)
_REVERTED_DIFF = re.compile(rb"\W*Revert (D\d{5,9})\b|^Original Phabricator Diff: (D\d{5,9})\b", re.MULTILINE)
_OWN_DIFF = re.compile(rb"^Differential Revision: (?:https://\S*?)?\[?(D\d{5,9})\b", re.MULTILINE)
"""Until 2022 changes landed by way of Phabricator, and a revert names the number of the change there."""
_FORMAT = "--format=tformat:%x01%H%x00%ct%x00%s%x00%B"
_RECORD = re.compile(rb"\x01(?=[0-9a-f]{40,64}\0)")
"""The mark of a record; a message may hold its byte, but no NUL."""
_TREES = ("--raw", "--no-abbrev", "-l400", "--submodule=short", "--no-ext-diff", "--no-textconv")
_NO_RENAMES = "--no-renames"
_ENTRY = re.compile(rb"\n?:\d{6} (\d{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([A-Z])\d{0,3}")
_SHA = re.compile(r"\n?([0-9a-f]{40}(?:[0-9a-f]{24})?)")
_HEAD = re.compile(rb" (\d{1,15})\n\Z")
_REGULAR = (b"100644", b"100755")
_TWO_PATHS = (b"R", b"C")


class ChangedFile(NamedTuple):
    """A file of tests that a commit changes: path, contents now (None: deleted) and before (None: it is new)."""

    path: str
    blob: str | None
    old_blob: str | None


@dataclass(frozen=True, slots=True)
class FixCommit:
    """A commit that names issues as fixed.

    Attributes:
        issues: their numbers.
        pull: the pull request that it landed, where the message says it.
        is_reverted: whether a later commit of the history takes it back.
        files: test files that it adds or changes; None where a tree is missing in the clone.
    """

    sha: str
    committed_at: str
    subject: str
    issues: tuple[int, ...]
    pull: int | None
    is_reverted: bool
    files: tuple[ChangedFile, ...] | None = ()


def revision_of(clone: Clone, name: str) -> str:
    """The commit that a branch, tag or hash means.

    Raises:
        InputError: there is none of this name.
    """
    try:
        found = clone.ask("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    except InputError as error:
        raise InputError(f"{clone.path} has no commit {name!r}: `git branch -a` there lists what it has") from error
    return found.decode("ascii", "replace").strip()


def fix_commits(clone: Clone, repo: str, revision: str, roots: Sequence[str]) -> list[FixCommit]:
    """The commits of a history that fix issues of a repository, newest first.

    Args:
        clone: the clone.
        repo: the repository whose numbers count.
        revision: its commits are read, merges left out.
        roots: folders of tests, as ``test/``.

    Raises:
        InputError: git failed, or a commit itself is missing.
    """
    found = _named(clone, repo, revision)[::-1]
    files = dict(_changed_files(clone, [commit.sha for commit in found], roots))
    return [replace(commit, files=files.get(commit.sha)) for commit in found]


def contents(clone: Clone, blobs: Iterable[str]) -> Generator[tuple[str, bytes | None], None, None]:
    """The contents of objects, in the order asked for; None for one that the clone lacks, or has damaged.

    Git ends at a damaged object; another process goes on behind it.
    """
    wanted = list(blobs)
    done = 0
    while done < len(wanted):
        with suppress(InputError), clone.stream("cat-file", "--batch", "--buffer", lines=wanted[done:]) as output:
            ended = False
            while done < len(wanted) and not ended:
                head = output.readline()
                found = _HEAD.search(head)
                body = output.read(int(found[1]) + 1)[:-1] if found else None
                ended = not head or (found is not None and len(body or b"") < int(found[1]))
                done += 1
                yield wanted[done - 1], None if ended else body


def files_at(clone: Clone, revision: str, roots: Sequence[str]) -> dict[str, str]:
    """The files below some folders at a commit, by path, with their contents' names.

    Raises:
        MissingObjectError: the clone lacks a tree.
    """
    output = clone.run("ls-tree", "-r", "-z", "--full-tree", revision, "--", *roots)
    heads = (entry.partition(b"\t") for entry in output.split(b"\0") if entry)
    return {path_text(path): head.split()[2].decode("ascii") for head, _, path in heads}


def _named(clone: Clone, repo: str, revision: str) -> list[FixCommit]:
    """Commits whose message names a fixed issue, oldest first, without their files.

    A commit that takes a revert back and names none fixes what the reverted ones fixed.
    """
    with clone.stream("log", "--stdin", *_MESSAGES, _FORMAT, lines=[revision]) as output:
        records = [text.removesuffix(b"\0").split(b"\0", 3) for text in _RECORD.split(output.read())[1:]]
    reverted_by = _reverted_by(records)
    landed_again: dict[bytes, list[bytes]] = {}
    for sha, revert in reverted_by.items():
        if revert in reverted_by:
            landed_again.setdefault(reverted_by[revert], []).append(sha)
    found: dict[bytes, FixCommit] = {}
    for sha, seconds, subject, message in reversed(records):
        prose, title, committed = _prose(message), _prose(subject), moment(seconds) or ""
        if sha not in landed_again and not may_fix(prose):
            continue
        pull = pull_number(repo, title, prose, committed)
        issues = [number for number in fixed_numbers(repo, title, prose) if number != pull]
        issues = issues or [
            number for first in landed_again.get(sha, ()) if first in found for number in found[first].issues
        ]
        if issues:
            found[sha] = FixCommit(
                sha.decode("ascii"), committed, title, tuple(dict.fromkeys(issues)), pull, sha in reverted_by
            )
    return list(found.values())


def _reverted_by(records: Iterable[Sequence[bytes]]) -> dict[bytes, bytes]:
    """For each commit that a later one takes back the newest one that does it.

    Args:
        records: hash, time, subject and message, newest first: by hash a commit may take back any, by the number of a
            change only one that is older.
    """
    found: dict[bytes, bytes] = {}
    by_diff: dict[bytes, bytes] = {}
    for sha, _, subject, message in records:
        for reverted in _REVERTS.findall(message):
            found.setdefault(reverted, sha)
        own = _OWN_DIFF.search(message)
        if own and own[1] in by_diff:
            found.setdefault(sha, by_diff.pop(own[1]))
        for title, original in _REVERTED_DIFF.findall(message) if _TAKES_BACK.match(subject) else ():
            by_diff.setdefault(title or original, sha)
    return found


def _changed_files(
    clone: Clone, shas: Sequence[str], roots: Sequence[str], renames: str = "--find-renames"
) -> Iterator[tuple[str, tuple[ChangedFile, ...]]]:
    """The test files of each commit; a commit whose trees cannot be compared is left out.

    Renames are looked for in the contents; where the clone lacks these, a renamed file is a new one and a deleted one.
    """
    if not shas:
        return
    options = ("log", "--stdin", "--no-walk=unsorted", "-z", "--format=tformat:%H", *_TREES)
    try:
        output = clone.run(*options, renames, "--", *roots, lines=shas)
    except MissingObjectError:
        if len(shas) > 1:  # halves, until the commits that git cannot compare stand alone
            middle = len(shas) // 2
            yield from _changed_files(clone, shas[:middle], roots)
            yield from _changed_files(clone, shas[middle:], roots)
        elif renames != _NO_RENAMES:
            yield from _changed_files(clone, shas, roots, _NO_RENAMES)
        return
    listed: dict[str, list[ChangedFile]] = {sha: [] for sha in shas}
    sha = ""
    tokens = iter(output.split(b"\0"))
    for token in tokens:
        if entry := _ENTRY.match(token):
            mode, old, new, letter = entry.groups()
            path = next(tokens, b"")
            if letter in _TWO_PATHS:
                path = next(tokens, b"")
            if (mode in _REGULAR or letter == b"D") and path.endswith(b".py"):
                is_new, is_gone = not old.strip(b"0"), not new.strip(b"0")
                blobs = (None if is_gone else new.decode("ascii"), None if is_new else old.decode("ascii"))
                listed[sha].append(ChangedFile(path_text(path), *blobs))
        elif found := _SHA.fullmatch(token.decode("ascii", "replace")):
            sha = found[1]
    yield from ((name, tuple(files)) for name, files in listed.items())


def _prose(raw: bytes) -> str:
    return clean_text(raw.decode("utf-8", "replace"))
