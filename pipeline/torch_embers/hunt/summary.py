"""What `embers research hunt` does around the sweep: builds, progress, the summary and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers import settings
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.errors import InputError
from torch_embers.escaping import visible
from torch_embers.hunt import coverage, drafts, sweep
from torch_embers.hunt.journal import finding_id
from torch_embers.hunt.known_findings import judgement_of
from torch_embers.oracles.finding import SEVERITIES
from torch_embers.progress_bar import ProgressBar
from torch_embers.run.cases import chosen_builds, cluster_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.hunt.journal import Hunted
    from torch_embers.hunt.known_findings import Known
    from torch_embers.oracles.finding import Finding

NEWS = 10
"""Exit code with findings that nobody has judged."""


@dataclass(slots=True)
class Reached:
    """What a hunt came to."""

    done: list[Hunted] = field(default_factory=list)
    known: Sequence[Known] = ()

    def found(self) -> list[tuple[Known | None, str, Finding]]:
        """What was judged of a finding, its build, the finding: news first, the worst first.

        One per build, operator, mode and severity.
        """
        found: dict[tuple[str, str], tuple[Known | None, str, Finding]] = {}
        for one in self.done:
            for finding in one.all_findings():
                row = judgement_of(finding, one.release, self.known), one.build, finding
                found.setdefault((one.build, finding_id(finding)), row)
        return sorted(
            found.values(), key=lambda row: (row[0] is not None, SEVERITIES.index(row[2].severity), row[2].op)
        )

    @property
    def exit_code(self) -> int:
        """Of the command."""
        return NEWS if any(known is None for known, _, _ in self.found()) else 0

    def lines(self) -> list[str]:
        """The summary for a terminal."""
        found = self.found()
        news = sum(known is None for known, _, _ in found)
        counts = Counter[str]()
        for one in self.done:
            counts.update(one.counts())
        lines = [
            f"{news} new findings, {len(found) - news} judged before; {len(self.done)} operators, "
            f"{counts['tested']} calls compared, {counts['refused']} refused, {counts['undecided']} undecided"
        ]
        for known, build, finding in found:
            worst, judged = finding.difference, ""
            size = f"; got {worst.got}, expected {worst.expected}" if worst else ""
            if known is not None:
                kind = " ".join(filter(None, (known.judged.replace("_", " "), known.issue)))
                judged = f" [judged before as {kind}: {known.reason}]"
            said = f"{finding.severity}: {visible(finding.message)}{size}{judged}"
            lines.append(f"{finding_id(finding)} {build} {said}")
        lines += [f"{one.build} {one.op} was not finished: {visible(one.ended)}" for one in self.done if one.ended]
        return lines


def run(builds: Sequence[str], request: sweep.HuntRequest, *, unsandboxed: bool, address: str | None = None) -> Reached:
    """Hunt on builds.

    Raises:
        InputError: an operator, dtype, mode or build is unknown, or a build cannot use the device.
        SandboxError: no sandbox can be had.
        ClusterError: the cluster cannot be used.
    """
    reached = Reached(known=sweep.rules().known)
    registry = Registry(settings.load().builds_dir)
    with ProgressBar("hunting") as progress, cluster_at(address, request.shard, progress) as cluster:
        machine = Machine(registry, unsandboxed, progress)
        for build in chosen_builds(registry, builds):
            for one in sweep.hunt(build, request, machine, cluster):
                reached.done.append(one)
                progress.advanced(1)
    return reached


def act(action: Sequence[str], out: Path) -> str:
    """What ``report ID`` and ``coverage FILE`` print.

    Raises:
        InputError: the words are none of these, there is no such finding, or no journal.
    """
    match action:
        case ["report", name]:
            return drafts.draft(name, out)
        case ["coverage", path]:
            return f"{path}: {coverage.write(out, Path(path))} rows"
    raise InputError(
        "use `embers research hunt --ops NAMES`, `embers research hunt report ID` or "
        "`embers research hunt coverage FILE`"
    )
