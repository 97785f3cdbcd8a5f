"""The skip ledger of builds: what PyTorch excuses its operators from, and whether it still fails."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Self

from torch_embers import resources, toml_models
from torch_embers.builds import samples
from torch_embers.errors import InputError, SandboxError
from torch_embers.oracles import cells
from torch_embers.oracles.skip_list import CRASHES, PASSES, SKIP, STATES, UNDECIDED
from torch_embers.sandbox import bundle
from torch_embers.sandbox.runner import Attempt
from torch_embers.study import result_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.progress import Progress
    from torch_embers.sandbox.runner import Runner, RunResult

NAME = "skips"


class SkipLimits(toml_models.Explained):
    """Numbers of the ledger; reasons stand in data/skips.toml."""

    samples: int
    seeds: int
    group: int
    seconds: float
    timeout: float
    memory: int
    start: float


class SkipRules(toml_models.Entry):
    """What data/skips.toml holds."""

    limits: SkipLimits


@dataclass(slots=True)
class SkipEntry:
    """One expected failure or skip, or all of a test that is not decided.

    Attributes:
        build: its release.
        operator: with its variant; empty where entries of a test are counted together.
        kind: ``expectedFailure`` or ``skip``.
        dtypes: to which it applies; none for all.
        issues: that its lines cite.
        k: answers that are right, of ``n``; where entries are counted together ``n`` is their number.
        what: what the first wrong answer was, or why nothing is decided.
    """

    build: str
    operator: str
    test: str
    kind: str
    dtypes: list[str] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    state: str = UNDECIDED
    k: int = 0
    n: int = 0
    what: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Unique within a ledger."""
        return (self.build, self.operator, self.test, self.kind, *self.dtypes)

    @classmethod
    def of(cls, build: str, row: dict[str, Any]) -> Self:
        """From a row that a build told."""
        return cls(build, row["op"], row["test"], row["kind"], row["dtypes"], row["issues"])

    def asked(self) -> dict[str, Any]:
        """As its build takes it."""
        return {"op": self.operator, "test": self.test, "dtypes": self.dtypes}


def limits() -> SkipLimits:
    """The numbers of data/skips.toml."""
    return toml_models.load(SkipRules, "skips.toml").limits


def read(build: Build, machine: Machine, known: dict[tuple[str, ...], SkipEntry]) -> Iterator[SkipEntry]:
    """The ledger of a build: each decided entry when it is decided, at last the others, counted by test and kind.

    Args:
        build: whose operators are asked.
        machine: makes the runs.
        known: entries that were decided before; they are not asked again.

    Raises:
        SandboxError: no sandbox can be had, or the build lacks a package that its samples import.
    """
    bounds = limits()
    with samples.runner_on(build, machine, bounds.start) as runner:
        code = bundle.script("skips", "entries", {})
        rows = samples.told(runner, Attempt("entries", code, "skips.py", timeout=bounds.timeout))
        entries = [SkipEntry.of(build.public_version, row) for row in rows if row["asked"]]
        yield from (known[one.key] for one in entries if one.key in known)
        yield from decided(runner, [one for one in entries if one.key not in known], bounds)
    yield from counted(SkipEntry.of(build.public_version, row) for row in rows if not row["asked"])


def counted(entries: Iterable[SkipEntry]) -> list[SkipEntry]:
    """Entries that cannot be decided as one per test and kind; ``n`` says how many there are."""
    numbers = Counter((one.build, one.test, one.kind) for one in entries)
    return [
        SkipEntry(build, "", test, kind, n=number, what="no oracle was written")
        for (build, test, kind), number in sorted(numbers.items())
    ]


def decided(runner: Runner, entries: Sequence[SkipEntry], bounds: SkipLimits) -> Iterator[SkipEntry]:
    """Decide entries in groups, because a start takes longer than one of them; behind one that ends it, begin again."""
    waiting = [list(entries[at : at + bounds.group]) for at in range(0, len(entries), bounds.group)]
    while waiting:
        left = []
        for result in runner.run([_attempt(str(at), group, bounds) for at, group in enumerate(waiting)]):
            done, rest = sort(waiting[int(result.key)], result)
            yield from done
            left += [rest] if rest else []
        waiting = left


def sort(group: Sequence[SkipEntry], result: RunResult) -> tuple[list[SkipEntry], list[SkipEntry]]:
    """Take over what a run told of its entries: those that are done, and those to begin again with."""
    told = {row.pop("at"): row for row in cells.unpack(result.stdout)}
    for at, row in told.items():
        for name, value in row.items():
            setattr(group[at], name, value)
    rest = [at for at in range(len(group)) if at not in told]
    if rest:
        one = group[rest.pop(0)]  # entries are asked in order: it is the one that was under way
        died = result.ended == "signalled" and result.signal not in (ENDED_BY_TIME, None)
        one.state, one.what = (CRASHES, "the process ended by a signal") if died else (UNDECIDED, _ended(result))
    left = [group[at] for at in rest]
    return [one for one in group if one not in left], left


