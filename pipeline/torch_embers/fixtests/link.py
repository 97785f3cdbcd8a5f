"""`embers mine --fix-tests`: every commit of a clone that fixes an issue, with what became of its tests.

Work is done and written commit by commit in batches, so that an interrupted run goes on where it was. Nothing of the
clone is executed; scripts are kept in the user's database only.
"""

from __future__ import annotations

from collections import Counter, deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from torch_embers.cases import bank, fix_test_rules
from torch_embers.cases.case import Case, CaseError
from torch_embers.fixtests.cases import FileOfTests, TestFound, case_of, scripts_of_commit
from torch_embers.fixtests.first_release import Cut, FirstReleases
from torch_embers.fixtests.fix_commits import contents, fix_commits, revision_of
from torch_embers.fixtests.later import note_later
from torch_embers.fixtests.trial import class_tests
from torch_embers.mine.git.gitrepo import Clone
from torch_embers.normalize import now_utc
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_embers.cases.fix_test_rules import Rules
    from torch_embers.fixtests.first_release import FirstRelease
    from torch_embers.fixtests.fix_commits import FixCommit
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

BATCH = 40
"""Commits of a transaction: a test file has up to a megabyte, and each comes with its parent."""
AHEAD = 1
"""Batches that are worked on while another one is written."""
SCRIPT, NOT_POSSIBLE, OWN = "script", "not_possible", "own"
_OF_COMMITS = "SELECT name FROM fix_tests WHERE repo = $repo AND list_contains($shas::VARCHAR[], commit_sha)"
_FORGET = (
    f"DELETE FROM fix_test_classes WHERE provenance = 'own' AND name IN ({_OF_COMMITS})",
    "UPDATE cases SET current = false WHERE origin = 'fix_test' AND NOT list_contains($names::VARCHAR[], name) "
    f"AND name IN ({_OF_COMMITS})",
    "DELETE FROM fix_tests WHERE repo = $repo AND list_contains($shas::VARCHAR[], commit_sha)",
)
"""What is forgotten of commits that are read again. Runs stay, and belong to a script as long as it is the same."""
_ROWS = "SELECT status, reason FROM fix_tests WHERE repo = ? AND provenance = ?"
_RAN_WITHOUT_CLASS = """
SELECT count(*) FROM fix_tests t JOIN runs r USING (case_hash)
LEFT JOIN fix_test_classes k ON k.name = t.name AND k.provenance = 'own'
WHERE t.repo = ? AND r.batch = 0 AND NOT r.injected AND k.name IS NULL
"""


@dataclass(frozen=True, slots=True)
class LinkedTests:
    """What became of the commits.

    Attributes:
        commits: that fix issues.
        read: of them, those that were read now.
        tests: rows of tests by status.
        reasons: rows without a script by reason.
    """

    commits: int
    read: int
    tests: Mapping[str, int]
    reasons: Mapping[str, int]


def link_fix_tests(
    store: Store,
    repo: str,
    folder: Path,
    progress: Progress,
    *,
    since: str | None = None,
    jobs: int = 2,
) -> LinkedTests:
    """Bring ``fix_tests`` up to date with a clone, and store a case for each test that makes a script.

    Args:
        store: the database.
        repo: the repository whose issues the messages name.
        folder: the clone; its HEAD ends the history.
        progress: counts commits.
        since: only commits from this day on (ISO text, UTC).
        jobs: processes that parse.

    Raises:
        InputError: no clone there, or git failed.
        StoreError: the database cannot be used.
    """
    rules = fix_test_rules.load()
    clone = Clone(folder)
    tip = revision_of(clone, "HEAD")
    commits = fix_commits(clone, repo, tip, rules.paths.tests)
    cuts = {version: Cut(*cut) for version, cut in rules.cuts().items()}
    releases = FirstReleases(clone, tip, cuts, rules.releases.picked)
    with store.writer("embers mine --fix-tests") as writer:
        known = _known(store, repo, rules)
        todo = [c for c in commits if c.committed_at >= (since or "") and _must_read(c, known.get(c.sha), releases)]
        progress.expects(len(todo))
        for found in _tests(clone, todo, rules, jobs):
            _write(writer, repo, found, releases, rules)
            progress.advanced(len(found))
        if todo or _lack_a_class(store, repo):
            class_tests(store, writer, repo)
        note_later(store, writer, clone, tip, repo, rules.paths.tests)
    return _counted(store, repo, len(commits), len(todo))


