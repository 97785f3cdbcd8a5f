"""A local clone as a source: its commits with their paths, and lines of code per release tag and component.

It costs no API request and gives what is slow to get by the API: which pull request became which commit, and which
files it changed. Messages are kept whole; the links in them are read later by ``link/``.

Whether a commit landed anything depends on its place: on the main line or in a branch that was merged. That changes
with every branch that is checked out, merged or deleted. So a clone whose HEAD, release branches or tags have changed
is read whole, and takes the place of all that came from it before, in one transaction.
So does another clone of the same repository.

A clone need not be complete: paths and kinds of change come from trees, and no contents are read for them. One note
says what was missing.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from torch_embers.errors import InputError
from torch_embers.mine.git.commits import BRANCH, FOREIGN, MAIN, RELEASE, SOURCE, Rows, store
from torch_embers.mine.git.git_records import FIELDS, SHA, read_git_log
from torch_embers.mine.git.gitrepo import Clone, MissingObjectError, moment
from torch_embers.mine.git.gitsizes import MISSING, RELEASE_TAG, Counted, Sizes, counted
from torch_embers.mine.marks import Mark, marks, set_mark
from torch_embers.normalize import now_utc
from torch_embers.progress import Silent
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_embers.mine.git.commits import Line
    from torch_embers.progress import Progress
    from torch_embers.store.writer import Writer

SIZES = "git.sizes"
"""Beside the clone, what was read of it: release tags."""
COMMITS_AT_ONCE = 1_000
RELEASE_REFS = (
    "refs/heads/release/**",  # cherry-picks live on release branches only
    "refs/remotes/*/release/**",
    "refs/tags/v[0-9]*",
)
"""Read beside HEAD. Other branches hold work that has not landed (pytorch has thousands from ghstack)."""
_LOG = (
    *("log", "--stdin", "--no-walk=unsorted", "-z", "--no-ext-diff", "--no-textconv", "--no-relative"),
    *("--no-notes", "--no-show-signature", "--no-color", "--encoding=UTF-8", "--submodule=short"),
    "--format=tformat:" + "%x00".join((*FIELDS, "")),
)
_PATHS = ("--raw", "--no-abbrev", "--diff-merges=first-parent", "--find-renames=100%")
"""Only a file that was moved as it is counts as renamed: equal contents have equal names, so that none are read."""


class Ref(NamedTuple):
    """A branch or tag: its name, its commit, and when it was made (seconds since 1970)."""

    name: str
    sha: str
    seconds: int


class Read(NamedTuple):
    """What a clone gave: counts of rows, and notes about what was missing."""

    items: int
    commits: int
    rejects: int
    notes: list[str]


def read(writer: Writer, repo: str, path: Path, *, again: bool = False, progress: Progress | None = None) -> Read:
    """Read a clone if it has changed, and store what it says in one transaction.

    Raises:
        InputError: no git, no clone there, a commit itself is missing, or git failed.
        StoreError: the database cannot be written.
    """
    clone, history = Clone(path), _History(repo, now_utc(), progress or Silent())
    with writer.transaction(alone=True) as connection:
        known = {} if again else marks(connection, repo, SOURCE)
        tags = {} if again else marks(connection, repo, SIZES)
    seen = json.dumps([_head(clone), *_tips(clone)])
    is_new = known.get(str(clone.path), Mark("", "")).state != seen
    pages = list(history.commits(clone)) if is_new else []
    sizes = list(history.releases(clone, {name: mark.state for name, mark in tags.items()}))
    items = len(set[tuple[str, str]]().union(*(page.items() for page in pages)))
    commits = rejects = 0
    if pages or sizes:
        with writer.transaction(bulk=True) as connection:
            if pages:
                commits = store(connection, repo, pages, whole=True)
                connection.execute(_FORGET_CLONES, [repo, f"{SOURCE} "])
                set_mark(connection, repo, SOURCE, str(clone.path), Mark(history.at, seen))
            for tag, counted in sizes:
                connection.execute("DELETE FROM code_sizes WHERE repo = ? AND tag = ?", [repo, tag.name])
                rows.append(connection, "code_sizes", counted.rows)
                set_mark(connection, repo, SIZES, tag.name, Mark(history.at, tag.sha))
                if counted.pointers:
                    connection.execute(
                        _POINTERS, [tag.name, len(counted.pointers), "\n".join(counted.pointers), history.at]
                    )
                    rejects += 1
    return Read(items, commits, rejects, history.notes(clone))


_POINTERS = """
INSERT INTO rejects BY NAME
SELECT 'git' AS source, $1 AS origin, $2 || ' source files are Git LFS pointers and count as nothing' AS reason,
       left($3, 2000) AS raw, $4::TIMESTAMP AS fetched_at