ENDED_BY_TIME = 27
"""SIGPROF: the processor time of one entry is over."""


def _ended(result: RunResult) -> str:
    return "out of time" if result.signal == ENDED_BY_TIME or result.ended == "timeout" else result.ended[:80]


def _attempt(key: str, group: Sequence[SkipEntry], bounds: SkipLimits) -> Attempt:
    options = {
        "entries": [one.asked() for one in group],
        "rules": resources.load_toml("oracles.toml"),
        "limits": bounds.model_dump(),
    }
    code = bundle.script("skips", "main", options)
    return Attempt(key, code, "skips.py", timeout=bounds.timeout * len(group), memory=bounds.memory)


# files


def digest() -> str:
    """Of the code and the numbers that decide entries: after a change all are asked again."""
    options = {"rules": resources.load_toml("oracles.toml"), "limits": limits().model_dump()}
    return blake2b(bundle.script("skips", "main", options).encode(), digest_size=4).hexdigest()


class Journal:
    """What was decided in a folder, one line each as it comes, and the table that is made from it.

    Args:
        folder: is made where it is not there.

    Raises:
        InputError: the folder or its journal cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.table, self.path = folder / f"{NAME}.csv", folder / f"{NAME}.jsonl"
        self.digest = digest()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
            rows = [json.loads(line) for line in lines if line.endswith("}")]
            found = [SkipEntry(**row["entry"]) for row in rows if row["digest"] == self.digest]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise InputError(f"--out {folder}: {error}: name another folder, or remove {self.path.name}") from error
        self.known = {one.key: one for one in found}

    def append(self, one: SkipEntry) -> None:
        """Add an entry that is not known."""
        if one.operator and one.key not in self.known:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"digest": self.digest, "entry": asdict(one)}) + "\n")

    def write(self, entries: Sequence[SkipEntry]) -> None:
        """Write the table; builds that were not read now keep their rows."""
        read_now = {one.build for one in entries}
        kept = []
        if self.table.exists():
            with self.table.open(encoding="utf-8", newline="") as file:
                kept = [row for row in csv.DictReader(file) if row["build"] not in read_now]
        rows = [*kept, *map(as_row, entries)]
        rows.sort(key=lambda row: ([int(part) for part in row["build"].split(".")], row["test"], row["operator"]))
        self.table.write_text(result_files.as_csv(rows), encoding="utf-8")


def as_row(one: SkipEntry) -> dict[str, str]:
    """An entry as texts; lists with blanks between."""
    return {name: " ".join(map(str, v)) if isinstance(v, list) else str(v) for name, v in asdict(one).items()}


# the command


def run(builds: Sequence[Build], machine: Machine, out: Path | None, progress: Progress) -> list[SkipEntry]:
    """Read the ledgers of builds and write them down.

    Args:
        builds: in order of release.
        machine: makes the runs.
        out: folder of journal and table; None to write nothing.
        progress: is advanced by each entry, and told which build cannot be read.

    Raises:
        InputError: the folder cannot be used.
        SandboxError: no build can be read.
    """
    journal = Journal(out) if out is not None else None
    entries: list[SkipEntry] = []
    for build in builds:
        own: list[SkipEntry] = []
        try:
            for one in read(build, machine, journal.known if journal is not None else {}):
                if journal is not None:
                    journal.append(one)
                own.append(one)
                progress.advanced(1)
        except SandboxError as error:
            if len(builds) == 1:
                raise
            progress.said(f"{build.name} is left out: {error}")
            continue
        entries += own
        if journal is not None:
            journal.write(own)
    if not entries:
        raise SandboxError("no build could be read: `embers builds list` shows them, `embers doctor` the sandbox")
    return entries


def lines(entries: Sequence[SkipEntry]) -> list[str]:
    """The summary for a terminal: skips that pass first, then the counts of each build."""
    passed = [one for one in entries if one.state == PASSES and one.kind == SKIP]
    said = [f"{len(passed)} skips pass"]
    said += [f"{one.build} {one.operator} {one.test}: passes, {one.k} of {one.n}" for one in passed]
    for build in dict.fromkeys(one.build for one in entries):
        of = Counter[str]()
        for one in entries:
            if one.build == build:
                of[one.state] += 1 if one.operator else one.n
        said.append(f"{build}: " + ", ".join(f"{of[state]} {state}" for state in STATES))
    return said
