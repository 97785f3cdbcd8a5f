"""A local clone as a source: commits with their files, and lines of code per release tag and component.

It costs no API request and gives what is slow to get by the API: which pull request became which commit, and which
files it changed. Messages are kept whole; the links in them are read later by ``link/``.

Commits come oldest first, so that what was read is always closed under "parent of": the few commits nobody
read builds upon (the heads) then describe it exactly, and an interrupted run goes on from any page.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from torch_embers.errors import InputError
from torch_embers.link.components import Component, Components
from torch_embers.mine.gitrepo import Clone
from torch_embers.mine.pages import make_page, reject
from torch_embers.mine.scope import Scope
from torch_embers.mine.source import read_cursor, sync_state
from torch_embers.normalize import clean_text, iso_utc
from torch_embers.store.records import Batch, CodeSize, Commit, CommitFile, Page, SyncState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

LOG_KIND = "git.log"
SIZES_KIND = "git.sizes"
LOG_STREAM = "git"
SIZES_STREAM = "git.sizes"
COMMITS_PER_PAGE = 1_000
RENAME_LIMIT = 400
"""Files per side above which git compares no contents to find renames: the effort is quadratic."""
LARGEST = 2**31 - 1

RELEASE_TAG = re.compile(r"v\d{1,4}(\.\d{1,6}){1,3}(\.post\d{1,6})?", re.ASCII)
"""A published release: no release candidate, no alpha. Post releases are published, too."""

TRACKED_REFS = (
    "refs/heads/release/**",  # cherry-picks live on release branches only
    "refs/remotes/*/release/**",
    "refs/tags/v[0-9]*",
)
"""Read beside HEAD. Other branches hold work that has not landed (pytorch has thousands from ghstack)."""

SOURCE_SUFFIXES = frozenset(
    {".py", ".pyi", ".pyx"}  # Python, its type stubs, Cython
    | {".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".inl"}  # C and C++
    | {".cu", ".cuh", ".hip"}  # kernels for CUDA and HIP
    | {".m", ".mm", ".metal"}  # Objective-C and Metal: the MPS backend
    | {".glsl", ".s"}  # Vulkan kernels, assembly
)
_REGULAR_FILE = (b"100644", b"100755")
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_LFS_LARGEST = 1_024
_READ_BYTES = 1 << 20
_BINARY_PROBE = 8_000
"""Bytes in which a NUL makes a file binary, as git itself decides."""

_FIELDS = ("%H", "%P", "%an", "%at", "%ct", "%s", "%B")
_LOG_COMMAND = (
    *("log", "--stdin", "--no-walk=unsorted", "-z", "--numstat", "--find-renames", f"-l{RENAME_LIMIT}"),
    *("--diff-merges=off", "--no-ext-diff", "--no-textconv", "--no-relative", "--submodule=short"),
    *("--no-notes", "--no-show-signature", "--no-color", "--encoding=UTF-8"),
    "--format=tformat:" + "%x00".join((*_FIELDS, "")),
)
_NUMSTAT = re.compile(rb"\n?(\d+|-)\t(\d+|-)\t(.*)", re.DOTALL)
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SUBJECT_NUMBER = re.compile(r"\(#(\d{1,10})\)\s*$", re.ASCII)
_MERGE_SUBJECT = re.compile(r"Merge pull request #(\d{1,10}) from ", re.ASCII)
_RESOLVED = re.compile(
    r"^Pull Request resolved:\s*https?://github\.com/([\w.-]{1,100}/[\w.-]{1,100})/pull/(\d{1,10})\b",
    re.ASCII | re.IGNORECASE | re.MULTILINE,
)


# --- from pages to records -------------------------------------------------------------------------------


def pull_number(repo: str, subject: str, message: str) -> int | None:
    """Return the pull request that became this commit, as its message states it.

    A number that ends the subject decides; "Merge pull request #n" and the last "Pull Request resolved:"
    of this repository come next. The number within a quoted title ('Revert "x (#1)"') is another commit's.
    """
    if match := _SUBJECT_NUMBER.search(subject) or _MERGE_SUBJECT.match(subject):
        return _bounded(int(match[1]))
    resolved = [number for place, number in _RESOLVED.findall(message) if place.lower() == repo.lower()]
    return _bounded(int(resolved[-1])) if resolved else None


def _bounded(number: int) -> int | None:
    return number if 0 < number <= LARGEST else None


def _moment(seconds: bytes) -> str | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")
    except (ValueError, OverflowError, OSError):
        return None


def _prose(raw: bytes) -> str:
    return clean_text(raw.decode("utf-8", "replace"))


def _path(raw: bytes) -> str:
    """Decode a file name; bytes that are no UTF-8 stay visible, so that two names never become one."""
    return clean_text(raw.decode("utf-8", "backslashreplace"))


def _changed_lines(raw: bytes) -> int | None:
    return None if raw == b"-" else min(int(raw), LARGEST)


def read_git_log(page: Page) -> Batch:
    """Turn a page of ``git log -z --numstat`` into commits and commit files (no page, no cursor).

    A renamed file stands under its new name; a binary file has neither additions nor deletions.
    What cannot be read as git's output becomes one reject that holds its beginning.
    """
    batch = Batch()
    stamp = page.stamp
    tokens = page.body.split(b"\0")
    place = 0
    while place < len(tokens) - 1:
        values = tokens[place : place + len(_FIELDS)]
        sha = values[0].decode("ascii", "replace")
        if len(values) < len(_FIELDS) or not _SHA.fullmatch(sha):
            raw = b"\0".join(tokens[place : place + 10])
            batch.rejects.append(reject(page, None, "not the output of git log", raw))
            break
        batch.commits.append(_commit(page.repo, sha, values, stamp))
        place += len(_FIELDS) + 1
        place = _read_files(batch, page.repo, sha, tokens, place, stamp)
    return batch


def _commit(repo: str, sha: str, values: Sequence[bytes], stamp: Mapping[str, Any]) -> Commit:
    subject, message = _prose(values[5]), _prose(values[6]).rstrip("\n")
    return Commit(
        repo,
        sha,
        author=_prose(values[2]),
        authored_at=_moment(values[3]),
        committed_at=_moment(values[4]),
        subject=subject,
        message=message,
        pull_number=pull_number(repo, subject, message),
        **stamp,
    )


def _read_files(
    batch: Batch, repo: str, sha: str, tokens: Sequence[bytes], place: int, stamp: Mapping[str, Any]
) -> int:
    """Add the file entries from ``place`` on; return where the next commit begins."""
    while place < len(tokens) and (entry := _NUMSTAT.fullmatch(tokens[place])):
        added, deleted, name = entry.groups()
        if not name:  # a rename: old and new name follow as tokens of their own
            name = tokens[min(place + 2, len(tokens) - 1)]
            place += 2
        place += 1
        counts = _changed_lines(added), _changed_lines(deleted)
        batch.commit_files.append(CommitFile(repo, sha, _path(name), *counts, **stamp))
    return place


@cache
def component_of(path: str) -> Component:
    """Return the component of a path by data/components.toml; 'other' where no entry fits."""
    return Components.load().by_path(path) or Component("other", "", strict=False)


def read_code_size(page: Page) -> Batch:
    """Turn a page of line counts of one tag into code sizes per component (no page, no cursor).

    'data_path_strict' repeats the part of 'data_path' that the study's own module list covers; every other
    component stands once, so that without it the rows of a tag add up. Git LFS pointers count as nothing and
    are reported by one reject.
    """
    (tag, tagged_at, *_), *files = [token.split(b"\t") for token in page.body.split(b"\0") if token]
    stamp = page.stamp
    counts: Counter[tuple[str, str]] = Counter()
    lines: Counter[tuple[str, str]] = Counter()
    pointers = []
    for count, *rest in files:
        path = _path(b"\t".join(rest))
        if count == b"lfs":
            pointers.append(path)
            continue
        component, subcomponent, strict = component_of(path)
        names = (component, "data_path_strict") if strict and component == "data_path" else (component,)
        for name in names:
            counts[name, subcomponent] += 1
            lines[name, subcomponent] += int(count)
    label, when = _path(tag), iso_utc(tagged_at.decode())
    sizes = [CodeSize(page.repo, label, when, *key, counts[key], lines[key], **stamp) for key in sorted(counts)]
    reason = f"tag {label}: {len(pointers)} source files are Git LFS pointers and count as nothing"
    return Batch(code_sizes=sizes, rejects=[reject(page, None, reason, "\n".join(pointers))] if pointers else [])


# --- the source ------------------------------------------------------------------------------------------


class Ref(NamedTuple):
    """A branch or tag: its name, its commit, and when it was made (seconds since 1970)."""

    name: str
    sha: str
    seconds: int


@dataclass(slots=True)
class _Sizes:
    """Line counts by blob: most files of a release are those of the release before."""

    clone: Clone
    known: dict[bytes, bytes] = field(default_factory=dict)

    def of_tag(self, tag: Ref) -> list[tuple[bytes, bytes]]:
        """Give (line count or ``lfs``, path) of every source file of a tag; binary files are left out.

        Raises:
            InputError: the clone lacks a blob.
        """
        files = list(_source_files(self.clone.run("ls-tree", "-r", "-l", "-z", "--full-tree", tag.sha)))
        wanted = list(dict.fromkeys(blob for blob, _ in files if blob not in self.known))
        if wanted:
            names = (blob.decode() for blob in wanted)
            with self.clone.stream("cat-file", "--batch", "--buffer", lines=names) as output:
                for blob in wanted:
                    self.known[blob] = self._measure(output)
        return [(self.known[blob], path) for blob, path in files if self.known[blob] != b"binary"]

    def _measure(self, output: IO[bytes]) -> bytes:
        header = output.readline().split()
        if len(header) != 3 or not header[2].isdigit():
            raise self.clone.missing_objects(" ".join(part.decode("ascii", "replace") for part in header))
        size = left = int(header[2])
        lines = 0
        verdict = b""
        while left:
            block = output.read(min(left, _READ_BYTES))
            if not block:
                raise self.clone.missing_objects(header[0].decode("ascii", "replace"))
            if left == size:
                verdict = _verdict(block, size)
            left -= len(block)
            lines += block.count(b"\n")
        output.read(1)  # git ends each content with a line feed
        return verdict or b"%d" % lines


def _verdict(beginning: bytes, size: int) -> bytes:
    if size <= _LFS_LARGEST and beginning.startswith(_LFS_POINTER):
        return b"lfs"
    return b"binary" if b"\0" in beginning[:_BINARY_PROBE] else b""


def _source_files(listing: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Give (blob, path) of the regular source files of ``git ls-tree -r -l -z``."""
    for entry in listing.split(b"\0"):
        head, _, path = entry.partition(b"\t")
        parts = head.split()
        if len(parts) < 3 or parts[0] not in _REGULAR_FILE:
            continue  # symbolic links and submodules have no lines of their own
        if PurePosixPath(path.decode("utf-8", "replace")).suffix.lower() in SOURCE_SUFFIXES:
            yield parts[2], path


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

    def batches(self, state: Mapping[str, str]) -> Iterator[Batch]:
        """Yield commits that no earlier run read, 1,000 a page, then one page per new or moved release tag.

        A history whose old heads are gone (it was rewritten) is read from its beginning; so is another window.

        Raises:
            InputError: no git, no complete clone there, or git failed.
        """
        clone = Clone(self.path)
        yield from self._commits(clone, read_cursor(state.get(self._scope.stream(LOG_STREAM))))
        if self.releases:
            yield from self._releases(clone, read_cursor(state.get(self._scope.stream(SIZES_STREAM))))

    def _commits(self, clone: Clone, saved: Mapping[str, Any]) -> Iterator[Batch]:
        heads = self._known_heads(clone, saved)
        revisions = [*_tips(clone), *(f"^{sha}" for sha in heads)]
        listing = clone.run(
            "rev-list", "--stdin", "--topo-order", "--reverse", "--timestamp", "--parents", lines=revisions
        )
        waiting: list[str] = []
        rows = listing.decode("ascii", "replace").splitlines()
        for row in rows:
            seconds, sha, *parents = row.split()
            heads.difference_update(parents)
            heads.add(sha)
            if self._in_window(int(seconds)):
                waiting.append(sha)
            if len(waiting) == COMMITS_PER_PAGE:
                yield self._log_batch(clone, waiting, heads)
                waiting = []
        if waiting:
            yield self._log_batch(clone, waiting, heads)
        elif rows:
            yield Batch(cursors=[self._cursor(LOG_STREAM, heads=sorted(heads))])

    def _known_heads(self, clone: Clone, saved: Mapping[str, Any]) -> set[str]:
        """Return the heads of the last run, or nothing when they do not hold any more."""
        heads = saved.get("heads")
        if not isinstance(heads, list) or not all(isinstance(sha, str) and _SHA.fullmatch(sha) for sha in heads):
            return set()
        kinds = clone.run("cat-file", "--batch-check=%(objecttype)", lines=heads).split(b"\n")
        return set(heads) if all(kind == b"commit" for kind in kinds if kind) else set()

    def _log_batch(self, clone: Clone, shas: Sequence[str], heads: Iterable[str]) -> Batch:
        body = clone.run(*_LOG_COMMAND, lines=shas)
        page = make_page(self.repo, self.name, LOG_KIND, f"{clone.path}: {len(shas)} commits to {shas[-1]}", body)
        batch = read_git_log(page)
        batch.pages.append(page)
        batch.cursors.append(self._cursor(LOG_STREAM, heads=sorted(heads)))
        return batch

    def _releases(self, clone: Clone, saved: Mapping[str, Any]) -> Iterator[Batch]:
        done = saved.get("tags")
        done = dict(done) if isinstance(done, dict) else {}
        sizes = _Sizes(clone)
        for tag in _release_tags(clone):
            if done.get(tag.name) == tag.sha or not self._in_window(tag.seconds):
                continue
            header = f"{tag.name}\t{_moment(b'%d' % tag.seconds)}\t{tag.sha}".encode()
            body = b"\0".join([header, *(b"%b\t%b" % file for file in sizes.of_tag(tag))])
            page = make_page(self.repo, self.name, SIZES_KIND, f"{clone.path}: tag {tag.name}", body)
            batch = read_code_size(page)
            batch.pages.append(page)
            done[tag.name] = tag.sha
            batch.cursors.append(self._cursor(SIZES_STREAM, tags=done))
            yield batch

    def _in_window(self, seconds: int) -> bool:
        moment = _moment(b"%d" % seconds)
        if moment is None:
            return self.since is None and self.until is None
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    def _cursor(self, stream: str, **content: Any) -> SyncState:
        return sync_state(self, self._scope.stream(stream), **content)


