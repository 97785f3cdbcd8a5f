"""The first release that contains a commit: from release tags, from branch cuts, else from the version of the tree.

A tag is exact. Without one, the moment at which the branch of a release left the main line decides, where that moment
is known of the release and of the one before it. Else the file version.txt names the release that the main line leads
to; it is raised days to weeks after the branch of the release before was cut, and it can name a version that was never
released. So of the releases from that version on the first one counts whose branch was cut after the commit.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, NamedTuple

from packaging.version import Version

from torch_embers.errors import InputError
from torch_embers.fixtests.fix_commits import contents
from torch_embers.mine.git.gitrepo import MissingObjectError, moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch_embers.cases.fix_test_rules import Cut
    from torch_embers.mine.git.gitrepo import Clone

_TAG = re.compile(r"refs/tags/v(\d{1,4}\.\d{1,6}\.\d{1,6})")
_NAMED = re.compile(rb"\s*(\d{1,4}\.\d{1,6}\.\d{1,6})")
_RAISED = re.compile(rb"(\d{1,20})\0+\n?:\d{6} \d{6} [0-9a-f]{40,64} ([0-9a-f]{40,64}) [AMT]\0")
VERSION_FILE = "version.txt"

Evidence = Literal["tag", "picked", "branch_cut", "version_txt", "release_date", "unknown"]
EXACT: frozenset[Evidence] = frozenset({"tag", "picked", "branch_cut"})
"""Evidence that names no release too early. A cut can name one too late: a picked fix in C++ is not seen."""


class FirstRelease(NamedTuple):
    """A release and what says that it is the first with a commit; None where nothing does."""

    version: str | None
    evidence: Evidence


class FirstReleases:
    """Answers for the commits of one history.

    Args:
        clone: the clone.
        revision: the end of the history.
        cuts: of releases; used where no tag says.
        picked: commits that were brought into the branch of a release after its cut, with the release.

    Raises:
        InputError: git failed.
    """

    def __init__(self, clone: Clone, revision: str, cuts: Mapping[str, Cut], picked: Mapping[str, str]) -> None:
        self._tagged = _tagged(clone)
        self._raised = _raised(clone, revision)
        self._picked = picked
        self._cuts = cuts

    def of(self, sha: str, committed_at: str) -> FirstRelease:
        """The first release with a commit of the history.

        Args:
            sha: the commit.
            committed_at: its time, as ISO text in UTC.
        """
        if sha in self._tagged:
            return FirstRelease(self._tagged[sha], "tag")
        if sha in self._picked:
            return FirstRelease(self._picked[sha], "picked")
        if version := first_by_cut(self._cuts, committed_at):
            return FirstRelease(version, "branch_cut")
        place = bisect_right([when for when, _ in self._raised], committed_at) - 1
        if place >= 0:
            named = self._raised[place][1]
            is_known_of = any(Version(version) <= Version(named) for version in self._cuts)
            return FirstRelease((is_known_of and self._cut_after(committed_at, named)) or named, "version_txt")
        if self._cuts and committed_at > min(self._cuts.values()).at:
            found = self._cut_after(committed_at, "0")
            return FirstRelease(found, "release_date" if found else "unknown")
        return FirstRelease(None, "unknown")

    def _cut_after(self, when: str, oldest: str) -> str | None:
        """The first release, from a version on, whose branch was cut after a time; None where none is known to be."""
        cuts = sorted((cut, version) for version, cut in self._cuts.items())
        return next((v for cut, v in cuts if Version(v) >= Version(oldest) and when <= cut.at), None)


def first_by_cut(cuts: Mapping[str, Cut], committed_at: str) -> str | None:
    """The first release whose branch was cut after a time, where its cut and the one before it are measured."""
    ordered = sorted((cut, version) for version, cut in cuts.items())
    after = next((place for place, (cut, _) in enumerate(ordered) if committed_at <= cut.at), None)
    known = after and ordered[after][0].measured and ordered[after - 1][0].measured
    return ordered[after][1] if after and known else None


def _tagged(clone: Clone) -> dict[str, str]:
    """For each commit within a release tag the oldest such release."""
    listing = clone.ask("for-each-ref", "--format=%(refname)", "refs/tags/v[0-9]*").decode("utf-8", "replace").split()
    versions = sorted({found[1] for name in listing if (found := _TAG.fullmatch(name))}, key=Version)
    first: dict[str, str] = {}
    done: list[str] = []
    for version in versions:
        try:
            tip = clone.ask("rev-parse", "--verify", f"refs/tags/v{version}^{{commit}}").decode("ascii").strip()
            shas = clone.run("rev-list", "--stdin", lines=[tip, *(f"^{sha}" for sha in done)])
        except InputError:  # the tag of a file, or a commit that the clone lacks
            continue
        for sha in shas.decode("ascii", "replace").split():
            first.setdefault(sha, version)
        done.append(tip)
    return first


def _raised(clone: Clone, revision: str) -> list[tuple[str, str]]:
    """When the version of the tree was raised, in order of time: (time, version); as far as the clone has the file."""
    log = ("log", "--stdin", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-color", "--format=tformat:%x01%ct")
    try:
        output = clone.run(*log, "--", VERSION_FILE, lines=[revision])
    except MissingObjectError:
        return []
    raised = [(moment(seconds), blob.decode("ascii")) for seconds, blob in _RAISED.findall(output)]
    texts = contents(clone, (blob for _, blob in raised))
    found = [(when, _NAMED.match(text or b"")) for (when, _), (_, text) in zip(raised, texts, strict=True)]
    return sorted((when, named[1].decode("ascii")) for when, named in found if when and named)
