"""The share of fixed bugs that are there on the newest release, with its population in words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.statistics.intervals import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from torch_embers.judgements import FixTestAnswer

LEAST = 5
"""Issues from which on a share and its interval are printed: of fewer the interval is nearly all of 0 to 100 %."""


@dataclass(frozen=True, slots=True)
class ShownIssue:
    """An issue and one test that shows it: it fails on the release before the fix and passes on the first with it.

    Attributes:
        number: of the issue.
        case: name of the test's case.
        failed: versions on which it fails.
        passed: versions on which it passes.
    """

    number: int
    case: str
    failed: Sequence[str]
    passed: Sequence[str]


@dataclass(frozen=True, slots=True)
class Alive:
    """How many issues of those with a validated test are there on the newest release.

    Attributes:
        newest: that release; empty before the first run.
        issues: with a test that says something on it.
        read: of them, those with a test of which readers say that its failure before the fix shows the bug.
        fails: issues with a test that fails on the newest release.
        again: of those, the issues whose failure shows the reported bug again, as a reader says.
        otherwise: those whose every failure has another cause, as a reader says.
        open: those that nobody read, or of which readers are not sure.
    """

    newest: str
    issues: int
    read: int
    fails: int
    again: int
    otherwise: int
    open: int

    def sentence(self) -> str:
        """The share and its interval; bounds where failures are not read or not clear."""
        if not self.issues:
            return "No validated test says something on the newest release yet, so no share can be given."
        text = (
            f"Of {self.issues:,} issues whose own test fails on the last release before the fix and passes on the "
            f"first one with it ({self.read:,} of them with a test that readers found to show the reported bug), "
            f"{self.fails:,} have a test that fails on {self.newest}, the newest release here"
        )
        if self.fails:
            text += (
                f": read one by one, {self.again:,} show the reported bug again, {self.otherwise:,} fail for another "
                f"reason (a deliberate change, or drift of the test), {self.open:,} are not read or not clear"
            )
        return f"{text}. So {self._share()}."

    def _share(self) -> str:
        low, high = self.again, self.again + self.open
        if self.issues < LEAST:
            return f"{_bounds(low, high)} of {self.issues:,} are there again, too few for a share"
        if low == high:
            return f"{low:,} of {self.issues:,} ({percent(low, self.issues)}) are there again"
        return (
            f"at least {low:,} of {self.issues:,} ({percent(low, self.issues)}) and at most {high:,} "
            f"({percent(high, self.issues)}) are there again"
        )


def alive(
    shown: Iterable[ShownIssue], newest: str, before: Mapping[str, FixTestAnswer], after: Mapping[str, FixTestAnswer]
) -> Alive:
    """Count issues.

    Args:
        shown: issues and their validated tests.
        newest: the newest release.
        before: answers of readers about the failure before the fix, by case.
        after: about the one after it: ``right`` means that it shows the bug again.
    """
    by_issue: dict[int, list[ShownIssue]] = {}
    for test in shown:
        if newest in (*test.failed, *test.passed):
            by_issue.setdefault(test.number, []).append(test)
    said = [
        {after.get(test.case) for test in tests if newest in test.failed}
        for tests in by_issue.values()
        if any(newest in test.failed for test in tests)
    ]
    again = sum("right" in verdicts for verdicts in said)
    otherwise = sum(verdicts == {"wrong"} for verdicts in said)
    read = sum(any(before.get(test.case) == "right" for test in tests) for tests in by_issue.values())
    return Alive(newest, len(by_issue), read, len(said), again, otherwise, len(said) - again - otherwise)


def shows_bug(kind: str, reason: str | None, answer: FixTestAnswer | None) -> bool:
    """Whether a test is taken to have shown the bug of its issue before the fix.

    Readers decide; where nobody read the failure before the fix, the rules do.

    Args:
        kind: its class.
        reason: why the failure before the fix is in doubt.
        answer: of readers.
    """
    return answer == "right" if answer else kind != "doubtful" and reason is None


def _bounds(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
