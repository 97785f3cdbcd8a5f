"""What a nightly was built from, as a clone says it.

A nightly is built from the branch ``nightly``. It has a commit a day, a snapshot of a commit of the main line that the
subject names: "2025-08-01 nightly release (SHA)". A build calls either of the two its commit. Two days on which the
main line stood still have two commits of the branch and one source.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.errors import InputError
from torch_embers.fixtests.first_release import VERSION_FILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.mine.git.gitrepo import Clone

_SUBJECT = re.compile(r"(\d{4})-(\d\d)-(\d\d) nightly release \(([0-9a-f]{7,40})\)")
_BRANCHES = ("refs/heads/nightly", "refs/remotes/*/nightly")
_NUMBER = re.compile(rb"\d{1,4}\.\d{1,6}\.\d{1,6}")


class Day(NamedTuple):
    """A commit of the branch: the day as versions have it (20250801), and the release that its tree leads to."""

    day: str
    commit: str
    source: str
    release: str

    @property
    def version(self) -> str:
        """The public version of the nightly that was built from it."""
        return f"{self.release}.dev{self.day}"


class Sources:
    """Answers by a clone; without one every commit is taken for its own source.

    Args:
        clone: of the repository; None where there is none.
    """

    def __init__(self, clone: Clone | None = None) -> None:
        self._clone = clone
        self._known: dict[str, str] = {}

    def of(self, commit: str) -> str:
        """The commit of the main line behind a build's commit; the commit itself where the clone does not say."""
        if commit not in self._known:
            found = _SUBJECT.search(self._subject(commit))
            self._known[commit] = found[4] if found else commit
        return self._known[commit]

    def _subject(self, commit: str) -> str:
        if self._clone is None or not re.fullmatch("[0-9a-f]{7,40}", commit):
            return ""
        try:
            return self._clone.run("log", "-1", "--no-color", "--format=%s", commit, "--").decode("utf-8", "replace")
        except InputError:  # not in the clone
            return ""

    @cached_property
    def days(self) -> Mapping[str, Day]:
        """By version, the days of the branch whose tree names a release; the newest commit of a day counts."""
        if self._clone is None:
            return {}
        refs = self._clone.ask("for-each-ref", "--format=%(objectname)", *_BRANCHES).decode("ascii").split()
        log = ("log", "--stdin", "--fixed-strings", "--grep=nightly release (", "--no-color", "--format=tformat:%H %s")
        lines = self._clone.run(*log, lines=refs).decode("utf-8", "replace").splitlines() if refs else []
        dated = [(line[: line.index(" ")], found) for line in lines if (found := _SUBJECT.search(line))]
        releases = _releases(self._clone, [commit for commit, _ in dated])
        made = [
            Day(f"{found[1]}{found[2]}{found[3]}", commit, found[4], release)
            for (commit, found), release in zip(dated, releases, strict=True)
        ]
        return {one.version: one for one in reversed(made) if one.release}


def _releases(clone: Clone, commits: list[str]) -> list[str]:
    """The release that version.txt of each commit names; empty where the clone lacks the file."""
    output = clone.run("cat-file", "--batch", lines=[f"{commit}:{VERSION_FILE}" for commit in commits])
    found = []
    for _ in commits:
        head, _, output = output.partition(b"\n")
        size = head.rpartition(b" ")[2]
        if not size.isdigit():  # "NAME missing"
            found.append("")
            continue
        named = _NUMBER.match(output[: int(size)])
        found.append(named[0].decode("ascii") if named else "")
        output = output[int(size) + 1 :]
    return found
