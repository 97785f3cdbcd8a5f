"""The commits between two builds, the likeliest first: those that name the issue, then by what they touch and say."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.version import Version

from torch_embers.bisect import thresholds
from torch_embers.bisect.nightly import source_of
from torch_embers.errors import InputError
from torch_embers.mine.git.commits import fixed_numbers, pull_number
from torch_embers.mine.git.gitrepo import moment
from torch_embers.torch_names import uses_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from torch_embers.bisect.places import Place
    from torch_embers.mine.git.gitrepo import Clone

_FORMAT = "--format=tformat:%x01%H%x00%ct%x00%s%x00%B%x00"
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORTEST = 3


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the range with what ties it to the case: keys of the JSON, columns of ``bisection_commits``.

    Attributes:
        pull: the pull request that it landed.
        fixes: issues that its message names as fixed.
        words: words of the case's operators that its files or message have, the rarest first.
        files: what it touches, files with a word of the case first.
        names_the_issue: whether its message names an issue of the case as fixed.
    """

    sha: str
    committed_at: str
    subject: str
    pull: int | None = None
    fixes: tuple[int, ...] = ()
    words: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    names_the_issue: bool = False


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits that may have made a change; being in the list is no proof that one did.

    Attributes:
        before: last build of the old behaviour.
        basis: how the ends of the range were found in the clone.
        total: commits in it.
        likeliest: those that are shown.
    """

    before: str
    after: str
    basis: str
    total: int
    likeliest: tuple[Commit, ...]


def commit_range(clone: Clone, repo: str, ends: tuple[Place, Place], code: str, issues: Collection[int]) -> CommitRange:
    """The commits that are in one build and not in an earlier one.

    A nightly counts as the commit of the main line that it was built from.

    Args:
        clone: of the repository.
        repo: its name, for references in messages.
        ends: the earlier build, the later one.
        code: of the case, for the words of its operators.
        issues: numbers of the case's issues.

    Raises:
        InputError: git failed, or the clone lacks an end.
    """
    old, new = (_revision(clone, place) for place in ends)
    commits = list(_log(clone, repo, [new, f"^{old}"]))
    best = ranked(commits, operator_words(code), issues)
    return CommitRange(ends[0].version, ends[1].version, "by tags or commits of the builds", len(commits), best)


def _revision(clone: Clone, place: Place) -> str:
    """The commit of a build, by the tag of its release or by what the build says.

    Raises:
        InputError: the clone lacks it; the message says how to get it.
    """
    own = place.commit_known
    source = source_of(clone, own)
    for name in filter(None, (f"refs/tags/v{place.version}", source)):
        try:
            found = clone.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        except InputError:
            continue
        return found.decode("ascii", "replace").strip()
    if not Version(place.version).is_devrelease:
        raise InputError(f"{clone.path} lacks the tag v{place.version}: fetch it (`git fetch --tags origin`)")
    if not own:
        raise InputError(
            f"{place.version} does not say its commit: fetch the branch that does (`git fetch origin nightly`)"
        )
    of_nightly = f", the source of its commit {own[:12]} of the branch nightly" if own != source else ""
    raise InputError(
        f"{clone.path} lacks commit {source[:12]} of {place.version}{of_nightly}: fetch it "
        "(`git fetch origin main nightly`)"
    )


def _log(clone: Clone, repo: str, revisions: Sequence[str]) -> Iterator[tuple[Commit, str]]:
    """Commits, each with its message."""
    options = ("--no-merges", "--name-only", "--no-renames", "--no-color", _FORMAT)
    for record in clone.run("log", "--stdin", *options, lines=revisions).split(b"\x01")[1:]:
        sha, seconds, subject, message, names = (part.decode("utf-8", "replace") for part in record.split(b"\0", 4))
        committed = moment(seconds.encode()) or ""
        pull = pull_number(repo, subject, message, committed)
        fixes = tuple(number for number in fixed_numbers(repo, subject, message) if number != pull)
        files = tuple(line for line in names.splitlines() if line)
        yield Commit(sha, committed, subject, pull, fixes, files=files), message


def words_of(text: str) -> set[str]:
    """The words of a name, a path or a sentence, in lower case: ``AdaptiveAvgPool2d`` has adaptive, avg and pool."""
    return {word.lower() for word in _WORD.findall(text) if len(word) >= _SHORTEST and not word.isdigit()}


def operator_words(code: str) -> set[str]:
    """Words of the functions and methods that a script calls, without those that nearly every script has."""
    try:
        found = uses_of(code).found
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return set()
    names = {use.name.rpartition(".")[2] for use in found if use.called}
    words = {word for name in names if not name.startswith("__") for word in words_of(name)}
    return words - set(thresholds.load().commits.ignored)


def ranked(commits: Sequence[tuple[Commit, str]], words: set[str], issues: Collection[int]) -> tuple[Commit, ...]:
    """Commits by what ties them to a case, the likeliest first; those that nothing ties are left out.

    A word counts the more the fewer commits of the range have it.

    Args:
        commits: of the range, each with its message.
        words: of the case's operators.
        issues: numbers of the case's issues.
    """
    own = thresholds.load().commits
    paths = [words_of(" ".join(commit.files)) & words for commit, _ in commits]
    texts = [words_of(f"{commit.subject} {message}") & words for commit, message in commits]
    have = Counter(word for path, text in zip(paths, texts, strict=True) for word in path | text)
    weight = {word: math.log((1 + len(commits)) / (1 + count)) for word, count in have.items()}
    scored = []
    for (commit, _), path, text in zip(commits, paths, texts, strict=True):
        score = sum(weight[word] * (own.path_weight * (word in path) + (word in text)) for word in path | text)
        names = not set(commit.fixes).isdisjoint(issues)
        if names or score > 0:
            shared = tuple(sorted(path | text, key=lambda word: (-weight[word], word)))
            files = tuple(sorted(commit.files, key=lambda name: (words_of(name).isdisjoint(shared), name)))
            made = replace(commit, words=shared, files=files, names_the_issue=names)
            scored.append((not names, 0 if names else -score, commit.committed_at, made))
    return tuple(made for *_, made in sorted(scored, key=lambda one: one[:3])[: own.shown])
