"""``data/fix_tests.toml``: limits, reasons, moved modules, and what a standalone test cannot have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from torch_embers import toml_models
from torch_embers.toml_models import Entry, Explained

FILE = "fix_tests.toml"


class Cut(NamedTuple):
    """When the branch of a release left the main line.

    Attributes:
        at: the time of the last commit that the branch shares with the main line, as ISO text in UTC.
        measured: whether the files of the release show it; else it is estimated from the day of the release.
    """

    at: str
    measured: bool = False


class FixTestLimits(Explained):
    """Sizes above which something is refused or cut."""

    file_chars: int = Field(gt=0)
    script_chars: int = Field(gt=0)
    tests_of_a_commit: int = Field(gt=0)
    issues_of_a_commit: int = Field(gt=0)
    variants: int = Field(gt=0)
    timeout: float = Field(gt=0)
    patience: float = Field(ge=1)


class _Paths(Explained):
    tests: tuple[str, ...]


class Reason(Entry):
    """Why there is no script."""

    id: str
    text: str
    reason: str


class Refusal(Entry):
    """What a test must not use; ``id`` is a reason."""

    id: str
    decorators: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    conditions: re.Pattern[str] | None = None
    names: frozenset[str] = frozenset()
    reason: str


class Moved(Entry):
    """A module that stands elsewhere now; with ``names``, only these of its names."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    names: frozenset[str] = frozenset()
    reason: str


class _Imports(Explained):
    available: frozenset[str]
    of_builds: frozenset[str]
    packages: frozenset[str]


class StandIn(Entry):
    """Names of the testing package that a release may lack without loss."""

    names: re.Pattern[str]
    module: re.Pattern[str]
    value: Literal["decorator", "false", "object"]
    reason: str


class _Statements(Explained):
    keep: frozenset[str]
    instantiate: frozenset[str]
    no_test: frozenset[str]


class _Releases(Entry):
    branch_days: int
    branch_days_reason: str
    days: Mapping[str, date]
    cuts: Mapping[str, datetime]
    cuts_reason: str
    picked: Mapping[str, str]
    picked_reason: str


class Harness(Entry):
    """A failure in the body of a test that speaks of the harness; without a type or a message any counts."""

    id: str
    type: str = ""
    message: str = ""
    frame: re.Pattern[str] | None = None
    reason: str


class Silence(Entry):
    """What a run that says nothing says: how its detail begins, and what stands behind the colon there."""

    id: str
    head: str
    said: re.Pattern[str] | None = None
    reason: str


class Doubt(Entry):
    """A failure before the fix that need not be what the fix is about; all that is given must fit.

    Attributes:
        id: a reason.
        about: pattern of the subject of the commit or the title of an issue.
        without: pattern that must not be there.
        failure: pattern of the failure before the fix.
        line: pattern of the line of the test that fails.
        waits_for_error: the line that fails stands in a block that waits for an error, and raised another one.
        unreached: the commit changed nothing of the test up to the statement that fails.
        unless: pattern of failures that are a defect whatever the fix is about.
    """

    id: str
    about: re.Pattern[str] | None = None
    without: re.Pattern[str] | None = None
    failure: re.Pattern[str] | None = None
    line: re.Pattern[str] | None = None
    waits_for_error: bool = False
    unreached: bool = False
    unless: re.Pattern[str] | None = None
    reason: str


class FixTestRules(Entry):
    """The whole file."""

    version: int
    limits: FixTestLimits
    paths: _Paths
    reason: tuple[Reason, ...]
    refuse: tuple[Refusal, ...]
    moved: tuple[Moved, ...]
    imports: _Imports
    stand_in: tuple[StandIn, ...]
    statements: _Statements
    releases: _Releases
    harness: tuple[Harness, ...]
    silence: tuple[Silence, ...]
    doubt: tuple[Doubt, ...]

    def cuts(self) -> dict[str, Cut]:
        """When the branch of each release left the main line."""
        early = timedelta(days=self.releases.branch_days)
        estimated = {version: Cut(f"{day - early}T00:00:00Z") for version, day in self.releases.days.items()}
        measured = {
            version: Cut(f"{at:%Y-%m-%dT%H:%M:%SZ}", measured=True) for version, at in self.releases.cuts.items()
        }
        return estimated | measured

    @property
    def reasons(self) -> frozenset[str]:
        """All reasons."""
        return frozenset(reason.id for reason in self.reason)

    @model_validator(mode="after")
    def _known_reasons(self) -> FixTestRules:
        used = {rule.id for rules in (self.refuse, self.harness, self.silence, self.doubt) for rule in rules}
        if unknown := sorted(used - self.reasons):
            raise ValueError(f"{unknown[0]} is no reason")
        return self


@cache
def load() -> FixTestRules:
    """Read the file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return toml_models.load(FixTestRules, FILE)
