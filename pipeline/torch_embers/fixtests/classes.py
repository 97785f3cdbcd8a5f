"""What the trial runs of a fix test say. Pure: outcomes by release go in, a class comes out.

A trial is one run per release. It decides what a test is good for, not whether a bug is there: a validated test becomes
a case with the signature of its failure, and its verdicts are made with controls as those of every case.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from packaging.version import Version

from torch_embers.fixtests.doubts import doubt
from torch_embers.fixtests.first_release import EXACT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from torch_embers.cases.fix_test_rules import Doubt, Silence
    from torch_embers.fixtests.doubts import FixTest
    from torch_embers.fixtests.first_release import Evidence

Said = Literal["failed", "passed", "nothing"]
Class = Literal["validated", "doubtful", "never_seen", "fails_after", "unusable"]

_SAID: dict[str, Said] = {"reproduced": "failed", "not_reproduced": "passed"}
MENDED_BEFORE = "mended_before"
"""The reason of a test that passes on the last release before the fix, and fails on an older one."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a test on a release.

    Attributes:
        version: of the release, without its local part.
        outcome: as of any run.
        detail: what was seen; of a run that says nothing, a reason of data/fix_tests.toml and a colon first.
        signature: the failure, as text; None where it passed.
        error: what it wrote to standard error, as far as it was kept.
        reason: of data/fix_tests.toml, of a run that says nothing; None of the others.
        variants: how many variants the test has on this build, and how many of them ran; None where it did not pass.
    """

    version: str
    outcome: str
    detail: str
    signature: str | None
    error: str = ""
    reason: str | None = None
    variants: tuple[int, int] | None = None

    @property
    def said(self) -> Said:
        """What it says about the bug."""
        return _SAID.get(self.outcome, "nothing")


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
    first = Version(first_release) if first_release else None
    before = [trial for trial in ordered if first is not None and Version(trial.version) < first]
    after = [trial for trial in ordered if first is None or Version(trial.version) >= first]
    said_before, decided = _deciding(before), _deciding(after)
    failing = next((trial for trial in reversed(said_before) if trial.said == "failed"), None)
    mended = failing is not None and said_before[-1] is not failing
    if late := _came_late(None if mended else failing, decided, after, evidence):
        failing, decided = late, decided[1:]
    newest = _on_newest(after)
    if not decided:
        return _silent(failing, ordered)
    wrong = [trial for trial in decided if trial.said == "failed"]
    if len(wrong) == len(decided) and not mended:
        return TestClass("unusable", "fails_everywhere", wrong[0].detail, None, None, newest, wrong[0].signature)
    passing = said_before[said_before.index(failing) + 1] if failing and mended else decided[0]
    held = failing is not None and passing.said == "passed"
    old, new = (failing.version, passing.version) if failing and held else (None, None)
    reason = MENDED_BEFORE if mended else None
    if wrong:
        seen = failing.signature if failing and held else wrong[0].signature
        return TestClass("fails_after", reason, wrong[-1].detail, old, new, newest, seen)
    if failing is not None:
        kind: Class = "doubtful" if mended else "validated"
        return TestClass(kind, reason, failing.detail, old, new, newest, failing.signature)
    if before and not said_before:
        return TestClass("never_seen", before[-1].reason, before[-1].detail, fails_on_newest=newest)
    return TestClass("never_seen", "passes_before" if before else "no_release_before", fails_on_newest=newest)


def _deciding(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.said != "nothing"]


def with_doubt(found: TestClass, trials: Sequence[Trial], test: FixTest, rules: Iterable[Doubt]) -> TestClass:
    """The class of a test when its failure before the fix is compared with what the fix is about.

    A validated test that a rule doubts is ``doubtful``. One that fails after its fix keeps its class, with the reason.

    Args:
        found: what its runs say.
        trials: its runs.
        test: its texts.
        rules: of data/fix_tests.toml.
    """
    before = next((trial for trial in trials if trial.version == found.validated_before), None)
    if before is None:
        return found
    doubted = doubt(test, before.signature or before.detail, before.error, rules)
    if doubted is None:
        return found
    reason, seen = doubted
    if found.reason == MENDED_BEFORE:
        return found
    if found.kind == "validated":
        return replace(found, kind="doubtful", reason=reason, detail=f"{reason}: {seen}")
    return replace(found, reason=reason)


def _came_late(
    failing: Trial | None, decided: Sequence[Trial], after: Sequence[Trial], evidence: Evidence
) -> Trial | None:
    """The failing run on what was taken for the first release with the fix, where the next one has it."""
    if evidence in EXACT or failing is None or len(decided) < 2 or decided[0] is not after[0]:
        return None
    return decided[0] if decided[0].said == "failed" and decided[1].said == "passed" else None


def _on_newest(after: Sequence[Trial]) -> bool | None:
    if not after or after[-1].said == "nothing":
        return None
    return after[-1].said == "failed"


def _silent(failing: Trial | None, ordered: Sequence[Trial]) -> TestClass:
    """No release with the fix says anything."""
    if not ordered:
        return TestClass("unusable", "not_run")
    if failing is not None:
        return TestClass("unusable", "unclear", ordered[-1].detail, signature=failing.signature)
    silent = [trial for trial in ordered if trial.said == "nothing"]
    return TestClass("unusable", silent[-1].reason, silent[-1].detail) if silent else TestClass("unusable", "not_run")


def reason_of(detail: str, rules: Iterable[Silence], known: Collection[str]) -> str:
    """The reason of a run that says nothing, from its detail.

    Args:
        detail: a reason of data/fix_tests.toml and a colon, where the script or a rule gave one; else any text.
        rules: the rules ``[[silence]]``; the first that fits counts.
        known: all reasons.
    """
    head, _, said = detail.partition(":")
    for rule in rules:
        if head.startswith(rule.head) and (rule.said is None or rule.said.search(said)):
            return rule.id
    return head if head in known else "stopped"
