"""What `embers research hunt` does around the sweep: builds, progress, the summary."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_embers import settings
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import WHOLE, Machine
from torch_embers.errors import InputError
from torch_embers.escaping import visible
from torch_embers.hunt import coverage as hunt_coverage
from torch_embers.hunt import drafts as hunt_draft
from torch_embers.hunt import sweep as hunt
from torch_embers.hunt.known import is_known
from torch_embers.hunt.rows import ident
from torch_embers.oracles.cells import ALL_MODES
from torch_embers.oracles.finding import SEVERITIES
from torch_embers.progress_bar import ProgressBar
from torch_embers.run.cases import chosen_builds, cluster_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.builds.work import Shard
    from torch_embers.hunt.known import Known
    from torch_embers.hunt.rows import Hunted
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
                row = is_known(finding, one.release, self.known), one.build, finding
                found.setdefault((one.build, ident(finding)), row)
        return sorted(
            found.values(), key=lambda row: (row[0] is not None, SEVERITIES.index(row[2].severity), row[2].op)
        )

    @property
    def exit_code(self) -> int:
        """Of the command."""
        return NEWS if any(known is None for known, _, _ in self.found()) else 0

    def rows(self) -> list[dict[str, Any]]:
        """As plain data."""
        return [one.row() for one in self.done]

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
            worst = finding.difference
            size = f"; got {worst.got}, expected {worst.expected}" if worst is not None else ""
            judged = ""
            if known is not None:
                kind = " ".join(filter(None, (known.judged.replace("_", " "), known.issue)))
                judged = f" [judged before as {kind}: {known.reason}]"
            lines.append(f"{ident(finding)} {build} {finding.severity}: {visible(finding.message)}{size}{judged}")
        lines += [f"{one.build} {one.op} was not finished: {visible(one.ended)}" for one in self.done if one.ended]
        return lines


def run(
    builds: Sequence[str],
    ops: str,
    dtypes: str,
    modes: str,
    out: Path,
    jobs: int,
    *,
    unsandboxed: bool,
    device: str = "cpu",
    shard: Shard = WHOLE,
    address: str | None = None,
) -> Reached:
    """Hunt on builds.

    Raises:
        InputError: an operator, dtype, mode or build is unknown, or a build cannot use the device.
        SandboxError: no sandbox can be had.
        ClusterError: the cluster cannot be used.
    """
    wanted = modes.split(",")
    if unknown := [mode for mode in wanted if mode not in ALL_MODES]:
        raise InputError(f"no mode {unknown[0]!r}: use {', '.join(ALL_MODES)}")
    request = hunt.HuntRequest([op for op in ops.split(",") if op], dtypes.split(","), out, wanted, jobs, device, shard)
    reached = Reached(known=hunt.rules().known)
    registry = Registry(settings.load().builds_dir)
    with ProgressBar("hunting") as progress, cluster_at(address, shard, progress) as cluster:
        machine = Machine(registry, unsandboxed, progress)
        for build in chosen_builds(registry, builds):
            for one in hunt.hunt(build, request, machine, cluster):
                reached.done.append(one)
                progress.advanced(1)
    return reached


def act(action: Sequence[str], out: Path) -> str:
    """What ``report ID`` and ``coverage FILE`` print.

    Raises:
        InputError: the words are none of these, there is no such finding, or no journal.
    """
    if len(action) == 2 and action[0] == "report":
        return hunt_draft.draft(action[1], out)
    if len(action) == 2 and action[0] == "coverage":
        return f"{action[1]}: {hunt_coverage.write(out, Path(action[1]))} rows"
    raise InputError(
        "use `embers research hunt --ops NAMES`, `embers research hunt report ID` or "
        "`embers research hunt coverage FILE`"
    )
