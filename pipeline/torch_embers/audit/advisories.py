"""Security advisories of torch: the range of releases that each publishes beside the releases on which its case occurs.

A case that crashes a script of one's own is no vulnerability by itself: `data/advisories.toml` has what upstream says.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from packaging.version import Version
from pydantic import Field, model_validator

from torch_embers import resources, toml_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = "advisories.toml"
VERDICTS = ("results", "advisories.csv")
CASES = "advisory_cases"
Status = Literal["published", "doubted", "confirmed"]


class Published(toml_models.Entry):
    """The range of an advisory: from the first release to the one before ``fixed``, or up to ``last_affected``.

    Or the ``versions`` that it names and no range; one of two parts (2.5) stands for all releases that begin so.
    """

    introduced: str = "0"
    fixed: str = ""
    last_affected: str = ""
    versions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_end(self) -> Published:
        if sum(map(bool, (self.fixed, self.last_affected, self.versions))) != 1:
            raise ValueError("fixed, last_affected or versions: one of them")
        return self

    def holds(self, release: str) -> bool:
        """Whether a release is in the range."""
        version = Version(release)
        if self.versions:
            named = [Version(name).release for name in self.versions]
            return any(version.release[: len(parts)] == parts for parts in named)
        if self.introduced != "0" and version < Version(self.introduced):
            return False
        return version < Version(self.fixed) if self.fixed else version <= Version(self.last_affected)


class Advisory(toml_models.Entry):
    """An advisory whose proof was written as a case.

    Attributes:
        published: its range, as ``source`` has it.
        status: ``confirmed`` by upstream, ``doubted`` by the advisory or the evidence, else only ``published``.
        upstream: what upstream says, in our words; ``upstream_source`` says where.
        case: name of the file in ``data/advisory_cases``.
        relation: how near the case is to the report.
    """

    id: str = Field(pattern=r"^CVE-\d{4}-\d{4,}$")
    aliases: tuple[str, ...]
    summary: str
    issues: tuple[int, ...]
    published: Published
    source: str
    status: Status = "published"
    upstream: str
    upstream_source: str
    case: str
    relation: str


class NotExecuted(toml_models.Entry):
    """An advisory that no case runs, and why."""

    id: str
    source: str
    reason: str


class Advisories(toml_models.Entry):
    """The whole file."""

    annotator: str
    upstream_policy: str
    policy: str
    advisory: tuple[Advisory, ...]
    not_executed: tuple[NotExecuted, ...]

    @model_validator(mode="after")
    def _once(self) -> Advisories:
        named = [entry.id for entry in self.advisory] + [entry.id for entry in self.not_executed]
        if len(named) != len(set(named)):
            raise ValueError("an advisory is listed twice")
        return self


@dataclass(frozen=True, slots=True)
class Executed:
    """An advisory beside what its case showed.

    Attributes:
        verdicts: a row of the shipped verdicts by release, oldest first; releases that were not run are left out.
        unexpected: releases outside the published range on which the case occurs.
        missing: releases inside it on which the case is absent, or not seen.
    """

    advisory: Advisory
    verdicts: Mapping[str, Mapping[str, str]]
    unexpected: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def occurs(self) -> tuple[str, ...]:
        """The releases on which the case occurs."""
        return tuple(release for release, row in self.verdicts.items() if row["verdict"] == "occurs")

    @property
    def undecided(self) -> tuple[str, ...]:
        """The releases that were run and on which nothing was decided."""
        known = ("occurs", "absent", "not_seen")
        return tuple(release for release, row in self.verdicts.items() if row["verdict"] not in known)


def load() -> Advisories:
    """Read the shipped file.

    Raises:
        InputError: it is missing or an entry is wrong.
    """
    return toml_models.load(Advisories, FILE)


def executed() -> list[Executed]:
    """Every advisory with a case, beside the shipped verdicts, in the order of the file.

    Raises:
        InputError: a shipped file is missing or wrong.
    """
    rows = list(csv.DictReader(io.StringIO(resources.analysis_text(*VERDICTS))))
    return [compare(advisory, [row for row in rows if row["case"] == advisory.case]) for advisory in load().advisory]


def compare(advisory: Advisory, rows: Sequence[Mapping[str, str]]) -> Executed:
    """Put the verdicts of a case beside the range that its advisory publishes."""
    verdicts = {row["build"]: row for row in sorted(rows, key=lambda row: Version(row["build"]))}
    seen = {release: row["verdict"] for release, row in verdicts.items()}
    holds = advisory.published.holds
    clean = ("absent", "not_seen")
    return Executed(
        advisory=advisory,
        verdicts=verdicts,
        unexpected=tuple(name for name, verdict in seen.items() if verdict == "occurs" and not holds(name)),
        missing=tuple(name for name, verdict in seen.items() if verdict in clean and holds(name)),
    )
