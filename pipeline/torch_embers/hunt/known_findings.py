"""Findings of a hunt that a person has judged, each bound to its calls, severities and releases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field

from torch_embers import toml_models
from torch_embers.oracles.finding import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.oracles.finding import Finding


def _release(text: str) -> str:
    """A release by its numbers, such as 2.1.2; empty stands for none."""
    try:
        return text and str(Version(text))
    except InvalidVersion as error:
        raise ValueError(f"{text!r} is no release: write it as 2.1.2") from error


Release = Annotated[str, AfterValidator(_release)]


class Known(toml_models.Entry):
    """Findings of one cause that a person has judged.

    Attributes:
        ops: operators as the findings name them, without their overload.
        modes: modes, or overloads for operators of the dispatcher.
        severities: of the findings.
        judged: what it is.
        since: the oldest release on which it was met; empty where all that were run have it.
        until: the newest release on which it was met; empty while the newest has it. On a later release it is news.
        cases: files of data/cases that show it.
    """

    ops: tuple[str, ...] = Field(min_length=1)
    modes: tuple[str, ...] = Field(min_length=1)
    severities: tuple[Severity, ...] = Field(min_length=1)
    judged: Literal["known_issue", "new", "documented", "false_alarm"]
    reason: str
    since: Release = ""
    until: Release = ""
    issue: str = ""
    cases: tuple[str, ...] = ()

    def covers(self, found: Finding, version: str) -> bool:
        """Whether a finding on a release is the one that was judged."""
        alike = found.op in self.ops and found.overload in self.modes and found.severity in self.severities
        return alike and self._holds(version)

    def _holds(self, version: str) -> bool:
        """Whether a release lies between the bounds; what is no number does so only where there are none."""
        if not (self.since or self.until):
            return True
        try:
            release = Version(Version(version).public)
        except InvalidVersion:
            return False
        return (not self.since or release >= Version(self.since)) and (not self.until or release <= Version(self.until))


def judgement_of(found: Finding, version: str, known: Sequence[Known]) -> Known | None:
    """The entry of a finding on a build of that version, if somebody judged it."""
    return next((entry for entry in known if entry.covers(found, version)), None)
