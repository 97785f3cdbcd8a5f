"""Security advisories of torch: the published ranges of releases beside the releases on which the cases occur.

A case that crashes a script of one's own is no vulnerability by itself: `data/advisories.toml` has what upstream says.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

from packaging.version import InvalidVersion, Version
from pydantic import Field, model_validator

from torch_embers import toml_models
from torch_embers.cases import shipped_verdicts
from torch_embers.cases.shipped_verdicts import DECIDED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FILE = "advisories.toml"
Status = Literal["published", "doubted", "confirmed"]


class Published(toml_models.Entry):
    """The range that one database publishes: up to the release before ``fixed``, or up to ``last_affected``.

    Or the ``versions`` that it names and no range; one of two parts (2.5) stands for all releases that begin so. Ends
    are kept as they are published, also where they are no versions.

    Attributes:
        database: who publishes it.
        source: where it was read; ``day`` is the day of the record there, or of what quotes it.
        listed: how many releases the record lists beside its range; None where it has no such list.
        note: what a reader must know of this range.
    """

    database: Literal["PyPA", "GitHub", "CVE"]
    introduced: str = "0"
    fixed: str = ""
    last_affected: str = ""
    versions: tuple[str, ...] = ()
    source: str
    day: date
    listed: int | None = None
    note: str = ""

    @model_validator(mode="after")
    def _one_end(self) -> Published:
        if sum(map(bool, (self.fixed, self.last_affected, self.versions))) != 1:
            raise ValueError("fixed, last_affected or versions: one of them")
        return self

    @property
    def end(self) -> str:
        """The end of the range as published; empty where versions are named."""
        return self.fixed or self.last_affected

    @property
    def odd_end(self) -> bool:
        """Whether the end is no version by PEP 440, so that a tool which reads it strictly finds no end."""
        return bool(self.end) and _version_or_none(self.end) is None

    def holds(self, release: str) -> bool:
        """Whether a release is in the range; an end that is no version is read without its suffix."""
        version = Version(release)
        if self.versions:
            named = [Version(name).release for name in self.versions]
            return any(version.release[: len(parts)] == parts for parts in named)
        if self.introduced != "0" and version < Version(self.introduced):
            return False
        end = _version_or_none(self.end) or Version(self.end.partition("-")[0])
        return version < end if self.fixed else version <= end


def _version_or_none(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


class Advisory(toml_models.Entry):
    """An advisory whose proof was written as a case.

    Attributes:
        published: its range in each database that was read.
        status: ``confirmed`` by upstream, ``doubted`` by the advisory or the evidence, else only ``published``.
        upstream: what upstream says, in our words; ``upstream_source`` says where.
        case: name of a case of the kind ``advisory``.
        relation: how near the case is to the report.
    """

    id: str = Field(pattern=r"^CVE-\d{4}-\d{4,}$")
    aliases: tuple[str, ...]
    summary: str
    issues: tuple[int, ...]
    published: tuple[Published, ...] = Field(min_length=1)
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
class Deviation:
    """How what was executed differs from one published range.

    Attributes:
        unexpected: releases outside the range on which the case occurs.
        missing: releases inside it on which the case is absent.
    """

    published: Published
    unexpected: tuple[str, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    """An advisory beside what its case showed.

    Attributes:
        verdicts: a row of the shipped verdicts by release, oldest first; releases that were not asked for are left out.
        deviations: one per published range, in their order.
    """

    advisory: Advisory
    verdicts: Mapping[str, Mapping[str, str]]
    deviations: tuple[Deviation, ...]

    @property
    def occurs(self) -> tuple[str, ...]:
        """The releases on which the case occurs."""
        return tuple(release for release, row in self.verdicts.items() if row["verdict"] == "occurs")

    @property
    def untestable(self) -> tuple[str, ...]:
        """The releases that lack what the case needs: nothing ran there."""
        return tuple(release for release, row in self.verdicts.items() if row["verdict"] == "untestable")

    @property
    def run(self) -> tuple[str, ...]:
        """The releases on which the case ran."""
        return tuple(release for release in self.verdicts if release not in self.untestable)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The releases on which it ran and nothing was decided."""
        return tuple(release for release in self.run if self.verdicts[release]["verdict"] not in DECIDED)


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
    rows = shipped_verdicts.sweep()
    return [compare(advisory, [row for row in rows if row["case"] == advisory.case]) for advisory in load().advisory]


def compare(advisory: Advisory, rows: Sequence[Mapping[str, str]]) -> Executed:
    """Put the verdicts of a case beside the ranges that its advisory has."""
    verdicts = {row["build"]: row for row in sorted(rows, key=lambda row: Version(row["build"]))}
    seen = {release: row["verdict"] for release, row in verdicts.items()}
    return Executed(advisory, verdicts, tuple(_deviation(published, seen) for published in advisory.published))


def _deviation(published: Published, seen: Mapping[str, str]) -> Deviation:
    return Deviation(
        published,
        unexpected=tuple(name for name, verdict in seen.items() if verdict == "occurs" and not published.holds(name)),
        missing=tuple(name for name, verdict in seen.items() if verdict == "absent" and published.holds(name)),
    )
