"""What is known of the shipped bugs: how their operators are spelled (data/audit.toml), and where they occur."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from packaging.version import InvalidVersion, Version
from pydantic import Field, model_validator

from torch_embers import judgements, resources, toml_models
from torch_embers.builds.releases import commit_of
from torch_embers.cases import case as cases
from torch_embers.cases import shipped_verdicts
from torch_embers.cases.shipped_verdicts import DECIDED
from torch_embers.errors import InputError
from torch_embers.mine.files import CATALOG as FILE_OF_ITEMS
from torch_embers.torch_names import MANY, OPERATOR_NAMESPACES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from torch_embers.cases.case import Case

FILE = "audit.toml"
Severity = Literal["high", "medium", "low"]
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
Standing = Literal["open", "fixed", "duplicate", "stale", "declined", "superseded", "unknown"]
"""What the tracker says of a bug: open, or the disposition of a closed item."""
INTENDED: tuple[Standing, ...] = ("declined", "superseded")
"""What maintainers call right, or leave as it is: no bug to them, and told only when asked for."""


class SeverityRule(toml_models.Entry):
    """How bad a consequence of the taxonomy is for somebody who does not look for it."""

    consequence: str
    severity: Severity
    reason: str


class AuditRule(toml_models.Entry):
    """How code that can meet the bugs of some cases is written.

    Attributes:
        when: what the input must be, as a plain sentence.
        needs: facts of arguments, by name or place; where a call has all of one entry it can meet the bug. Without
            any the text of a call cannot show that.
        gradient: whether gradients must be recorded.
        unless: arguments that take the bug away.
        cases: names of shipped cases, each with functions, classes and methods of torch, one of which must be used.
        keyword: an argument that the call must give by name; empty where any call counts.
        value: what that argument must be; empty where any value counts.
        position: place from which on it can be given without its name.
        tensor: whether an operand, or the index, must be a tensor: with numbers that stand in the file it is none.
        also: names, or groups of them, one of which must be used; ``name=`` for an argument that some call must give.
            Empty where none is needed, or where ``needs`` implies a group.
        workaround: what a user can write instead.
    """

    when: str = Field(min_length=10, max_length=120)
    needs: tuple[dict[str, tuple[str, ...]], ...] = ()
    gradient: bool = False
    unless: tuple[str, ...] = ()
    cases: dict[str, tuple[str, ...]] = Field(min_length=1)
    keyword: str = ""
    value: str = ""
    position: int = MANY
    tensor: bool = False
    also: tuple[str, ...] = ()
    workaround: str = Field("none known; avoid the input", min_length=10)


class AuditRules(toml_models.Entry):
    """The whole file."""

    annotator: str
    severity: tuple[SeverityRule, ...]
    group: dict[str, tuple[str, ...]]
    group_of_fact: dict[str, str]
    rule: tuple[AuditRule, ...]

    @model_validator(mode="after")
    def _once(self) -> AuditRules:
        named = [case for rule in self.rule for case in rule.cases]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"more than one rule is about {', '.join(twice)}")
        for rule in self.rule:
            where = f"rule of {', '.join(rule.cases)}"
            if unknown := [name for name in rule.also if not _is_name(name) and name not in self.group]:
                raise ValueError(f"{where}: no group {unknown[0]!r}")
            names = [name for apis in rule.cases.values() for name in apis]
            if aliases := [name for name in names if name.startswith(OPERATOR_NAMESPACES)]:
                raise ValueError(f"{where}: {aliases[0]} is known as torch.{aliases[0].rpartition('.')[2]}")
        return self

    def by_case(self) -> dict[str, AuditRule]:
        """The rule of each case."""
        return {case: rule for rule in self.rule for case in rule.cases}

    def conditions(self, rule: AuditRule) -> tuple[str, ...]:
        """The names of ``also``, groups written out; where there is none, those that its needs imply."""
        facts = {fact for needed in rule.needs for wanted in needed.values() for fact in wanted}
        implied = sorted({group for fact, group in self.group_of_fact.items() if fact in facts})
        return tuple(name for entry in rule.also or implied for name in self.group.get(entry, (entry,)))

    @staticmethod
    @cache
    def load() -> AuditRules:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(AuditRules, FILE)


def _is_name(entry: str) -> bool:
    """Whether an entry of ``also`` is no group: a dotted name, or an argument."""
    return "." in entry or entry.endswith("=")


@dataclass(frozen=True, slots=True)
class Bug:
    """A bug that occurs on a release.

    Attributes:
        case: the script that shows it.
        rule: how code that can meet it is written.
        apis: names of torch, one of which a program must use.
        conditions: names, one of which must stand in the program; empty where none is needed.
        severity: by its consequence.
        standing: what the tracker says.
        issues: items of the tracker, the report's own first.
        fixed_in: the first later release that was measured from which on it is gone; None where there is none.
        evidence: k/n, release and environment of the verdict that says so.
        seen: what the case printed.
    """

    case: Case
    rule: AuditRule
    apis: tuple[str, ...]
    conditions: tuple[str, ...]
    severity: Severity
    standing: Standing
    issues: tuple[str, ...]
    fixed_in: str | None
    evidence: str
    seen: str


@dataclass(frozen=True, slots=True)
class Known:
    """What was measured on a release.

    Attributes:
        release: the one that was measured.
        commit: what it was built of; None where nobody read it.
        exact: whether it is the one asked for; else it is another patch of the same minor release.
        bugs: those that occur.
        decided: cases that occur or are absent.
        undecided: cases that could not be decided there.
        environments: where: device, processor, its capability, operating system.
    """

    release: str
    commit: str | None
    exact: bool
    environments: tuple[str, ...]
    bugs: tuple[Bug, ...]
    decided: int
    undecided: int


def known_on(version: str, device: str = "cpu") -> Known:
    """The bugs that were measured to occur on a release.

    Args:
        version: of torch, with or without a local part such as ``+cu124``.
        device: cpu, cuda or mps.

    Raises:
        InputError: no version, or nothing was measured on it or on the device.
    """
    rows = [row for row in shipped_verdicts.matrix() if row["environment"].split(",")[0] == device]
    if not rows:
        raise InputError(f"no verdict was measured on {device}; shipped verdicts are of cpu")
    release, exact = nearest_release(version, {row["build"] for row in rows})
    rules = AuditRules.load()
    spelled = rules.by_case()
    severity = {rule.consequence: rule.severity for rule in rules.severity}
    bank = {case.name: case for case in cases.shipped()}
    standings = _standings()
    lines: dict[str, list[Mapping[str, str]]] = {}
    for line in shipped_verdicts.read():
        lines.setdefault(line["case"], []).append(line)
    here = [row for row in rows if row["build"] == release]
    bugs = []
    for row in here:
        if row["verdict"] != "occurs" or row["case"] not in spelled:
            continue
        case = bank[row["case"]]
        issues = sorted(case.issues, key=lambda item: (case.relations.get(item) != "same", item))
        bugs.append(
            Bug(
                case=case,
                rule=spelled[case.name],
                apis=spelled[case.name].cases[case.name],
                conditions=rules.conditions(spelled[case.name]),
                severity=severity[case.labels["consequence"]],
                standing=_standing(case, standings),
                issues=tuple(f"{repo}#{number}" for repo, number in issues),
                fixed_in=_fixed_in(release, lines[case.name]),
                evidence=f"{row['k']} of {row['n']} runs on {release}, {row['environment']}",
                seen=row["seen"],
            )
        )
    decided = [row for row in here if row["verdict"] in DECIDED]
    places = tuple(sorted({row["environment"] for row in decided}))
    return Known(release, commit_of(release), exact, places, tuple(bugs), len(decided), len(here) - len(decided))


def nearest_release(version: str, measured: Iterable[str]) -> tuple[str, bool]:
    """The measured release that speaks for a version: itself, else the nearest patch of its minor release.

    Raises:
        InputError: no version, or nothing near it was measured.
    """
    try:
        wanted = Version(version)
    except InvalidVersion as error:
        raise InputError(f"--torch {version!r} is no version such as 2.13.0") from error
    known = {Version(build): build for build in measured}
    if wanted.is_prerelease or wanted.is_devrelease:
        raise InputError(f"torch {version} is no release: `embers run --build` measures a build of your own")
    if (exact := known.get(Version(wanted.public))) is not None:
        return exact, True  # 2.6 and 2.6.0 are one version, and verdicts are kept under one spelling
    same = [other for other in sorted(known) if other.release[:2] == wanted.release[:2]]
    if not same:
        raise InputError(f"nothing was measured on torch {version}; measured are {', '.join(map(str, sorted(known)))}")
    return known[min(same, key=lambda other: abs(other.micro - wanted.micro))], False


def _fixed_in(release: str, rows: Iterable[Mapping[str, str]]) -> str | None:
    """The first later release from which on the bug is absent wherever it was decided, in every environment."""
    decided = [(Version(row["build"]), row["verdict"]) for row in rows if row["verdict"] in DECIDED]
    last = max([Version(release), *(version for version, verdict in decided if verdict == "occurs")])
    fixed = min((version for version, _ in decided if version > last), default=None)
    return str(fixed) if fixed else None


def _standings() -> dict[tuple[str, int], Standing]:
    """State and disposition of the catalog's items."""
    entries = map(json.loads, resources.data_file(FILE_OF_ITEMS).read_text(encoding="utf-8").splitlines())
    is_open = {(entry["repo"], entry["number"]) for entry in entries if entry["state"] == "open"}
    closed = judgements.ask("SELECT item, answer FROM judgements WHERE question = 'disposition' ORDER BY day, reader")
    made: dict[tuple[str, int], Standing] = {(judgements.REPO, row["item"]): row["answer"] for row in closed}
    return made | dict.fromkeys(is_open, "open")


def _standing(case: Case, standings: Mapping[tuple[str, int], Standing]) -> Standing:
    """Of a case: that of its own items, an open one first; a sibling's fate says nothing of it."""
    own = [standings.get(item, "unknown") for item in case.issues if case.relations.get(item) == "same"]
    return "open" if "open" in own else next((standing for standing in own if standing != "unknown"), "unknown")
