"""The matrix of cases and builds, for people, spreadsheets, test reports and programs."""

from __future__ import annotations

import csv
import io
import xml.etree.ElementTree as ET
from dataclasses import dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

import orjson
from packaging.version import InvalidVersion, Version

from torch_embers import resources
from torch_embers.cases.shipped_verdicts import FILE_COLUMNS, ORDER
from torch_embers.escaping import csv_cell, xml_text
from torch_embers.store import schema
from torch_embers.verdicts.verdict import shown_fault, why_unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from torch_embers.cases.shipped_verdicts import Line
    from torch_embers.store.store import Store

OWN = "own"
"""Provenance of verdicts that runs of this database reached."""


@dataclass(frozen=True, slots=True)
class MatrixEntry:
    """One verdict with the names people know.

    Attributes:
        issue: items of the case as owner/name#number, separated by spaces.
        build: public version of the build; ``identity`` is the build itself.
        environment: device, processor, capability, system in one text.
        control: build, injected or none.
        provenance: own, or shipped with embers.
    """

    case: str
    issue: str
    build: str
    environment: str
    verdict: str
    flaky: bool
    k: int
    n: int
    detectable_rate: float | None
    control: str
    control_build: str | None
    control_k: int
    control_n: int
    detail: str
    decided_at: datetime
    case_hash: str = ""
    provenance: str = OWN
    labels: tuple[str | None, ...] = ()
    identity: str = ""

    def row(self) -> dict[str, Any]:
        """The entry as named columns."""
        return {name: getattr(self, name) for name in COLUMNS}

    @property
    def decides(self) -> bool:
        """Whether it says something about the bug."""
        return self.verdict in ("occurs", "absent", "changed")

    @property
    def shown_control(self) -> str:
        """The control and how often it showed the bug, in words."""
        if self.control == "build":
            return f"{self.control_k}/{self.control_n} on {self.control_build}"
        noticed = shown_fault(self.verdict, self.control_k, self.control_n)
        return noticed if self.control == "injected" else "none"

    @property
    def machine(self) -> str:
        """Device, processor and its capability: the environment without its system, which stands last."""
        return self.environment.rpartition(", ")[0] or self.environment

    @property
    def processor(self) -> list[str]:
        """Device and processor."""
        return self.environment.split(", ")[:2]

    @property
    def place(self) -> str:
        """Where it was reached, as people read it."""
        return self.environment if self.provenance == OWN else f"{self.provenance}, on {self.environment}"


COLUMNS = tuple(field.name for field in fields(MatrixEntry) if field.name not in ("labels", "identity"))


def entries(store: Store) -> list[MatrixEntry]:
    """The newest verdict of every current case on every build, by case, oldest build first, own before shipped ones."""
    query = resources.package_file("verdicts", "matrix.sql").read_text(encoding="utf-8")
    with store.read() as connection:
        schema.require_ours(connection, store.path)
        verdicts = [MatrixEntry(*row) for row in connection.execute(query).fetchall()]
    return sorted(verdicts, key=lambda e: (e.case, version_key(e.build), e.provenance != OWN, e.environment))


def span(builds: Sequence[str]) -> str:
    """Neighbouring builds, one or more, in words: "2.1.2", or "2.1.2 to 2.6.0"."""
    first, last = builds[0], builds[-1]
    return first if len(builds) == 1 else f"{first} to {last}"


def either(texts: Iterable[str]) -> str:
    """What holds of some of several entries each, in words: "3/3 or 10/10"."""
    return " or ".join(dict.fromkeys(filter(None, texts)))


