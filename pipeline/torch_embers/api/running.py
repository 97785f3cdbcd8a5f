"""Run one case in the sandbox, without a database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch_embers import settings

if TYPE_CHECKING:
    import os


@dataclass(frozen=True, slots=True)
class CaseRun:
    """A verdict of one case on one build, reached now.

    Attributes:
        case: name of the case.
        version: release of the build, e.g. ``2.13.0``.
        verdict: occurs, absent, not_seen, changed, control_failed, untestable or inconclusive (docs/running.md).
        hits: runs that showed the declared failure.
        runs: runs that could have shown it.
        control: ``build``: shows that the case can see the bug here; ``injected``: an injected fault, which shows only
            that the check can fail; ``none``.
        detectable_rate: smallest hit rate that this many clean runs would have shown with 99 %; None where the verdict
            is not clean or no build control was run.
        detail: one line: what was seen.
    """

    case: str
    version: str
    verdict: str
    hits: int
    runs: int
    control: str
    detectable_rate: float | None
    detail: str


def run_case(case: str | os.PathLike[str], *, build: str | None = None, unsandboxed: bool = False) -> CaseRun:
    """Run a case until its verdict is reached; known-bad builds that are installed serve as its control.

    Args:
        case: a case file, or the name of a case that ships with embers.
        build: name or version of an installed build (`embers builds list`); without it the torch of this environment.
        unsandboxed: let a reviewed case run with all your rights where no sandbox can be had.

    Raises:
        CaseError, InputError: no such case, or the file is no case.
        BuildError: no such build.
        SandboxError: the sandbox cannot give what the case needs.
    """
    from torch_embers.progress import Silent
    from torch_embers.run import cases as command

    path, builds = Path(case), (build,) if build else ()
    if path.suffix == ".py":
        request = command.RunRequest(folder=path, builds=builds, unsandboxed=unsandboxed)
    else:
        request = command.RunRequest(cases=(str(case),), builds=builds, unsandboxed=unsandboxed)
    with command.database_for(None) as store:
        [reached] = command.run_cases(store, settings.load(), request, Silent())
    cell, decision = reached.cell, reached.cell.decision
    return CaseRun(
        cell.case.name,
        cell.build.public_version,
        decision.verdict,
        decision.hits,
        decision.runs,
        decision.control.kind,
        decision.detectable_rate,
        decision.detail,
    )