@dataclass(frozen=True, slots=True)
class _Known:
    """What is stored of a commit: the reasons of its rows, and the first release with it."""

    reasons: frozenset[str]
    first: tuple[str | None, str | None]
    issues: tuple[int, ...]


def _known(store: Store, repo: str, rules: Rules) -> dict[str, _Known]:
    """What rules of today have said of commits, by hash."""
    query = (
        "SELECT commit_sha, list(reason), any_value(first_release), any_value(first_release_by), any_value(issues) "
        "FROM fix_tests WHERE repo = ? AND rules = ? AND provenance = 'own' GROUP BY commit_sha"
    )
    with store.read() as connection:
        found = connection.execute(query, [repo, str(rules.version)]).fetchall()
    return {
        sha: _Known(frozenset(filter(None, reasons)), (version, evidence), tuple(map(int, issues)))
        for sha, reasons, version, evidence, issues in found
    }


def _must_read(commit: FixCommit, known: _Known | None, releases: FirstReleases) -> bool:
    """Whether a commit is new, or the clone says more or other of it than when it was read.

    A commit may be taken back later, a clone may get the contents or the tags that it lacked.
    """
    if known is None:
        return True
    return (
        "not_readable" in known.reasons
        or commit.is_reverted != ("reverted" in known.reasons)
        or tuple(releases.of(commit.sha, commit.committed_at)) != known.first
        or commit.issues != known.issues
    )


def _tests(
    clone: Clone, todo: Sequence[FixCommit], rules: Rules, jobs: int
) -> Iterator[list[tuple[FixCommit, list[TestFound]]]]:
    """What became of the tests of commits, batch by batch; the next batch is worked on while one is written.

    One git process gives the contents of all files, in the order in which they are needed.
    """
    refused = {commit.sha: found for commit in todo if (found := _refused(commit, rules)) is not None}
    texts = contents(clone, (blob for commit in todo if commit.sha not in refused for blob in blobs_of(commit)))
    with ProcessPoolExecutor(jobs) as pool, closing(texts):
        waiting: deque[tuple[Sequence[FixCommit], Iterator[list[TestFound]]]] = deque()
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            work = [() if commit.sha in refused else files_of(commit, texts) for commit in batch]
            waiting.append((batch, pool.map(partial(scripts_of_commit, rules=rules), work)))
            if len(waiting) > AHEAD:
                yield _batch(*waiting.popleft(), refused)
        while waiting:
            yield _batch(*waiting.popleft(), refused)


def _batch(
    batch: Sequence[FixCommit], results: Iterable[list[TestFound]], refused: Mapping[str, TestFound]
) -> list[tuple[FixCommit, list[TestFound]]]:
    return [
        (commit, [refused[commit.sha]] if commit.sha in refused else tests)
        for commit, tests in zip(batch, results, strict=True)
    ]


def blobs_of(commit: FixCommit) -> Iterator[str]:
    """The contents that a commit needs, in the order in which ``files_of`` takes them."""
    for file in commit.files or ():
        yield from filter(None, (file.blob, file.old_blob))


def files_of(commit: FixCommit, texts: Iterator[tuple[str, bytes | None]]) -> tuple[FileOfTests, ...]:
    """The test files of a commit; one of which the clone lacks either content cannot be read.

    Args:
        commit: the commit.
        texts: the contents that ``blobs_of`` names.
    """
    found = []
    for file in commit.files or ():
        after, before = (next(texts)[1] if blob else None for blob in (file.blob, file.old_blob))
        lacks = (file.blob and after is None) or (file.old_blob and before is None)
        found.append(FileOfTests(file.path, None if lacks else after, before, is_deleted=file.blob is None))
    return tuple(found)


def _refused(commit: FixCommit, rules: Rules) -> TestFound | None:
    """Why a commit need not be read."""
    if commit.is_reverted:
        return TestFound("", reason="reverted")
    if len(commit.issues) > rules.limits.issues_of_a_commit:
        return TestFound("", reason="many_issues", detail=f"{len(commit.issues)} issues")
    if commit.files is None:
        return TestFound("", reason="not_readable", detail="a tree is missing")
    return None if any(file.blob for file in commit.files) else TestFound("", reason="no_test_file")


