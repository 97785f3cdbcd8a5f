"""What the trial runs of a fix test say. Pure: outcomes by release go in, a class comes out.

A trial is one run per release. It decides what a test is good for, not whether a bug is there: a validated test becomes
a case with the signature of its failure, and its verdicts are made with controls as those of every case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from packaging.version import Version

from torch_embers.fixtests.first_release import EXACT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.cases.fix_test_rules import FixTestRules
    from torch_embers.fixtests.first_release import Evidence

Said = Literal["failed", "passed", "nothing"]
Class = Literal["validated", "doubtful", "never_seen", "fails_after", "unusable"]
MENDED_BEFORE = "mended_before"
"""The reason of a test that passes on the last release before the fix, and fails on an older one."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a test on a release.

    Attributes:
        version: of the release, without its local part.
        said: what it says about the bug.
        detail: what was seen; of a run that says nothing, a reason of data/fix_tests.toml and a colon first.
        signature: the failure, as text; None where it passed.
        error: what it wrote to standard error, as far as it was kept.
        reason: of data/fix_tests.toml, of a run that says nothing; None of the others.
        variants: how many variants the test has on this build, and how many of them ran; None where it did not pass.
    """

    version: str
    said: Said
    detail: str = ""
    signature: str | None = None
    error: str = ""
    reason: str | None = None
    variants: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class TestClass:
    """What a test is good for; the columns of ``fix_test_classes``."""

    kind: Class
    reason: str | None = None
    detail: str | None = None
    validated_before: str | None = None
    validated_after: str | None = None
    fails_on_newest: bool | None = None
    signature: str | None = None


def classify(trials: Sequence[Trial], first_release: str | None, evidence: Evidence) -> TestClass:
    """The class of a test.

    The last release before the fix that says anything counts. Where the test passes there and fails on an older one,
    the fix was brought into that release later, or something else mended it: such a test is doubtful.

    Args:
        trials: its runs, at most one per release.
        first_release: the first release with the fix; None where it is unknown.
        evidence: what says so. Where it is not exact, the fix may have come one release later.
    """
    ordered = sorted(trials, key=lambda trial: Version(trial.version))
    before = [trial for trial in ordered if first_release and Version(trial.version) < Version(first_release)]
    after = ordered[len(before) :]
    said_before, said_after = ([trial for trial in part if trial.said != "nothing"] for part in (before, after))
    failing = next((trial for trial in reversed(said_before) if trial.said == "failed"), None)
    mended = failing is not None and said_before[-1] is not failing
    if (
        evidence not in EXACT
        and failing is not None
        and not mended
        and [trial.said for trial in said_after[:2]] == ["failed", "passed"]
        and said_after[0] is after[0]
    ):
        failing, *said_after = said_after  # what was taken for the first release with the fix has it not
    if not said_after:
        return _silent(failing, ordered)
    newest = None if after[-1].said == "nothing" else after[-1].said == "failed"
    wrong = [trial for trial in said_after if trial.said == "failed"]
    if len(wrong) == len(said_after) and not mended:
        return TestClass("unusable", "fails_everywhere", wrong[0].detail, None, None, newest, wrong[0].signature)
    reason = MENDED_BEFORE if mended else None
    passing = said_before[said_before.index(failing) + 1] if failing and mended else said_after[0]
    if failing is not None and passing.said == "passed":
        kind: Class = "fails_after" if wrong else "doubtful" if mended else "validated"
        detail = wrong[-1].detail if wrong else failing.detail
        return TestClass(kind, reason, detail, failing.version, passing.version, newest, failing.signature)
    if wrong:
        return TestClass("fails_after", None, wrong[-1].detail, None, None, newest, wrong[0].signature)
    if before and not said_before:
        return TestClass("never_seen", before[-1].reason, before[-1].detail, fails_on_newest=newest)
    return TestClass("never_seen", "passes_before" if before else "no_release_before", fails_on_newest=newest)


def _silent(failing: Trial | None, ordered: Sequence[Trial]) -> TestClass:
    """No release with the fix says anything."""
    if failing is not None:
        return TestClass("unusable", "unclear", ordered[-1].detail, signature=failing.signature)
    silent = [trial for trial in ordered if trial.said == "nothing"]
    return TestClass("unusable", silent[-1].reason, silent[-1].detail) if silent else TestClass("unusable", "not_run")


def reason_of(detail: str, rules: FixTestRules) -> str:
    """The reason of a run that says nothing, from its detail.

    Args:
        detail: a reason of data/fix_tests.toml and a colon, where the script or a rule gave one; else any text.
        rules: the first of their ``[[silence]]`` that fits counts.
    """
    head, _, said = detail.partition(":")
    for rule in rules.silence:
        if head.startswith(rule.head) and (rule.said is None or rule.said.search(said)):
            return rule.id
    return head if head in rules.reasons else "stopped"