_REF_FORMAT = "%(refname)%00%(objecttype)%00%(objectname)%00%(*objecttype)%00%(*objectname)%00%(creatordate:unix)"


def _refs(clone: Clone, *patterns: str) -> Iterator[Ref]:
    """The refs that lead to a commit."""
    for row in clone.run("for-each-ref", f"--format={_REF_FORMAT}", *patterns).split(b"\n"):
        if not row:
            continue
        name, kind, sha, inner_kind, inner_sha, seconds = row.split(b"\0")
        if b"commit" in (kind, inner_kind):
            commit = sha if kind == b"commit" else inner_sha
            short = name.decode("utf-8", "replace").removeprefix("refs/tags/")
            yield Ref(short, commit.decode(), int(seconds or 0))


def _tips(clone: Clone) -> list[str]:
    """Return the commits to start from: HEAD, release branches, version tags."""
    head = clone.run("cat-file", "--batch-check=%(objectname)", lines=["HEAD^{commit}"]).decode("ascii", "replace")
    head = head.strip()
    tips = {ref.sha for ref in _refs(clone, *TRACKED_REFS)}
    if _SHA.fullmatch(head):
        tips.add(head)
    if not tips:
        raise InputError(f"{clone.path} has no commits yet (HEAD leads nowhere): check out a branch first")
    return sorted(tips)


def _release_tags(clone: Clone) -> list[Ref]:
    tags = [tag for tag in _refs(clone, "refs/tags/v[0-9]*") if RELEASE_TAG.fullmatch(tag.name)]
    return sorted(tags, key=lambda tag: (tag.seconds, tag.name))
