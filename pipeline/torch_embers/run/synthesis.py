"""Cases for reports without a usable script: the operators that a report names, taken through layouts on a build.

The samples are PyTorch's own, the layouts those of the hunt. Where a cell fails on a build that is known to have the
bug, the smallest failing call becomes a case of origin ``synthesized``. It shows a misbehaviour of an operator that
the report names; whether it is the bug of the report, a person says: the case is a ``sibling`` until then.
"""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.errors import InputError
from torch_embers.oracles.finding import SEVERITIES
from torch_embers.repro import bank
from torch_embers.repro.case import Case, CaseError, parse
from torch_embers.repro.named_operators import named_dtypes, named_operators
from torch_embers.run import hunt
from torch_embers.run.command import chosen_builds
from torch_embers.settings import DEFAULT_REPO

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch_embers.builds.registry import Build
    from torch_embers.oracles.finding import Finding
    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

_TEXT = "SELECT title, body FROM items WHERE repo = ? AND number = ?"


@dataclass(frozen=True, slots=True)
class Report:
    """An item that is looked for.

    Attributes:
        text: its title, and its body where that is wanted.
    """

    repo: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Synthesized:
    """What came of one report on one build.

    Attributes:
        operators: that the text names and the build has samples of.
        findings: of these operators, the worst first.
        case: the smallest of the worst as a case; None where nothing was found, or it has no text.
    """

    report: Report
    build: Build
    operators: Sequence[str]
    findings: Sequence[Finding] = field(default_factory=tuple)
    case: Case | None = None

    @property
    def said(self) -> str:
        """In one line."""
        if not self.operators:
            return "it names no operator of which this build has samples"
        names = ", ".join(self.operators)
        if not self.findings:
            return f"nothing found in {names}"
        first = self.findings[0]
        made = f"case {self.case.name}" if self.case else "no case: the call has no text"
        return f"{len(self.findings)} findings in {names}; {first.severity}: {first.message}; {made}"


def reports_of(connection: Any, repo: str, numbers: Sequence[int], *, bodies: bool) -> list[Report]:
    """Items by number.

    Raises:
        InputError: an item is not in the database.
    """
    found = []
    for number in numbers:
        row = connection.execute(_TEXT, [repo, number]).fetchone()
        if row is None:
            raise InputError(f"no item {repo}#{number} in the database: `embers mine` brings items")
        found.append(Report(repo, number, "\n".join(part for part in (row if bodies else row[:1]) if part)))
    return found


def run(
    store: Store, settings: Settings, numbers: Sequence[int], build: str | None, jobs: int, progress: Progress
) -> list[Synthesized]:
    """Look for the bugs of items on one build, and keep the cases that come of it.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    registry = Registry(settings.builds_dir)
    target = chosen_builds(registry, [build] if build else [])[-1]
    machine = Machine(registry, progress=progress)
    with store.writer("link-repros") as writer, tempfile.TemporaryDirectory(prefix="embers-synthesis-") as folder:
        with store.read() as connection:
            reports = reports_of(connection, settings.repo, numbers, bodies=True)
        made = list(synthesize(reports, target, Path(folder), jobs, progress, machine))
        keep(writer, made)
    return made


def synthesize(
    reports: Sequence[Report], build: Build, out: Path, jobs: int, progress: Progress, machine: Machine
) -> Iterator[Synthesized]:
    """Look for the bugs of reports on a build that is known to have them.

    Args:
        reports: what to look for.
        build: where.
        out: folder of the journal; operators that stand there are not run again.
        jobs: runs at a time.
        progress: counts the reports.
        machine: makes the runs.

    Raises:
        SandboxError: no sandbox can be had, or the build has no database of samples.
    """
    with hunt.runner_on(build, machine) as runner:
        known = hunt.samples_of(runner)
    wanted = {one.number: named_operators(one.text, known) for one in reports}
    progress.expects(len(reports))
    for report in reports:
        operators = wanted[report.number]
        findings: list[Finding] = []
        for dtype in named_dtypes(report.text) if operators else ():
            fitting = [name for name in operators if dtype in known[name]]
            if fitting:
                request = hunt.HuntRequest(fitting, [dtype], out, jobs=jobs)
                exact = [one for one in hunt.hunt(build, request, machine) if one.op in fitting]
                findings += [found for one in exact for found in one.all_findings()]
        findings.sort(key=lambda found: (SEVERITIES.index(found.severity), not found.reproducer, len(found.reproducer)))
        yield Synthesized(report, build, operators, findings, case_of(report, build, findings))
        progress.advanced(1)


def case_of(report: Report, build: Build, findings: Sequence[Finding]) -> Case | None:
    """The case of the first finding that has a text; None where there is none. Pure."""
    text = next((found.reproducer for found in findings if found.reproducer), "")
    if not text:
        return None
    prefix = "s" if report.repo == DEFAULT_REPO else f"{report.repo.replace('/', '-')}-s"
    text = text.replace("# issues = []\n", f'# issues = ["{report.repo}#{report.number}"]\n# relation = "sibling"\n', 1)
    text = re.sub(r"(?m)^# known_bad = \[\]$", f'# known_bad = ["{build.public_version}"]', text, count=1)
    try:
        return parse(text, f"{prefix}{report.number}", "synthesized")
    except CaseError:
        return None


def keep(writer: Writer, made: Sequence[Synthesized]) -> None:
    """Bring the cases into the database."""
    with writer.transaction() as connection:
        bank.save(connection, [one.case for one in made if one.case is not None])