def _write(
    writer: Writer,
    repo: str,
    found: Sequence[tuple[FixCommit, Sequence[TestFound]]],
    releases: FirstReleases,
    rules: Rules,
) -> None:
    moment = now_utc()
    cases: list[tuple[Case, TestFound]] = []
    written: list[dict[str, Any]] = []
    for commit, tests in found:
        shared = _shared(repo, commit, releases.of(commit.sha, commit.committed_at), rules, moment)
        for test in tests:
            case, row = _decided(repo, commit, test, rules)
            written.append(shared | row)
            if case is not None:
                cases.append((case, test))
    with writer.transaction() as connection:
        bank.save(connection, [case for case, _ in cases])
        names = {"names": [case.name for case, _ in cases]}
        for table in ("artifacts", "edits"):
            connection.execute(f"DELETE FROM {table} WHERE list_contains($names, name)", names)
        rows.append(connection, "artifacts", [row for case, test in cases for row in _artifacts(case, test, moment)])
        rows.append(connection, "edits", [row for case, test in cases for row in _edits(case, test)])
        asked = {"repo": repo, "shas": [commit.sha for commit, _ in found], **names}
        for statement in _FORGET:
            connection.execute(statement, {key: value for key, value in asked.items() if f"${key}" in statement})
        rows.append(connection, "fix_tests", written)


def _shared(repo: str, commit: FixCommit, first: FirstRelease, rules: Rules, moment: str) -> dict[str, Any]:
    """The columns that all tests of a commit share."""
    return {
        "repo": repo,
        "commit_sha": commit.sha,
        "issues": [str(number) for number in commit.issues],
        "pull_number": commit.pull,
        "subject": commit.subject,
        "committed_at": commit.committed_at or None,
        "first_release": first.version,
        "first_release_by": first.evidence,
        "rules": str(rules.version),
        "decided_at": moment,
        "provenance": OWN,
    }


def _decided(repo: str, commit: FixCommit, test: TestFound, rules: Rules) -> tuple[Case | None, dict[str, Any]]:
    """The case of a test, where it makes one, and its own columns."""
    row: dict[str, Any] = {
        "path": test.path or None,
        "owner": test.owner,
        "test": test.test,
        "change": test.change,
        "status": NOT_POSSIBLE,
        "reason": test.reason,
        "detail": test.detail or None,
    }
    if test.script is None:
        return None, row
    try:
        case = case_of(test, repo, commit.issues, commit.sha, rules.limits.timeout)
    except CaseError as error:
        return None, row | {"reason": "not_parsed", "detail": str(error)[:300]}
    same = [str(number) for number in commit.issues if case.relations.get((repo, number)) == "same"]
    return case, row | {"status": SCRIPT, "name": case.name, "case_hash": case.hash, "same": same}


def _artifacts(case: Case, test: TestFound, moment: str) -> Iterator[dict[str, Any]]:
    if test.script is not None:
        texts = {"verbatim": test.script.verbatim, "before": test.before}
        for kind, code in texts.items():
            if code is not None:
                yield {"name": case.name, "kind": kind, "code": code, "made_at": moment}


def _edits(case: Case, test: TestFound) -> Iterator[dict[str, Any]]:
    for position, edit in enumerate(test.script.edits if test.script else ()):
        yield {"name": case.name, "kind": "runnable", "position": position, **asdict(edit)}


def _lack_a_class(store: Store, repo: str) -> bool:
    """Whether tests that ran have no class: a run that read their commits again was stopped before its end."""
    with store.read() as connection:
        return bool(connection.execute(_RAN_WITHOUT_CLASS, [repo]).fetchall()[0][0])


def _counted(store: Store, repo: str, commits: int, read: int) -> LinkedTests:
    with store.read() as connection:
        found = connection.execute(_ROWS, [repo, OWN]).fetchall()
    statuses = Counter(status for status, _ in found)
    reasons = Counter(reason for _, reason in found if reason)
    return LinkedTests(commits, read, dict(statuses), dict(reasons.most_common()))
