"""What a second reader needs to judge fix tests beside their issues: issue, commit, test, failures, later commits.

The texts of commits and tests come from the user's clone and the user's database. They are written to a file of the
user, never shipped.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import groupby
from typing import TYPE_CHECKING, Any

from torch_embers.mine.git.file_history import changes_of_files, messages
from torch_embers.mine.git.fix_commits import contents
from torch_embers.repro.fix_tests.failing_line import changed_lines, failing_line, may_show_change
from torch_embers.repro.fix_tests.outline import source_text
from torch_embers.repro.fix_tests.segments import text_of
from torch_embers.store import schema

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from torch_embers.mine.git.file_history import FileChange
    from torch_embers.mine.git.gitrepo import Clone
    from torch_embers.repro.fix_tests.reviews import Failure
    from torch_embers.store.store import Store

    History = Mapping[str, Sequence[FileChange]]

QUESTIONS: dict[Failure, str] = {
    "before": "Does the failure before the fix show the bug that the issue or the message of the commit describes?",
    "after": "Does the failure after the fix show that the reported bug is there again?",
}
"""What a reader answers by right, wrong or unclear."""
FAILURE_CHARS = 6_000
"""Characters of a failure that are given: the end of its traceback."""
_TESTS = """
SELECT t.name AS case, k.class, t.repo, t.issues, t.commit_sha AS commit, t.committed_at AS committed,
       t.pull_number AS pull, t.path, t.owner || '.' || t.test AS test, t.test AS method,
       t.change, t.first_release, t.first_release_by,
       k.failed, k.passed, k.unusable, k.validated_before, k.validated_after, k.signature, t.case_hash, c.code
FROM fix_tests t JOIN fix_test_classes k USING (name)
JOIN cases c ON c.name = t.name AND c.case_hash = t.case_hash
WHERE t.repo = ? AND k.class IN ('validated', 'doubtful', 'fails_after') ORDER BY t.committed_at, t.name
"""
_ISSUES = """
SELECT i.number, any_value(i.title) AS title, any_value(i.body) AS body, any_value(g.summary) AS summary
FROM items i LEFT JOIN catalog g USING (repo, number)
WHERE i.repo = $repo AND list_contains($numbers::BIGINT[], i.number) GROUP BY i.number
"""
_RELATIONS = "SELECT case_hash, number, relation FROM case_items WHERE repo = ?"
_VERBATIM = "SELECT name, code FROM artifacts WHERE kind = 'verbatim'"
_FAILURES = """
SELECT case_hash, split_part(b.version, '+', 1) AS version,
       arg_max(coalesce(nullif(stderr, ''), r.detail, ''), [(r.outcome = 'reproduced')::INTEGER, attempt])