def version_key(text: str) -> Version:
    """Order of release; what is no version comes first."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


def preferred(verdicts: Sequence[MatrixEntry]) -> list[MatrixEntry]:
    """The entries without shipped ones of a case and build of which an own one decides."""
    own = {(e.case, e.build) for e in verdicts if e.provenance == OWN and e.decides}
    return [e for e in verdicts if e.provenance == OWN or (e.case, e.build) not in own]


def builds_of(verdicts: Sequence[MatrixEntry]) -> list[str]:
    """Builds, oldest first."""
    return sorted({e.build for e in verdicts}, key=version_key)


def rank(verdict: str) -> int:
    """The place of a verdict in ``ORDER``; one that this release does not know comes last."""
    return ORDER.index(verdict) if verdict in ORDER else len(ORDER)


def deciding(verdicts: Iterable[MatrixEntry]) -> MatrixEntry:
    """The verdict that speaks for several on one build, of cases or environments: ``occurs`` wins over all others."""
    return min(verdicts, key=lambda entry: rank(entry.verdict))


def changes(verdicts: Sequence[MatrixEntry]) -> dict[str, list[tuple[str, str]]]:
    """Cases whose verdict changes between two builds: for each, (build, verdict) where a new one begins.

    Only verdicts that decide are looked at: the others say nothing about the bug.

    Args:
        verdicts: of each case together, oldest build first; of several environments ``deciding`` says which counts.
    """
    told: dict[str, list[tuple[str, str]]] = {}
    for (case, build), same in groupby(preferred(verdicts), key=lambda e: (e.case, e.build)):
        entry = deciding(same)
        if entry.decides:
            seen = told.setdefault(case, [])
            if not seen or seen[-1][1] != entry.verdict:
                seen.append((build, entry.verdict))
    return {case: seen for case, seen in told.items() if len(seen) > 1}


def as_csv(verdicts: Sequence[MatrixEntry], before: Sequence[Line] = ()) -> str:
    """The matrix as a file of verdicts: a heading, and a line per verdict.

    Args:
        verdicts: what is written.
        before: lines of a file to which the verdicts are added; what it has already is not written again, and lines
            of a former text of the same case go.
    """
    fresh = []
    for entry in verdicts:
        cells = entry.row() | {"seen": entry.detail, "day": entry.decided_at.date().isoformat()}
        fresh.append({name: "" if cells[name] is None else str(csv_cell(cells[name])) for name in FILE_COLUMNS})
    texts = {line["case"]: line["case_hash"] for line in fresh}
    kept = [line for line in before if texts.get(line["case"], line["case_hash"]) == line["case_hash"]]
    known = {tuple(line.values()) for line in kept}
    lines = [*kept, *(line for line in fresh if tuple(line.values()) not in known)]
    lines.sort(key=lambda line: (line["case"], version_key(line["build"]), line["environment"], line["day"]))
    out = io.StringIO()
    writer = csv.DictWriter(out, FILE_COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def as_json_lines(verdicts: Sequence[MatrixEntry]) -> bytes:
    """The matrix as JSON, one verdict a line."""
    lines = [orjson.dumps(e.row() | {"decided_at": _iso(e.decided_at)}) for e in verdicts]
    return b"".join(line + b"\n" for line in lines)


def as_junit(
    verdicts: Sequence[MatrixEntry],
    name: str = "embers",
    flips: Sequence[tuple[str, str, str]] = (),
    flips_at: str = "",
) -> bytes:
    """The matrix as JUnit XML, a suite per build and environment: a bug that occurs fails, only an absence passes.

    The time of a suite is that of its newest verdict. A database keeps no names of machines, so the host of each is
    ``localhost``, which stands for an unknown one.

    Args:
        verdicts: of cases.
        name: of all.
        flips: a suite of its own: issue, title and evidence of each report whose script behaves otherwise now.
        flips_at: when that was found, in ISO 8601, UTC.
    """
    root = ET.Element("testsuites", name=name)
    suites: dict[tuple[str, str], list[MatrixEntry]] = {}
    for entry in sorted(preferred(verdicts), key=lambda e: version_key(e.build)):
        suites.setdefault((entry.identity.partition("@")[0] or entry.build, entry.place), []).append(entry)
    for (build, place), own in suites.items():
        suite = ET.SubElement(root, "testsuite", name=xml_text(f"torch {build} ({place})"), tests=str(len(own)))
        for entry in own:
            case = ET.SubElement(suite, "testcase", classname=xml_text(entry.issue), name=xml_text(entry.case))
            said = f"{entry.verdict} {entry.k}/{entry.n}, control {entry.shown_control}, on {place}"
            if entry.verdict in ("occurs", "changed"):
                ET.SubElement(case, "failure", message=xml_text(said)).text = xml_text(entry.detail)
            elif entry.verdict != "absent":
                reason = why_unseen(entry.control) if entry.verdict == "not_seen" else entry.detail
                ET.SubElement(case, "skipped", message=xml_text(f"{said}: {reason}"))
        suite.set("failures", str(len(suite.findall("*/failure"))))
        suite.set("skipped", str(len(suite.findall("*/skipped"))))
        suite.set("errors", "0")
        _dated(suite, max(entry.decided_at for entry in own).isoformat())
    if flips:
        suite = ET.SubElement(root, "testsuite", name="flips", tests=str(len(flips)), failures=str(len(flips)))
        _dated(suite, flips_at)
        for issue, title, said in flips:
            case = ET.SubElement(suite, "testcase", classname=xml_text(issue), name=xml_text(title))
            ET.SubElement(case, "failure", message="the report's script behaves otherwise").text = xml_text(said)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _dated(suite: ET.Element, moment: str) -> None:
    suite.set("timestamp", moment[: len("2000-01-01T00:00:00")])
    suite.set("hostname", "localhost")


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds") + "Z"
