"""A local clone as a source: commits with their files, and lines of code per release tag and component.

It costs no API request and gives what is slow to get by the API: which pull request became which commit, and which
files it changed. Messages are kept whole; the links in them are read later by ``link/``.

Whether a commit landed anything depends on its place: on the main line or in a branch that was merged. When the place
of a commit that was read is another one now (another branch was checked out), or a head of then is no longer in the
clone (a branch was deleted, the clone made anew), it is read from its beginning, and what came from it before goes.
The cursor tells clones apart by their folders. One that is not known takes the place of those whose folders are gone:
it was moved, or cloned anew.

Commits come oldest first, so that what was read is always closed under "parent of": the few commits nobody
read builds upon (the heads) then describe it exactly, and an interrupted run goes on from any page.

A clone need not be complete. Paths and kinds of change come from trees (``--raw``). Lines are counted where the
contents of all files of a commit are there. One note says what was missing.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers.errors import InputError
from torch_embers.mine.git.commits import BRANCH, FOREIGN, MAIN, RELEASE
from torch_embers.mine.git.git_records import (
    HISTORY_KIND,
    PATHLESS,
    RESTART_KIND,
    SHA,
    header,
    moment,
    read_git_log,
    read_restart,
)
from torch_embers.mine.git.gitdiff import print_commits
from torch_embers.mine.git.gitrepo import Clone, MissingObjectError
from torch_embers.mine.git.gitsizes import MISSING, RELEASE_TAG, SIZES_KIND, Sizes, read_code_size
from torch_embers.mine.pages import make_page
from torch_embers.mine.scope import Scope
from torch_embers.mine.source import read_cursor, sync_state
from torch_embers.normalize import iso_utc
from torch_embers.store.records import Batch, SyncState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LOG_STREAM = "git"
SIZES_STREAM = "git.sizes"
COMMITS_PER_PAGE = 1_000
RELEASE_REFS = (
    "refs/heads/release/**",  # cherry-picks live on release branches only
    "refs/remotes/*/release/**",
    "refs/tags/v[0-9]*",
)
"""Read beside HEAD. Other branches hold work that has not landed (pytorch has thousands from ghstack)."""


class Ref(NamedTuple):
    """A branch or tag: its name, its commit, and when it was made (seconds since 1970)."""

    name: str
    sha: str
    seconds: int


class _Places(NamedTuple):
    """Sets of commits by their place in the history."""

    main: frozenset[str]
    """The first parents of HEAD: what was merged, one commit after the other."""
    release: frozenset[str]
    """The first parents of release branches and tags."""
    own: frozenset[str]
    """Descendants of the first commit of the main line; all others came with the history of another repository."""

    def line(self, sha: str) -> str:
        """Where a commit stands."""
        if sha in self.main:
            return MAIN
        return FOREIGN if sha not in self.own else RELEASE if sha in self.release else BRANCH

    def split(self, shas: Iterable[str]) -> dict[str, list[str]]:
        """The commits that are not on the main line, by their place."""
        places: dict[str, list[str]] = {RELEASE: [], BRANCH: [], FOREIGN: []}
        for sha in shas:
            if (line := self.line(sha)) != MAIN:
                places[line].append(sha)
        return places


class _Seen(NamedTuple):
    """From where a clone was read: its checked-out commit, and all that the reading began from."""

    head: str | None
    tips: list[str]


class _Clones(NamedTuple):
    """What a cursor holds of the clones of a repository that were read, by folder."""

    path: str
    """Folder of the clone that is read now."""
    own: Mapping[str, Any]
    """What is known of it."""
    others: Mapping[str, Any]
    gone: Sequence[str]
    """Folders of clones whose place it takes."""

    @classmethod
    def load(cls, text: str | None, path: str) -> _Clones:
        """Read a cursor; one of an older release tells no clones apart, and counts as of this one."""
        saved = read_cursor(text)
        known = saved.get("clones", {path: saved} if saved else {})
        known = {folder: of for folder, of in known.items() if isinstance(of, dict)} if isinstance(known, dict) else {}
        gone = [folder for folder in known if not Path(folder).is_dir()] if path not in known else []
        return cls(path, known.get(path, {}), _without(known, [path, *gone]), gone)

    def heads(self) -> list[str]:
        """Commits that, with all before them, were read; none where the cursor makes no sense."""
        heads = self.own.get("heads")
        if isinstance(heads, list) and all(isinstance(sha, str) and SHA.fullmatch(sha) for sha in heads):
            return heads
        return []

    def seen(self) -> _Seen:
        """From where it was read before; no tips where a cursor of an older release does not say."""
        tips, head = self.own.get("tips"), self.own.get("head")
        return _Seen(head if isinstance(head, str) else None, tips if isinstance(tips, list) else [])


def _without(known: Mapping[str, Any], folders: Sequence[str]) -> dict[str, Any]:
    return {folder: of for folder, of in known.items() if folder not in folders}


class GitSource:
    """A local clone as a source of batches: first the commits, then the sizes of release tags."""

    name = "git"

    def __init__(
        self, repo: str, path: Path, since: str | None = None, until: str | None = None, *, releases: bool = True
    ) -> None:
        """Take the clone's folder and a half-open window [since, until) of commit and tag times."""
        self.repo = repo
        self.path = path
        self.since = iso_utc(since)
        self.until = iso_utc(until)
        self._scope = Scope(repo, self.since, self.until)
        self.releases = releases
        self.notes: list[str] = []
        self._missing: Counter[str] = Counter()

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield commits that no earlier run read, 1,000 a page, then one page per new or moved release tag.

        A history whose old heads are gone (it was rewritten) is read from its beginning; so is another window.

        Raises:
            InputError: no git, no clone there, a commit itself is missing, or git failed.
        """
        clone = Clone(self.path)
        yield from self._commits(clone, state)
        if self.releases:
            yield from self._releases(clone, read_cursor(state.get(self._scope.stream(SIZES_STREAM))))
        self._add_note()

    def _add_note(self) -> None:
        lacking = [f"{count:,} {what}" for what, count in self._missing.items() if count]
        if lacking:
            self.notes.append(
                f"{self.path} lacks objects: {'; '.join(lacking)}. "
                "Everything else was read; a complete clone gives the rest (`git fetch --refetch`, or clone again)"
            )

    # -- commits -------------------------------------------------------------------------------------------------

    def _commits(self, clone: Clone, state: Mapping[str, str]) -> Iterator[Batch]:
        clones = _Clones.load(state.get(self._scope.stream(LOG_STREAM)), str(clone.path))
        heads, before, seen = clones.heads(), clones.seen(), _Seen(_head(clone), _tips(clone))
        if clones.gone or not _are_commits(clone, heads) or (heads and _moved(clone, heads, before, seen)):
            heads = []
            yield self._restart(clones, seen, state)
        revisions = [*seen.tips, *(f"^{sha}" for sha in heads)]
        listing = clone.run(
            "rev-list", "--stdin", "--topo-order", "--reverse", "--timestamp", "--parents", lines=revisions
        )
        reached = set(heads)
        waiting: list[str] = []
        rows = listing.decode("ascii", "replace").splitlines()
        places = _places(clone, seen) if rows else _Places(frozenset(), frozenset(), frozenset())
        for row in rows:
            seconds, sha, *parents = row.split()
            reached.difference_update(parents)
            reached.add(sha)
            if self._in_window(int(seconds)):
                waiting.append(sha)
            if len(waiting) == COMMITS_PER_PAGE:
                yield self._log_batch(clone, waiting, places, self._log_cursor(clones, reached, seen))
                waiting = []
        if waiting:
            yield self._log_batch(clone, waiting, places, self._log_cursor(clones, reached, seen))
        elif rows or before != seen:
            yield Batch(cursors=[self._log_cursor(clones, reached, seen)])

    def _restart(self, clones: _Clones, seen: _Seen, state: Mapping[str, str]) -> Batch:
        """Notes that what came from this clone goes; the next run reads it from its beginning if this one ends."""
        batch = Batch(cursors=[self._log_cursor(clones, (), seen)])
        folders = [clones.path, *clones.gone]
        for folder in folders:
            note = {"requests": f"{folder}: ", "head": seen.head}
            page = make_page(self.repo, self.name, RESTART_KIND, f"restart of {folder}", json.dumps(note).encode())
            batch.extend(read_restart(page))
            batch.pages.append(page)
        streams = {name for name in state if name.partition(":")[0] == LOG_STREAM} - {self._scope.stream(LOG_STREAM)}
        others = {name: _Clones.load(state[name], clones.path) for name in sorted(streams)}
        batch.cursors += [sync_state(self, name, clones=_without(o.others, folders)) for name, o in others.items()]
        self.notes.append(
            f"{clones.path}: commits that were read stand elsewhere in the history now, or not in it (another branch "
            "is checked out, or the clone is another one): it was read from its beginning"
            + ("; mine its other windows of time again, too" if others else "")
        )
        return batch

    def _log_cursor(self, clones: _Clones, heads: Iterable[str], seen: _Seen) -> SyncState:
        own = {"heads": sorted(heads), **seen._asdict()}
        return self._cursor(LOG_STREAM, clones={**clones.others, clones.path: own})

    def _log_batch(self, clone: Clone, shas: Sequence[str], places: _Places, cursor: SyncState) -> Batch:
        printed = print_commits(clone, shas)
        self._missing["commits without paths (a tree is missing)"] += len(printed.pathless)
        self._missing["commits without line counts (the contents of a file are missing)"] += len(printed.uncounted)
        head = header(places.split(shas) | {PATHLESS: printed.pathless})
        request = f"{clone.path}: {len(shas)} commits to {shas[-1]}"
        page = make_page(self.repo, self.name, HISTORY_KIND, request, head + b"".join(printed.parts))
        batch = read_git_log(page)
        batch.pages.append(page)
        batch.cursors.append(cursor)
        return batch

    # -- releases ------------------------------------------------------------------------------------------------

    def _releases(self, clone: Clone, saved: Mapping[str, Any]) -> Iterator[Batch]:
        done = saved.get("tags")
        done = dict(done) if isinstance(done, dict) else {}
        sizes = Sizes(clone)
        for tag in _release_tags(clone):
            if done.get(tag.name) == tag.sha or not self._in_window(tag.seconds):
                continue
            files = self._files_of(tag, sizes)
            if files is None:
                continue
            head = f"{tag.name}\t{moment(b'%d' % tag.seconds)}\t{tag.sha}".encode()
            body = b"\0".join([head, *(b"%b\t%b" % file for file in files)])
            page = make_page(self.repo, self.name, SIZES_KIND, f"{clone.path}: tag {tag.name}", body)
            batch = read_code_size(page)
            batch.pages.append(page)
            done[tag.name] = tag.sha
            batch.cursors.append(self._cursor(SIZES_STREAM, tags=done))
            yield batch

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

    def _in_window(self, seconds: int) -> bool:
        when = moment(b"%d" % seconds)
        if when is None:
            return self.since is None and self.until is None
        return (self.since is None or when >= self.since) and (self.until is None or when < self.until)

    def _cursor(self, stream: str, **content: Any) -> SyncState:
        return sync_state(self, self._scope.stream(stream), **content)


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


def _are_commits(clone: Clone, shas: Iterable[str]) -> bool:
    """Whether a clone has all of these commits."""
    kinds = clone.run("cat-file", "--batch-check=%(objecttype)", lines=shas).split(b"\n")
    return all(kind == b"commit" for kind in kinds if kind)


def _moved(clone: Clone, heads: Iterable[str], earlier: _Seen, now: _Seen) -> bool:
    """Whether a commit that was read stands elsewhere in the history now."""
    if earlier == now or not earlier.tips or not _are_commits(clone, [*filter(None, [earlier.head]), *earlier.tips]):
        return False
    before, after = _places(clone, earlier), _places(clone, now)
    known = _listed(clone, "rev-list", "--stdin", lines=sorted(heads))
    return any(before.line(sha) != after.line(sha) for sha in known)


def _places(clone: Clone, seen: _Seen) -> _Places:
    """Tell the main line from release branches, from branches that were merged, and from other repositories.

    A clone whose HEAD leads nowhere has no main line, and nothing can be told apart.
    """
    head, tips = seen
    if head is None:
        everything = _listed(clone, "rev-list", "--stdin", lines=tips)
        return _Places(everything, frozenset(), everything)
    main = clone.run("rev-list", "--first-parent", head).decode("ascii", "replace").split()
    release = _listed(clone, "rev-list", "--stdin", "--first-parent", lines=tips)
    root = main[-1]
    own = _listed(clone, "rev-list", "--stdin", "--ancestry-path", lines=[*tips, f"^{root}"]) | {root}
    return _Places(frozenset(main), release, own)


def _listed(clone: Clone, *command: str, lines: Iterable[str]) -> frozenset[str]:
    return frozenset(clone.run(*command, lines=lines).decode("ascii", "replace").split())


def _release_tags(clone: Clone) -> list[Ref]:
    tags = [tag for tag in _refs(clone, "refs/tags/v[0-9]*") if RELEASE_TAG.fullmatch(tag.name)]
    return sorted(tags, key=lambda tag: (tag.seconds, tag.name))