FROM runs r JOIN builds b USING (build) WHERE r.batch = 0 AND NOT r.planted GROUP BY ALL
"""


@dataclass(frozen=True, slots=True)
class Material:
    """One test to be judged.

    Attributes:
        row: what the reader sees, as plain data.
        code: the script.
    """

    row: dict[str, Any]
    code: str


def material_of(
    store: Store, clone: Clone, repo: str, tip: str, size: int, seed: int, read: Collection[tuple[str, Failure]] = ()
) -> list[Material]:
    """The tests to be judged: ``size`` validated or doubtful ones drawn at random, and all that fail after their fix.

    The order of the draw depends on the seed and the names of the tests alone.

    Args:
        store: the database with linked and classed tests.
        clone: where the commits are.
        repo: the repository.
        tip: the end of the history in which later commits are looked for.
        size: how many validated or doubtful tests.
        seed: of the draw.
        read: tests, and the failures of them, that are left out because readers have had them.

    Raises:
        InputError: git failed, or the clone lacks a commit.
        StoreError: the database cannot be used.
    """
    with store.read() as connection:
        schema.require_latest(connection, store.path)
        found = connection.execute(_TESTS, [repo])
        names = [column[0] for column in found.description or ()]
        tests = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        chosen = _drawn([test for test in tests if (test["case"], _failure(test)) not in read], size, seed)
        numbers = sorted({int(number) for test in chosen for number in test["issues"]})
        issues = {
            int(row[0]): row[1:] for row in connection.execute(_ISSUES, {"repo": repo, "numbers": numbers}).fetchall()
        }
        relations = {(row[0], int(row[1])): row[2] for row in connection.execute(_RELATIONS, [repo]).fetchall()}
        texts = dict(connection.execute(_VERBATIM).fetchall())
        failures = {(row[0], row[1]): row[2] for row in connection.execute(_FAILURES).fetchall()}
    said = messages(clone, [test["commit"] for test in chosen])
    history = changes_of_files(clone, tip, sorted({test["path"] for test in chosen}))
    later = _later(clone, history, chosen)
    materials = []
    for test in chosen:
        row = {
            "case": test["case"],
            "failure": _failure(test),
            "question": QUESTIONS[_failure(test)],
            "class": test["class"],
            "issues": [
                _issue(int(number), issues, relations.get((test["case_hash"], int(number))))
                for number in test["issues"]
            ],
            "commit": test["commit"],
            "committed": test["committed"].isoformat() + "Z" if test["committed"] else None,
            "pull": test["pull"],
            "message": said.get(test["commit"]),
            **{key: test[key] for key in ("path", "test", "change", "first_release", "first_release_by")},
            "text_before": _before(clone, history, test),
            "text": texts.get(test["case"]),
            "script": f"scripts/{test['case']}.py",
            **{key: test[key] for key in ("failed", "passed", "unusable", "validated_before", "validated_after")},
            "failures": {version: failures.get((test["case_hash"], version), "") for version in test["failed"]},
            "later": later[test["case"]],
        }
        row["fails_at"] = {version: _fails_at(test, row, error) for version, error in row["failures"].items()}
        row["failures"] = {version: error[-FAILURE_CHARS:] for version, error in row["failures"].items()}
        materials.append(Material(row, test["code"]))
    return materials


def later_changes(clone: Clone, tip: str, tests: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The later commits of a history that changed tests or took them away, by case, oldest first.

    Args:
        clone: where the commits are.
        tip: the end of the history.
        tests: each with its ``case``, ``path``, ``test`` (class and method, with a dot) and ``commit``.

    Raises:
        InputError: git failed.
    """
    return _later(clone, changes_of_files(clone, tip, sorted({test["path"] for test in tests})), tests)


def _failure(test: Mapping[str, Any]) -> Failure:
    """Which failure of a test is to be judged."""
    return "after" if test["class"] == "fails_after" else "before"


def _fails_at(test: Mapping[str, Any], row: Mapping[str, Any], error: str) -> dict[str, Any] | None:
    """The line at which the test fails, and whether its commit changed anything up to there."""
    found = failing_line(test["code"], test["method"], test["case"], error)
    if found is None or not row["text"]:
        return None
    return asdict(found) | {
        "changed_up_to_there": may_show_change(row["text_before"], row["text"], found.line),
        "changed_lines": None if row["text_before"] is None else changed_lines(row["text_before"], row["text"]),
    }


def _drawn(tests: Sequence[dict[str, Any]], size: int, seed: int) -> list[dict[str, Any]]:
    """The drawn tests in the order of the draw, then all that fail after their fix."""
    validated = [test for test in tests if _failure(test) == "before"]
    validated.sort(key=lambda test: blake2b(f"{seed}:{test['case']}".encode()).digest())
    return validated[:size] + [test for test in tests if _failure(test) == "after"]


def _issue(number: int, known: Mapping[int, Sequence[str | None]], relation: str | None) -> dict[str, Any]:
    title, body, summary = known.get(number, (None, None, None))
    return {"number": number, "relation": relation, "title": title, "summary": summary, "body": body}


def _before(clone: Clone, history: History, test: Mapping[str, Any]) -> str | None:
    """The test in the parent of its commit; None where it was not there."""
    commit = next((change for change in history[test["path"]] if change.sha == test["commit"]), None)
    if commit is None or commit.old_blob is None:
        return None
    [(_, content)] = contents(clone, [commit.old_blob])
    return _text(content, *test["test"].split(".", 1))


