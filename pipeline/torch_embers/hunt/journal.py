"""What comes of a hunt: calls, findings and crashes of one operator, and the journal that holds them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from pydantic import TypeAdapter

from torch_embers.errors import InputError
from torch_embers.oracles import cells, finding
from torch_embers.oracles.cells import MODES, Cell
from torch_embers.oracles.finding import Finding

if TYPE_CHECKING:
    from pathlib import Path

FILE = "hunt.jsonl"


@dataclass(frozen=True, slots=True)
class Crash:
    """A call that ended its process.

    Attributes:
        cell: which call.
        ended: the signal by name, or that it ran out of time or memory.
        case: text of a case file; empty where none could be made.
    """

    cell: Cell
    ended: str
    case: str = ""


@dataclass(slots=True)
class Hunted:
    """What came of one operator and dtype on one build.

    Attributes:
        version: of the torch of that build; empty in journals from before it was kept.
        device: on which the operator was called.
        rules: digest of the code and the rules that decide what is found.
        environment: where its runs were made: device, processor, CPU capability, system.
        own: what PyTorch's own test of strided samples does with it.
        ended: empty where all was gone through; else why not.
        cells: four names of what was varied, then counts in the order of ``cells.COUNTED``.
        skipped: what was not called, and how often, by reason.
    """

    build: str
    op: str
    dtype: str
    modes: tuple[str, ...] = MODES
    rules: str = ""
    environment: str = ""
    version: str = ""
    device: str = "cpu"
    own: str = ""
    ended: str = ""
    findings: list[Finding] = field(default_factory=list)
    cells: list[list[str | int]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """What is not run again once it stands in the journal."""
        return (self.build, self.device, self.op, self.dtype, ",".join(sorted(self.modes)), self.rules)

    @property
    def release(self) -> str:
        """The version of the build, or its name where the version was not kept."""
        return self.version or self.build

    def take(self, row: dict[str, Any]) -> None:
        """What its run printed."""
        self.cells, self.skipped, self.own, self.ended = row["cells"], row["skipped"], row["own"], ""
        died = [int(what == "died") for what in cells.COUNTED]
        self.cells += [[*crash.cell, *died] for crash in self.crashes]
        self.findings = [finding.parse(found) for found in row["findings"]]

    def counts(self) -> dict[str, int]:
        """Calls by what came of them."""
        return {what: sum(int(row[4 + at]) for row in self.cells) for at, what in enumerate(cells.COUNTED)}

    def all_findings(self) -> list[Finding]:
        """With those calls that ended the process."""
        return [*self.findings, *(fatal(self, crash) for crash in self.crashes)]

    def row(self) -> dict[str, Any]:
        """As plain data, each finding with its id."""
        row: dict[str, Any] = _adapter().dump_python(self, mode="json")
        for found, own in zip(row["findings"], self.findings, strict=True):
            found["id"] = finding_id(own)
        return row

    @classmethod
    def of(cls, row: Any) -> Self:
        """From plain data.

        Raises:
            ValueError: it has not the form of a result.
        """
        made: Self = _adapter().validate_python(row)
        return made


@cache
def _adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Hunted)


def fatal(one: Hunted, crash: Crash) -> Finding:
    """A call that ended the process, as a finding."""
    cell = crash.cell
    op, overload = cells.identity(cell)
    return Finding(
        oracle="layout",
        op=op,
        overload=overload,
        severity="crash",
        message=f"{cell.operator}, {cell.mode}, {cell.layout} {cell.argument}: the process ended: {crash.ended}",
        layouts=(f"{cell.argument}: {cell.layout}",),
        dtype=one.dtype,
        device=one.device,
        place=cell.argument,
        reproducer=crash.case,
    )


def finding_id(found: Finding) -> str:
    """Short name of a defect: the same on every build."""
    return blake2b(f"{found.op} {found.overload} {found.severity}".encode(), digest_size=4).hexdigest()


class Journal:
    """The results of a folder, one line each, as they come.

    Args:
        out: the folder; made, with an empty journal, where it is not there.

    Raises:
        InputError: the folder cannot be used.
    """

    def __init__(self, out: Path) -> None:
        self.path = out / FILE
        try:
            out.mkdir(parents=True, exist_ok=True)
            self.path.touch()  # a shard without an operator can be merged, too
        except OSError as error:
            raise InputError(f"--out {out}: {error.strerror}: name a folder that can be written") from error

    def read(self) -> list[Hunted]:
        """What stands there; a line that a kill cut short is cut off.

        Raises:
            InputError: the file cannot be read, or a whole line is no result of a hunt.
        """
        text = self.path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            with self.path.open("r+b") as file:
                file.truncate(len(whole))
        return [self._result(raw, place) for place, raw in enumerate(whole.splitlines(), start=1)]

    def _result(self, raw: bytes, place: int) -> Hunted:
        try:
            return Hunted.of(json.loads(raw))
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{self.path}: line {place} is no result of a hunt: move the file away, or give another --out"
            ) from error

    def append(self, one: Hunted) -> None:
        """Add one result."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(one.row()) + "\n")


def journal_in(out: Path) -> list[Hunted]:
    """What stands in the journal of a folder.

    Raises:
        InputError: there is no journal.
    """
    if not (out / FILE).is_file():
        raise InputError(f"no journal {out / FILE}: run `embers research hunt --out {out}` first")
    return Journal(out).read()


def merge(folder: Path, out: Path) -> int:
    """Add to a journal what stands in another and not in it; how many operators that were.

    Args:
        folder: of the other journal.
        out: folder of the journal, made where it is not there.

    Raises:
        InputError: there is no other journal, or the folder cannot be used.
    """
    journal = Journal(out)
    known = {(one.key, one.version, one.environment) for one in journal.read()}
    new = [one for one in journal_in(folder) if (one.key, one.version, one.environment) not in known]
    for one in new:
        journal.append(one)
    return len(new)
