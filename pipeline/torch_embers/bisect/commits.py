"""The commits between two builds, the likeliest first: those that name the issue, then by what they touch and say.

Pure, but for ``between``, which reads a clone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.version import Version

from torch_embers.errors import InputError
from torch_embers.escaping import item_link
from torch_embers.escaping import markdown as escaped
from torch_embers.mine.git.commits import fixed_numbers, pull_number
from torch_embers.mine.git.gitrepo import moment
from torch_embers.torch_names import uses_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch_embers.bisect.places import Place
    from torch_embers.bisect.rules import CommitRules
    from torch_embers.bisect.sources import Sources
    from torch_embers.mine.git.gitrepo import Clone

_FORMAT = "--format=tformat:%x01%H%x00%ct%x00%s%x00%B%x00"
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_SHORTEST = 3
SHOWN_FILES = 3
SHOWN_PATHS = 300


@dataclass(frozen=True, slots=True)
class Landed:
    """A commit of the range.

    Attributes:
        pull: the pull request that it landed.
        fixes: issues that its message names as fixed.
    """

    sha: str
    committed_at: str
    subject: str
    message: str
    files: tuple[str, ...]
    pull: int | None = None
    fixes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranked:
    """A commit with what ties it to the case.

    Attributes:
        score: the larger the likelier; infinite where it names an issue of the case.
        words: words of the case's operators that its files or message have.
    """

    commit: Landed
    score: float
    words: tuple[str, ...]

    @property
    def names_the_issue(self) -> bool:
        """Whether its message names an issue of the case as fixed."""
        return math.isinf(self.score)

    @property
    def files(self) -> list[str]:
        """What it touches, files with a word of the case first."""
        return sorted(self.commit.files, key=lambda path: (not words_of(path) & set(self.words), path))


@dataclass(frozen=True, slots=True)
class CommitRange:
    """The commits that may have made a change.

    Attributes:
        before: last build of the old behaviour.
        basis: how the ends of the range were found in the clone.
        total: commits in it.
        ranked: those that are shown, the likeliest first.
    """

    repo: str
    before: str
    after: str
    basis: str
    total: int
    ranked: tuple[Ranked, ...]

    def row(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "before": self.before,
            "after": self.after,
            "basis": self.basis,
            "total": self.total,
            "likeliest": [
                {
                    "sha": ranked.commit.sha,
                    "committed_at": ranked.commit.committed_at,
                    "subject": ranked.commit.subject,
                    "pull": ranked.commit.pull,
                    "fixes": list(ranked.commit.fixes),
                    "words": list(ranked.words),
                    "files": list(ranked.files),
                    "names_the_issue": ranked.names_the_issue,
                }
                for ranked in self.ranked
            ],
        }

    def lines(self) -> Iterable[str]:
        """For a terminal."""
        yield f"{self.total} commits between {self.before} and {self.after} ({self.basis}); the likeliest:"
        for ranked in self.ranked:
            tie = "names the issue" if ranked.names_the_issue else ", ".join(ranked.words)
            pull = f" #{ranked.commit.pull}" if ranked.commit.pull else ""
            yield f"  {ranked.commit.sha[:12]}{pull} {ranked.commit.subject[:100]} [{tie}]"
            yield f"    touches {shown_files(ranked.files)}"

    def markdown(self) -> str:
        """To paste; being in the list is no proof that a commit made the change."""
        out = [
            f"{self.total} commits between {escaped(self.before)} and {escaped(self.after)} ({escaped(self.basis)}). "
            "The likeliest by files and words shared with the script's operators; none of them was built and run:",
            "",
            "| commit | pull request | fixes | subject | touches | shared |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for ranked in self.ranked:
            commit = ranked.commit
            cells = (
                escaped(commit.sha[:12]),
                item_link(self.repo, commit.pull) if commit.pull else "",
                ", ".join(item_link(self.repo, number) for number in commit.fixes),
                escaped(commit.subject, 120),
                escaped(shown_files(ranked.files), SHOWN_PATHS),
                "names the issue" if ranked.names_the_issue else escaped(", ".join(ranked.words)),
            )
            out.append("| " + " | ".join(cells) + " |")
        return "\n".join(out)


def shown_files(files: Sequence[str]) -> str:
    """The first files of a commit, and how many more it touches."""
    named = ", ".join(files[:SHOWN_FILES]) or "no file"
    return f"{named} and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else named


def words_of(text: str) -> set[str]:
    """The words of a name, a path or a sentence, in lower case: ``AdaptiveAvgPool2d`` has adaptive, avg and pool."""
    return {word.lower() for word in _WORD.findall(text) if len(word) >= _SHORTEST and not word.isdigit()}


def operator_words(code: str, ignored: Sequence[str]) -> set[str]:
    """Words of the functions and methods that a script calls, without those that nearly every script has."""
    try:
        found = uses_of(code).found
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return set()
    names = {use.name.rpartition(".")[2] for use in found if use.called}
    return {word for name in names if not name.startswith("__") for word in words_of(name)} - set(ignored)


def ranked(commits: Sequence[Landed], words: set[str], issues: Sequence[int], rules: CommitRules) -> tuple[Ranked, ...]:
    """Commits by what ties them to a case, the likeliest first; those that nothing ties are left out.

    A word counts the more the fewer commits of the range have it.

    Args:
        commits: of the range.
        words: of the case's operators.
        issues: numbers of the case's issues.
        rules: the numbers.
    """
    paths = [{word for path in commit.files for word in words_of(path)} & words for commit in commits]
    texts = [words_of(f"{commit.subject} {commit.message}") & words for commit in commits]
    have = Counter(word for both in zip(paths, texts, strict=True) for word in both[0] | both[1])
    weight = {word: math.log((1 + len(commits)) / (1 + count)) for word, count in have.items()}
    made = []
    for commit, path, text in zip(commits, paths, texts, strict=True):
        score = sum(weight[w] * (rules.path_weight * (w in path) + (w in text)) for w in path | text)
        if set(commit.fixes) & set(issues):
            score = math.inf
        if score > 0:
            made.append(Ranked(commit, score, tuple(sorted(path | text, key=lambda w: (-weight[w], w)))))
    made.sort(key=lambda one: (-one.score, one.commit.committed_at))
    return tuple(made[: rules.shown])


def between(clone: Clone, repo: str, before: Place, after: Place, sources: Sources) -> tuple[str, list[Landed]]:
    """The commits that are in one build and not in an earlier one, and how they were found.

    By release tags or the builds' own commits; a nightly counts as the commit of the main line that it was built from.

    Raises:
        InputError: git failed, or the clone lacks an end.
    """
    old, new = (_revision(clone, place, sources) for place in (before, after))
    return "by tags or commits of the builds", _log(clone, repo, [new, f"^{old}"])


def _revision(clone: Clone, place: Place, sources: Sources) -> str:
    """The commit of a build.

    Raises:
        InputError: the clone lacks it; the message says how to get it.
    """
    own, source = place.commit_known, sources.of(place.commit_known)
    for name in (f"refs/tags/v{place.version}", source):
        if name:
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


def _log(clone: Clone, repo: str, revisions: Sequence[str]) -> list[Landed]:
    found = []
    options = ("--no-merges", "--name-only", "--no-renames", "--no-color", _FORMAT)
    with clone.stream("log", "--stdin", *options, lines=revisions) as output:
        for record in output.read().split(b"\x01")[1:]:
            sha, seconds, subject, message, names = (part.decode("utf-8", "replace") for part in record.split(b"\0", 4))
            committed = moment(seconds.encode()) or ""
            pull = pull_number(repo, subject, message, committed)
            fixes = tuple(number for number in fixed_numbers(repo, subject, message) if number != pull)
            files = tuple(line for line in names.splitlines() if line)
            found.append(Landed(sha, committed, subject, message, files, pull, fixes))
    return found


def commit_range(
    clone: Clone,
    repo: str,
    ends: tuple[Place, Place],
    code: str,
    issues: Sequence[int],
    rules: CommitRules,
    sources: Sources,
) -> CommitRange:
    """The ranked commits between two builds.

    Raises:
        InputError: see ``between``.
    """
    basis, commits = between(clone, repo, *ends, sources)
    best = ranked(commits, operator_words(code, rules.ignored), issues, rules)
    return CommitRange(repo, ends[0].version, ends[1].version, basis, len(commits), best)
