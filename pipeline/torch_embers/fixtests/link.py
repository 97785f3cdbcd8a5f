"""`embers mine --fix-tests`: every commit of a clone that fixes an issue, with what became of its tests.

Work is done and written commit by commit in batches, so that an interrupted run goes on where it was. Nothing of the
clone is executed; scripts are kept in the user's database only.
"""

from __future__ import annotations

import gc
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from torch_embers.cases import bank, fix_test_rules
from torch_embers.cases.case import CaseError
from torch_embers.fixtests.first_release import FirstReleases
from torch_embers.fixtests.fix_commits import contents, files_at, fix_commits, revision_of
from torch_embers.fixtests.scripts_of_commit import FileOfTests, TestFound, case_of, scripts_of_commit
from torch_embers.fixtests.test_file import UNREADABLE, read
from torch_embers.fixtests.trial import class_tests
from torch_embers.mine.git.gitrepo import Clone, MissingObjectError
from torch_embers.normalize import now_utc
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from torch_embers.cases.case import Case
    from torch_embers.cases.fix_test_rules import FixTestRules
    from torch_embers.fixtests.fix_commits import FixCommit
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

BATCH = 40
"""Commits of a transaction: a test file has up to a megabyte, and each comes with its parent."""
_KNOWN = """
SELECT commit_sha, bool_or(reason IS NOT DISTINCT FROM 'not_readable'), bool_or(reason IS NOT DISTINCT FROM 'reverted'),
       any_value(first_release), any_value(first_release_by), any_value(issues)
FROM fix_tests WHERE repo = ? AND rules = ? AND provenance = 'own' GROUP BY commit_sha
"""
_OF_COMMITS = "SELECT name FROM fix_tests WHERE repo = $repo AND list_contains($shas::VARCHAR[], commit_sha)"
_FORGET = (
    "DELETE FROM artifacts WHERE list_contains($names::VARCHAR[], name)",
    f"DELETE FROM fix_test_classes WHERE provenance = 'own' AND name IN ({_OF_COMMITS})",
    "UPDATE cases SET current = false WHERE origin = 'fix_test' AND NOT list_contains($names::VARCHAR[], name) "
    f"AND name IN ({_OF_COMMITS})",
    "DELETE FROM fix_tests WHERE repo = $repo AND list_contains($shas::VARCHAR[], commit_sha)",
)
"""What is forgotten of commits that are read again. Runs stay, and belong to a script as long as it is the same."""
_READ = "SELECT status, reason FROM fix_tests WHERE repo = ? AND provenance = 'own'"
_TESTS = """
SELECT t.name, t.path, t.owner, t.test, a.code
FROM fix_tests t JOIN artifacts a ON a.name = t.name AND a.kind = 'verbatim'
WHERE t.repo = ? AND t.status = 'script'
"""
_NOTE_LATER = """
UPDATE fix_tests SET later = n.later
FROM (SELECT unnest($names::VARCHAR[]) AS name, unnest($states::VARCHAR[]) AS later) AS n
WHERE fix_tests.name = n.name AND fix_tests.repo = $repo
"""


@dataclass(frozen=True, slots=True)
class LinkedTests:
    """What became of the commits.

    Attributes:
        commits: that fix issues.
        read: of them, those that were read now.
        scripts: tests that make a script.
        reasons: rows without a script by reason, most first.
    """

    commits: int
    read: int
    scripts: int
    reasons: Mapping[str, int]


