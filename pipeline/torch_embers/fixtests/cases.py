"""A script of a fix test as a case, and a file of a commit as its scripts. Pure."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from torch_embers.cases.case import Case, metadata_lines, parse
from torch_embers.fixtests.changed import ChangedTest, changed_tests, gone_tests, without_moved
from torch_embers.fixtests.closure import RefusedError
from torch_embers.fixtests.outline import named_tests
from torch_embers.fixtests.script import TestScript, make_script
from torch_embers.fixtests.versions import UNREADABLE, outlines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.cases.fix_test_rules import Rules
    from torch_embers.fixtests.outline import Outline

ANY_FAILURE = ("assertion", "exception", "signal")
"""The signature of a test that was not validated yet."""
_NAME = 150
"""Characters of a case name, which is a file name, too; of a longer one a digest takes the place of the end."""
_NAMES_ISSUE = r"(?:#|\bGH-|issues?[/ _:-]*|\btest_\w*_){}(?!\d)"
"""How a test names its issue; a bare number may be a size."""


@dataclass(frozen=True, slots=True)
class FileOfTests:
    """A test file of a commit: its text there (None: it cannot be read), and in the parent (None: it is new)."""

    path: str
    after: bytes | None
    before: bytes | None
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class TestFound:
    """What became of one test, or of a file that gave none.

    Attributes:
        owner: class of the test; None where the row is about the file.
        script: the script, or None with a reason.
        reason: of data/fix_tests.toml.
        detail: the exact obstacle.
        before: the test in the parent of the commit; None where the commit added it.
    """

    path: str
    owner: str | None = None
    test: str | None = None
    change: str | None = None
    script: TestScript | None = None
    reason: str | None = None
    detail: str = ""
    before: str | None = None


@dataclass(frozen=True, slots=True)
class _ReadFile:
    """A file with the tests that the commit adds or changes; without an outline, the reason why it gives none."""

    path: str
    outline: Outline | None
    changed: Sequence[ChangedTest]
    reason: str = "no_test_changed"
    detail: str = ""
    before: Outline | None = None


def scripts_of_commit(files: Sequence[FileOfTests], rules: Rules) -> list[TestFound]:
    """The tests that a commit adds or changes, each with its script or a reason.

    A test that moved from another file is no new one. A file without a changed test counts only where no other file
    has one.
    """
    read = [_read(file, rules) for file in files if not file.is_deleted]
    if len(files) > 1 and any(file.changed for file in read):
        read = _without_moved(read, [file for file in files if file.is_deleted])
    count = sum(len(file.changed) for file in read)
    found: list[TestFound] = []
    for file in read:
        if not file.changed and (file.reason != "no_test_changed" or not count):
            found.append(TestFound(file.path, reason=file.reason, detail=file.detail))
        for test in file.changed:
            if count > rules.limits.tests_of_a_commit:
                found.append(TestFound(file.path, *test, None, "many_tests"))
            else:
                found.append(_found(file, test, rules))
    return found


def _without_moved(read: Sequence[_ReadFile], deleted: Sequence[FileOfTests]) -> list[_ReadFile]:
    """The files of a commit without the tests that it only moved from one to another."""
    gone: set[str] = set()
    pairs = [(file.before, file.outline) for file in read if file.outline]
    with suppress(*UNREADABLE):
        pairs += [outlines(file.before, b"") for file in deleted]
        for before, after in pairs:
            gone |= gone_tests(before, after)
    return [
        replace(file, changed=without_moved(file.changed, file.outline, gone)) if file.outline else file
        for file in read
    ]


def _read(file: FileOfTests, rules: Rules) -> _ReadFile:
    if file.after is None:
        return _ReadFile(file.path, None, (), "not_readable")
    if len(file.after) > rules.limits.file_chars:
        return _ReadFile(file.path, None, (), "too_large", f"{len(file.after):,} bytes")
    try:
        before, after = outlines(file.before, file.after)
        changed = changed_tests(before, after)
    except UNREADABLE as error:
        return _ReadFile(file.path, None, (), "not_parsed", _one_line(error))
    return _ReadFile(file.path, after, changed, before=before)


def _found(file: _ReadFile, test: ChangedTest, rules: Rules) -> TestFound:
    if file.outline is None:
        raise AssertionError("a changed test of a file that was not read")
    try:
        script = make_script(file.outline, test.owner, test.name, rules)
    except RefusedError as refused:
        return TestFound(file.path, *test, None, refused.reason, refused.detail)
    except UNREADABLE as error:
        return TestFound(file.path, *test, None, "not_parsed", _one_line(error))
    old = named_tests(file.before).get((test.owner, test.name)) if file.before and test.change == "changed" else None
    before = file.before.method(old) if file.before and old else None
    return TestFound(file.path, *test, script, before=before)


def case_of(
    found: TestFound,
    repo: str,
    issues: Sequence[int],
    commit: str,
    timeout: float,
    signature: Sequence[str] = ANY_FAILURE,
) -> Case:
    """The case of a fix test.

    A test shows the bug of its issue (relation ``same``) where the commit names one issue, or the test names it itself
    (as #123, issues/123 or test_..._123); the other issues of the commit are ``sibling``.

    Args:
        found: a test with its script.
        repo: the repository.
        issues: the issues that the commit fixes.
        commit: its hash.
        timeout: seconds of a run.
        signature: failures that count.

    Raises:
        CaseError: the script makes none.
    """
    if found.script is None:
        raise AssertionError("a test without a script")
    text = found.script.verbatim
    named = {number for number in issues if re.search(_NAMES_ISSUE.format(number), text, re.IGNORECASE)}
    same = named or (set(issues) if len(issues) == 1 else set())
    relations = {f"{repo}#{number}": "same" if number in same else "sibling" for number in issues}
    entries: dict[str, object] = {
        "issues": [f"{repo}#{number}" for number in issues],
        "requires": ["cpu"],
        "known_bad": [],
        "signature": list(signature),
        "oracle": "test",
        "timeout": timeout,
        "evidence": f"commit {commit}: {found.path} {found.owner}.{found.test}",
        "relation": relations if len(set(relations.values())) > 1 else next(iter(relations.values())),
    }
    items = ", ".join(f"{repo}#{number}" for number in issues)
    summary = (
        f"Test {found.owner}.{found.test} of {found.path}, {found.change} by commit {commit[:10]}, "
        f"which fixes {items}; in a clone: git checkout {commit[:10]}, python {found.path} {found.owner}.{found.test}"
    )
    lines = [*metadata_lines(entries), f'"""{_printable(summary)}"""', "", found.script.code]
    return parse("\n".join(lines), case_name(found, issues, commit), "fix_test")


def case_name(found: TestFound, issues: Sequence[int], commit: str) -> str:
    """Name of the case of a fix test; the path decides where two files have the same test."""
    place = blake2b(found.path.encode(), digest_size=2).hexdigest()
    name = f"fix{issues[0]}_{commit[:8]}_{place}_{found.owner}_{found.test}"
    if len(name) <= _NAME:
        return name
    return f"{name[: _NAME - 9]}_{blake2b(name.encode(), digest_size=4).hexdigest()}"


def _printable(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).replace("\\", "/").replace('"', "'")


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
