"""A local clone as a source: its commits with their paths, and lines of code per release tag and component.

It costs no API request and gives what is slow to get by the API: which pull request became which commit, and which
files it changed. Messages are kept whole; the links in them are read later by ``link/``.

Whether a commit landed anything depends on its place: on the main line or in a branch that was merged. That changes
with every branch that is checked out, merged or deleted. So a clone whose HEAD, release branches or tags have changed
is read whole, and takes the place of all that came from it before, in one transaction.
The cursor tells clones apart by their folders. One that is not known takes the place of those whose folders are gone:
it was moved, or cloned anew.

A clone need not be complete: paths and kinds of change come from trees, and no contents are read for them. One note
says what was missing.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torch_embers.errors import InputError
from torch_embers.mine.git.commits import BRANCH, FOREIGN, MAIN, RELEASE
from torch_embers.mine.git.git_records import FIELDS, HISTORY_KIND, LOG_KIND, PATHLESS, SHA, header, read_git_log
from torch_embers.mine.git.gitrepo import Clone, MissingObjectError, moment
from torch_embers.mine.git.gitsizes import MISSING, RELEASE_TAG, SIZES_KIND, Sizes, read_code_size
from torch_embers.mine.pages import make_page
from torch_embers.mine.source import read_cursor, sync_state
from torch_embers.store.records import Batch, Outdated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from torch_embers.mine.git.commits import Line

LOG_STREAM = "git"
SIZES_STREAM = "git.sizes"
COMMITS_PER_PAGE = 1_000
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


class GitSource:
    """A local clone as a source of batches, which belong into one transaction: commits, then sizes of release tags."""

    name = "git"

    def __init__(self, repo: str, path: Path, *, releases: bool = True) -> None:
        self.repo = repo
        self.path = path
        self.releases = releases
        self.notes: list[str] = []
        self._missing: Counter[str] = Counter()

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield all commits if the clone has changed, then one page per new or moved release tag.

        Raises:
            InputError: no git, no clone there, a commit itself is missing, or git failed.
        """
        clone = Clone(self.path)
        yield from self._commits(clone, read_cursor(state.get(LOG_STREAM)).get("clones"))
        if self.releases:
            yield from self._releases(clone, read_cursor(state.get(SIZES_STREAM)).get("tags"))
        lacking = [f"{count:,} {what}" for what, count in self._missing.items() if count]
        if lacking:
            self.notes.append(
                f"{self.path} lacks objects: {'; '.join(lacking)}. "
                "Everything else was read; a complete clone gives the rest (`git fetch --refetch`, or clone again)"
            )

    # -- commits -------------------------------------------------------------------------------------------------

    def _commits(self, clone: Clone, saved: object) -> Iterator[Batch]:
        folder, known = str(clone.path), saved if isinstance(saved, dict) else {}
        seen: dict[str, Any] = {"head": _head(clone), "tips": _tips(clone)}
        if known.get(folder) == seen:
            return
        gone = [other for other in known if not Path(other).is_dir()] if folder not in known else []
        kinds = (LOG_KIND, HISTORY_KIND)
        yield Batch(outdated=[Outdated(self.repo, self.name, kinds, f"{old}: ", "") for old in (folder, *gone)])
        lines = _lines(clone, **seen)
        shas = list(lines)
        for start in range(0, len(shas), COMMITS_PER_PAGE):
            yield self._page(clone, shas[start : start + COMMITS_PER_PAGE], lines)
        others = {other: of for other, of in known.items() if other not in gone}
        yield Batch(cursors=[sync_state(self, LOG_STREAM, clones={**others, folder: seen})])

    def _page(self, clone: Clone, shas: Sequence[str], lines: Mapping[str, Line]) -> Batch:
        output, pathless = _printed(clone, shas)
        self._missing["commits without paths (a tree is missing)"] += len(pathless)
        places: dict[str, list[str]] = {PATHLESS: pathless}
        for sha in shas:
            if lines[sha] != MAIN:
                places.setdefault(lines[sha], []).append(sha)
        request = f"{clone.path}: {len(shas)} commits to {shas[-1]}"
        page = make_page(self.repo, self.name, HISTORY_KIND, request, header(places) + output)
        batch = read_git_log(page)
        batch.pages.append(page)
        return batch

    # -- releases ------------------------------------------------------------------------------------------------

    def _releases(self, clone: Clone, saved: object) -> Iterator[Batch]:
        done = dict(saved) if isinstance(saved, dict) else {}
        sizes = Sizes(clone)
        for tag in _release_tags(clone):
            if done.get(tag.name) == tag.sha or (files := self._files_of(tag, sizes)) is None:
                continue
            head = f"{tag.name}\t{moment(b'%d' % tag.seconds)}\t{tag.sha}".encode()
            body = b"\0".join([head, *(b"%b\t%b" % file for file in files)])
            page = make_page(self.repo, self.name, SIZES_KIND, f"{clone.path}: tag {tag.name}", body)
            batch = read_code_size(page)
            batch.pages.append(page)
            done[tag.name] = tag.sha
            batch.cursors.append(sync_state(self, SIZES_STREAM, tags=done))
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