def link_fix_tests(
    store: Store, repo: str, folder: Path, progress: Progress, *, since: str | None = None, jobs: int = 2
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
    releases = FirstReleases(clone, tip, rules.cuts(), rules.releases.picked)
    with store.writer("embers mine --fix-tests") as writer:
        with store.read() as connection:
            known = {sha: said for sha, *said in connection.execute(_KNOWN, [repo, str(rules.version)]).fetchall()}
        # a commit may be taken back later, a clone may get the contents or the tags that it lacked
        todo = [
            commit
            for commit in commits
            if commit.committed_at >= (since or "") and known.get(commit.sha) != _is_known_as(commit, releases)
        ]
        progress.expects(len(todo))
        for found in _tests(clone, todo, rules, jobs):
            _write(writer, repo, found, releases, rules)
            progress.advanced(len(found))
        class_tests(store, writer, repo)
        _note_later(store, writer, clone, tip, repo, rules.paths.tests)
    with store.read() as connection:
        said = connection.execute(_READ, [repo]).fetchall()
    reasons = Counter(reason for _, reason in said if reason)
    return LinkedTests(len(commits), len(todo), sum(not reason for _, reason in said), dict(reasons.most_common()))


def _is_known_as(commit: FixCommit, releases: FirstReleases) -> list[object]:
    """The row of ``_KNOWN`` for a commit that need not be read again."""
    first = releases.of(commit.sha, commit.committed_at)
    return [False, commit.is_reverted, *first, [str(number) for number in commit.issues]]


def _tests(
    clone: Clone, todo: Sequence[FixCommit], rules: FixTestRules, jobs: int
) -> Iterator[list[tuple[FixCommit, list[TestFound]]]]:
    """What became of the tests of commits, batch by batch.

    One git process gives the contents of all files, in the order in which they are needed.
    """
    refused = {commit.sha: [found] for commit in todo if (found := _refused(commit, rules)) is not None}
    read = [commit for commit in todo if commit.sha not in refused]
    blobs = (blob for commit in read for file in commit.files or () for blob in (file.blob, file.old_blob) if blob)
    # a tree of syntax holds no cycles, and to look for some takes a third of the time of a parse
    with ProcessPoolExecutor(jobs, initializer=gc.disable) as pool, closing(contents(clone, blobs)) as texts:
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            work = [() if commit.sha in refused else files_of(commit, texts) for commit in batch]
            made = pool.map(partial(scripts_of_commit, rules=rules), work)
            yield [(commit, refused.get(commit.sha, tests)) for commit, tests in zip(batch, made, strict=True)]


def files_of(commit: FixCommit, texts: Iterator[tuple[str, bytes | None]]) -> tuple[FileOfTests, ...]:
    """The test files of a commit; one of which the clone lacks either content cannot be read.

    Args:
        commit: the commit.
        texts: the contents of each file, as it is now and before, in their order.
    """
    found = []
    for file in commit.files or ():
        after, before = (next(texts)[1] if blob else None for blob in (file.blob, file.old_blob))
        lacks = (file.blob and after is None) or (file.old_blob and before is None)
        found.append(FileOfTests(file.path, None if lacks else after, before, is_deleted=file.blob is None))
    return tuple(found)


def _refused(commit: FixCommit, rules: FixTestRules) -> TestFound | None:
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
    rules: FixTestRules,
) -> None:
    moment = now_utc()
    cases: list[Case] = []
    texts: list[dict[str, Any]] = []
    written: list[dict[str, Any]] = []
    for commit, test in ((commit, test) for commit, tests in found for test in tests):
        first = releases.of(commit.sha, commit.committed_at)
        row: dict[str, Any] = {
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
            "provenance": "own",
            "path": test.path or None,
            "owner": test.owner,
            "test": test.test,
            "change": test.change,
            "status": "not_possible",
            "reason": test.reason,
            "detail": test.detail or None,
        }
        if test.code is not None:
            try:
                case = case_of(test, repo, commit.issues, commit.sha, rules.limits.timeout)
            except CaseError as error:
                row |= {"reason": "not_parsed", "detail": str(error)[:300]}
            else:
                same = [str(number) for number in commit.issues if case.relations.get((repo, number)) == "same"]
                row |= {"status": "script", "name": case.name, "case_hash": case.hash, "same": same}
                cases.append(case)
                texts += [
                    {"name": case.name, "kind": kind, "code": code, "made_at": moment}
                    for kind, code in (("verbatim", test.text), ("before", test.before))
                    if code is not None
                ]
        written.append(row)
    asked = {"repo": repo, "shas": [commit.sha for commit, _ in found], "names": [case.name for case in cases]}
    with writer.transaction() as connection:
        bank.save(connection, cases)
        for statement in _FORGET:
            connection.execute(statement, {key: value for key, value in asked.items() if f"${key}" in statement})
        rows.append(connection, "artifacts", texts)
        rows.append(connection, "fix_tests", written)


def _note_later(store: Store, writer: Writer, clone: Clone, tip: str, repo: str, roots: Sequence[str]) -> None:
    """Fill ``fix_tests.later``: a fix test that was changed or taken away by the end of the history still runs.

    Of a file that the clone lacks, what was known stays.
    """
    with store.read() as connection:
        tests = connection.execute(_TESTS, [repo]).fetchall()
    try:
        blobs = files_at(clone, tip, roots)
    except MissingObjectError:
        return
    known = known_tests(clone, {path: blobs.get(path) for _, path, *_ in tests})
    noted = {}
    for name, path, owner, test, code in tests:
        if path in known:
            text = known[path].get((owner, test))
            noted[name] = "gone" if text is None else "same" if text == code else "changed"
    with writer.transaction() as connection:
        connection.execute(_NOTE_LATER, {"names": list(noted), "states": list(noted.values()), "repo": repo})


def known_tests(clone: Clone, blobs: Mapping[str, str | None]) -> dict[str, dict[tuple[str, str], str]]:
    """The tests of each file by class and name; none of one that is gone, and no entry for one that the clone lacks."""
    known: dict[str, dict[tuple[str, str], str]] = {path: {} for path, blob in blobs.items() if blob is None}
    there = [(path, blob) for path, blob in blobs.items() if blob is not None]
    for (path, _), (_, content) in zip(there, contents(clone, (blob for _, blob in there)), strict=True):
        if content is not None:
            known[path] = _texts_of(content)
    return known


def _texts_of(content: bytes) -> dict[tuple[str, str], str]:
    try:
        file = read(content)
    except UNREADABLE:
        return {}
    return {key: file.method(node) for key, node in file.tests.items()}
