"""The tests that a commit adds or changes, as scripts and as cases. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from torch_embers.cases.case import Case, metadata_lines, parse
from torch_embers.fixtests.closure import RefusedError
from torch_embers.fixtests.script import make_script
from torch_embers.fixtests.test_file import UNREADABLE, ParsedFile, changed_tests, gone_tests, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.cases.fix_test_rules import FixTestRules
    from torch_embers.fixtests.test_file import ChangedTest

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
        code: the script without metadata, or None with a reason.
        text: the test as it stands in its file.
        before: the test in the parent of the commit; None where the commit added it.
        reason: of data/fix_tests.toml.
        detail: the exact obstacle.
    """

    path: str
    owner: str | None = None
    test: str | None = None
    change: str | None = None
    code: str | None = None
    text: str = ""
    before: str | None = None
    reason: str | None = None
    detail: str = ""


def scripts_of_commit(files: Sequence[FileOfTests], rules: FixTestRules) -> list[TestFound]:
    """The tests that a commit adds or changes, each with its script or a reason.

    A test that moved, also from another file or under another name, is no new one. A file without a changed test counts
    only where no other file has one.
    """
    found: list[TestFound] = []
    differing: list[tuple[str, ParsedFile | None, ParsedFile, list[ChangedTest]]] = []
    gone: set[str] = set()
    for file in files:
        try:
            before, after = _parsed(file, rules)
            changed = changed_tests(before, after)
            gone |= gone_tests(before, after)
        except RefusedError as refused:
            found.append(TestFound(file.path, reason=refused.reason, detail=refused.detail))
        except UNREADABLE as error:
            found.append(TestFound(file.path, reason="not_parsed", detail=_one_line(error)))
        else:
            if not file.is_deleted:
                differing.append((file.path, before, after, changed))
    tests = [
        (path, before, after, test)
        for path, before, after, changed in differing
        for test in changed
        if test.change == "changed" or test.shape not in gone
    ]
    if not tests:
        return found + [TestFound(path, reason="no_test_changed") for path, *_ in differing]
    if len(tests) > rules.limits.tests_of_a_commit:
        return found + [TestFound(path, *test[:3], reason="many_tests") for path, _, _, test in tests]
    return found + [_script(*entry, rules) for entry in tests]


def _parsed(file: FileOfTests, rules: FixTestRules) -> tuple[ParsedFile | None, ParsedFile]:
    """The file in the parent, None where it is new or does not parse, and in the commit; a deleted one is empty there.

    Raises:
        RefusedError: the clone lacks it, or it is too large.
        SyntaxError, ValueError, RecursionError, MemoryError: the parser cannot read it.
    """
    content = b"" if file.is_deleted else file.after
    if content is None:
        raise RefusedError("not_readable")
    if len(content) > rules.limits.file_chars:
        raise RefusedError("too_large", f"{len(content):,} bytes")
    try:
        before = None if file.before is None else read(file.before)
    except UNREADABLE:
        before = None
    return before, read(content)


def _script(
    path: str, before: ParsedFile | None, after: ParsedFile, test: ChangedTest, rules: FixTestRules
) -> TestFound:
    key, old = (test.owner, test.name), None
    if before and test.change == "changed":
        old = before.method(before.tests[key])
    try:
        code = make_script(after, *key, rules)
    except RefusedError as refused:
        return TestFound(path, *test[:3], reason=refused.reason, detail=refused.detail)
    except UNREADABLE as error:
        return TestFound(path, *test[:3], reason="not_parsed", detail=_one_line(error))
    return TestFound(path, *test[:3], code, after.method(after.tests[key]), old)


def case_of(found: TestFound, repo: str, issues: Sequence[int], commit: str, timeout: float) -> Case:
    """The case of a fix test that has a script.

    A test shows the bug of its issue (relation ``same``) where the commit names one issue, or the test names it itself
    (as #123, issues/123 or test_..._123); the other issues of the commit are ``sibling``.

    Args:
        found: the test.
        repo: the repository.
        issues: the issues that the commit fixes.
        commit: its hash.
        timeout: seconds of a run.

    Raises:
        CaseError: the script makes none.
    """
    named = {number for number in issues if re.search(_NAMES_ISSUE.format(number), found.text, re.IGNORECASE)}
    same = named or (set(issues) if len(issues) == 1 else set())
    relations = {f"{repo}#{number}": "same" if number in same else "sibling" for number in issues}
    entries: dict[str, object] = {
        "issues": list(relations),
        "requires": ["cpu"],
        "known_bad": [],
        "signature": list(ANY_FAILURE),
        "oracle": "test",
        "timeout": timeout,
        "evidence": f"commit {commit}: {found.path} {found.owner}.{found.test}",
        "relation": relations if len(set(relations.values())) > 1 else next(iter(relations.values())),
    }
    summary = (
        f"Test {found.owner}.{found.test} of {found.path}, {found.change} by commit {commit[:10]}, which "
        f"fixes {', '.join(relations)}; in a clone: git checkout {commit[:10]}, "
        f"python {found.path} {found.owner}.{found.test}"
    )
    printable = "".join(c for c in summary if c.isprintable()).replace("\\", "/").replace('"', "'")
    text = "\n".join([*metadata_lines(entries), f'"""{printable}"""', "", found.code or ""])
    return parse(text, case_name(found, issues, commit), "fix_test")


def case_name(found: TestFound, issues: Sequence[int], commit: str) -> str:
    """Name of the case of a fix test; the path decides where two files have the same test."""
    place = blake2b(found.path.encode(), digest_size=2).hexdigest()
    name = f"fix{issues[0]}_{commit[:8]}_{place}_{found.owner}_{found.test}"
    if len(name) <= _NAME:
        return name
    return f"{name[: _NAME - 9]}_{blake2b(name.encode(), digest_size=4).hexdigest()}"


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