"""
_FORGET_CLONES = "DELETE FROM listing_marks WHERE repo = ? AND starts_with(listing, ?)"
"""Another clone took its place: where the earlier one is mined again, it is read again."""


class _History:
    def __init__(self, repo: str, at: str, progress: Progress) -> None:
        self.repo = repo
        self.at = at
        self.progress = progress
        self._missing: Counter[str] = Counter()

    def notes(self, clone: Clone) -> list[str]:
        """What was missing."""
        lacking = [f"{count:,} {what}" for what, count in self._missing.items() if count]
        advice = "Everything else was read; a complete clone gives the rest (`git fetch --refetch`, or clone again)"
        return [f"{clone.path} lacks objects: {'; '.join(lacking)}. {advice}"] if lacking else []

    def commits(self, clone: Clone) -> Iterator[Rows]:
        """All commits, by thousands."""
        lines = _lines(clone, _head(clone), _tips(clone))
        shas = list(lines)
        self.progress.expects(len(shas))
        for start in range(0, len(shas), COMMITS_AT_ONCE):
            some = shas[start : start + COMMITS_AT_ONCE]
            output, pathless = _printed(clone, some)
            self._missing["commits without paths (a tree is missing)"] += len(pathless)
            page = Rows(self.at)
            read_git_log(output, self.repo, page, lines, frozenset(pathless))
            self.progress.advanced(len(some))
            yield page

    def releases(self, clone: Clone, done: Mapping[str, str]) -> Iterator[tuple[Ref, Counted]]:
        """Sizes of release tags that are new or moved."""
        sizes = Sizes(clone)
        for tag in _release_tags(clone):
            if done.get(tag.name) == tag.sha or (files := self._files_of(tag, sizes)) is None:
                continue
            made = {"repo": self.repo, "tag": tag.name, "tagged_at": moment(b"%d" % tag.seconds)}
            yield tag, counted(files, **made, source=SOURCE, fetched_at=self.at)

    def _files_of(self, tag: Ref, sizes: Sizes) -> list[tuple[bytes, bytes]] | None:
        """The source files of a tag with their lines; ``None`` where one is missing, since a part would be too few."""
        try:
            files = sizes.of_tag(tag.sha)
        except MissingObjectError:
            files = [(MISSING, b"")]
        if any(count == MISSING for count, _ in files):
            self._missing["release tags without lines of code (the contents of a source file are missing)"] += 1
            return None
        return files


def _printed(clone: Clone, shas: Sequence[str]) -> tuple[bytes, list[str]]:
    """What git prints of commits with their paths, and those of which it prints none because a tree is missing."""
    # without its own top tree, as in a treeless clone, there is no need to try: the search below would be slow
    kinds = clone.run("cat-file", "--batch-check=%(objecttype)", lines=(f"{sha}^{{tree}}" for sha in shas))
    having = [sha for sha, kind in zip(shas, kinds.split(b"\n"), strict=False) if kind == b"tree"]
    parts = list(_with_paths(clone, having))
    printed = {sha for part, _ in parts for sha in part}
    pathless = [sha for sha in shas if sha not in printed]
    messages = clone.run(*_LOG, "--no-patch", lines=pathless) if pathless else b""
    return b"".join(output for _, output in parts) + messages, pathless


def _with_paths(clone: Clone, shas: Sequence[str]) -> Iterator[tuple[Sequence[str], bytes]]:
    """Halves, until the commits whose trees git cannot compare stand alone and are left out."""
    if not shas:
        return
    try:
        yield shas, clone.run(*_LOG, *_PATHS, lines=shas)
    except MissingObjectError:
        for half in (shas[: len(shas) // 2], shas[len(shas) // 2 :]) if len(shas) > 1 else ():
            yield from _with_paths(clone, half)


_REF_FORMAT = "%(refname)%00%(objecttype)%00%(objectname)%00%(*objecttype)%00%(*objectname)%00%(creatordate:unix)"


def _refs(clone: Clone, *patterns: str) -> Iterator[Ref]:
    """The refs that lead to a commit."""
    for row in clone.ask("for-each-ref", f"--format={_REF_FORMAT}", *patterns).split(b"\n"):
        if not row:
            continue
        name, kind, sha, inner_kind, inner_sha, seconds = row.split(b"\0")
        if b"commit" in (kind, inner_kind):
            commit = sha if kind == b"commit" else inner_sha
            short = name.decode("utf-8", "replace").removeprefix("refs/tags/")
            yield Ref(short, commit.decode(), int(seconds or 0))


def _head(clone: Clone) -> str | None:
    """The commit that HEAD leads to."""
    head = clone.ask("cat-file", "--batch-check=%(objectname)", lines=["HEAD^{commit}"]).decode("ascii", "replace")
    return head.strip() if SHA.fullmatch(head.strip()) else None


def _tips(clone: Clone) -> list[str]:
    """Return the commits to start from: HEAD, release branches, version tags."""
    tips = {ref.sha for ref in _refs(clone, *RELEASE_REFS)}
    if head := _head(clone):
        tips.add(head)
    if not tips:
        raise InputError(f"{clone.path} has no commits yet (HEAD leads nowhere): check out a branch first")
    return sorted(tips)


def _lines(clone: Clone, head: str | None, tips: Sequence[str]) -> dict[str, Line]:
    """All commits, each behind its parents, with their places in the history.

    The main line are the first parents of HEAD: what was merged, one commit after the other. Release branches and tags
    have theirs. What does not descend from the first commit of the main line came with another repository's history.
    A clone whose HEAD leads nowhere has no main line, and nothing can be told apart.
    """
    listing = clone.run("rev-list", "--stdin", "--topo-order", "--reverse", "--parents", lines=tips)
    parents = {sha: others for sha, *others in map(str.split, listing.decode("ascii", "replace").splitlines())}
    if head is None:
        return dict.fromkeys(parents, MAIN)
    main = list(_first_parents(parents, [head]))
    release = set(_first_parents(parents, tips))
    own, lines = {main[-1]}, dict.fromkeys(main, MAIN)
    for sha, before in parents.items():
        if not own.isdisjoint(before):
            own.add(sha)
    return {
        sha: lines.get(sha) or (FOREIGN if sha not in own else RELEASE if sha in release else BRANCH) for sha in parents
    }


def _first_parents(parents: Mapping[str, Sequence[str]], tips: Iterable[str]) -> Iterator[str]:
    """The first parents of each commit, and theirs, each once."""
    met: set[str] = set()
    for tip in tips:
        sha: str | None = tip
        while sha and sha not in met:
            met.add(sha)
            yield sha
            sha = next(iter(parents[sha]), None)


def _release_tags(clone: Clone) -> list[Ref]:
    tags = [tag for tag in _refs(clone, "refs/tags/v[0-9]*") if RELEASE_TAG.fullmatch(tag.name)]
    return sorted(tags, key=lambda tag: (tag.seconds, tag.name))