def _later(clone: Clone, history: History, tests: Sequence[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """For each test, by its case, the later commits that changed its text or took it away.

    The versions of a file are read once for all of its tests, one after the other.
    """
    found: dict[str, list[dict[str, Any]]] = {test["case"]: [] for test in tests}
    for path in sorted({test["path"] for test in tests}):
        of_file = [test for test in tests if test["path"] == path]
        behind = {test["case"]: {commit.sha for commit in _since(history[path], test["commit"])} for test in of_file}
        commits = [commit for commit in history[path] if any(commit.sha in shas for shas in behind.values())]
        blobs = [blob for commit in commits for blob in (commit.old_blob, commit.blob) if blob]
        read = contents(clone, (blob for blob, _ in groupby(blobs)))
        seen = {test["case"]: _Seen(*test["test"].split(".", 1)) for test in of_file}
        content: tuple[str | None, bytes | None] = (None, None)
        for commit in commits:
            versions: list[dict[str, str | None]] = []
            for blob in (commit.old_blob, commit.blob):
                if blob and content[0] != blob:
                    content = next(read)
                version = content[1] if blob else None
                versions.append({case: test.text(blob, version) for case, test in seen.items()})
            for case, shas in behind.items():
                if commit.sha in shas and (change := _change(versions[0][case], versions[1][case])):
                    told = {"commit": commit.sha, "committed": commit.committed_at, "subject": commit.subject}
                    found[case].append(told | {"change": change})
    return found


class _Seen:
    """A test in one version of its file after another: looked for again only where it does not stand as it last did."""

    def __init__(self, owner: str, name: str) -> None:
        self._owner, self._name = owner, name
        self._head = f"def {name}(".encode()
        self._blob: str | None = None
        self._count = 0
        self._lines: bytes | None = None
        self._text: str | None = None

    def text(self, blob: str | None, content: bytes | None) -> str | None:
        """The test in a version of the file, without its indentation; None where it is not there."""
        if not blob or content is None:
            return None
        if blob == self._blob:
            return self._text
        count = content.count(self._head)
        if not self._stands(content, count):
            self._lines = _lines(content, self._owner, self._name)
            self._text = textwrap.dedent(self._lines.decode()) if self._lines is not None else None
        self._blob, self._count = blob, count
        return self._text

    def _stands(self, content: bytes, count: int) -> bool:
        """Whether the lines last seen stand in this version in the same class, and no other test has the name since."""
        if not count and not self._count:
            return self._blob is not None
        if self._lines is None or count != self._count:
            return False
        place = content.find(b"\n" + self._lines + b"\n")
        head = content.rfind(b"\nclass ", 0, place + 1) if place >= 0 else -1
        return head >= 0 and bool(re.match(rb"\nclass " + self._owner.encode() + rb"\b", content[head : head + 300]))


def _since(commits: Sequence[FileChange], sha: str) -> Sequence[FileChange]:
    """The commits of a file (oldest first) behind this one; none where the history does not hold it."""
    places = [place for place, commit in enumerate(commits) if commit.sha == sha]
    return commits[places[-1] + 1 :] if places else ()


def _change(old: str | None, new: str | None) -> str | None:
    """What became of a test between two versions of its file: changed, gone, back, or None where it is the same."""
    if old == new:
        return None
    return "gone" if new is None else "back" if old is None else "changed"


def _text(content: bytes | None, owner: str, name: str) -> str | None:
    lines = _lines(content, owner, name)
    return None if lines is None else textwrap.dedent(lines.decode())


def _lines(content: bytes | None, owner: str, name: str) -> bytes | None:
    """The lines of a test as they stand, in UTF-8; None where the file has no such test or cannot be read."""
    try:
        found = text_of(source_text(content or b""), owner, name)
    except (SyntaxError, ValueError):
        return None
    return None if found is None else found.encode()
