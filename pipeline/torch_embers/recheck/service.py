"""What `embers recheck` does: load what is known, re-check what is due, write the reports, tell the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers import folders
from torch_embers.builds.registry import Registry
from torch_embers.builds.work import Machine
from torch_embers.cases import bank
from torch_embers.recheck import events, notices, reports
from torch_embers.recheck.recheck import Recheck, RecheckRequest, mark_told, recheck
from torch_embers.run import state as states
from torch_embers.run.cases import chosen_builds, runnable_here
from torch_embers.verdicts import matrix, shipped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """What `embers recheck` is asked for.

    Attributes:
        only: items in which state.
        builds: names of builds; all where none is given.
        every: days after which a verdict on the newest build is due again.
        jobs: runs at a time.
        out: folder for the reports; None for none.
        state: folder to load what earlier re-checks kept from, and to save all to in the end, also where the re-check
            fails half-way; None for none.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
    """

    only: str = "all"
    builds: Sequence[str] = ()
    every: float = 7.0
    jobs: int = 1
    out: Path | None = None
    state: Path | None = None
    unsandboxed: bool = False


def run_recheck(
    store: Store,
    settings: Settings,
    request: ServiceRequest,
    progress: Progress,
    tell: Callable[[Recheck], None] = lambda _: None,
) -> Recheck:
    """Re-check what is due, save the reports, and tell the result.

    What is announced counts as told after ``tell``: where that or anything before it fails, the next re-check tells it.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    builds = Registry(settings.builds_dir)
    targets = chosen_builds(builds, request.builds or ["all"])
    if request.out is not None:
        reports.prepare(request.out)
    with states.kept(store, "recheck", request.state) as writer:
        shipped.load(writer)
        cases = runnable_here(bank.load(store), progress)
        machine = Machine(builds, request.unsandboxed, progress)
        asked = RecheckRequest(request.only, targets[-1], targets, builds.installed(), request.every, request.jobs)
        result = recheck(store, writer, machine, cases, asked, progress)
        if request.state is not None and result.news:
            states.save(store, request.state)  # a disk that is full is found before anybody is told
        if request.out is not None:
            reports.save(request.out, result, matrix.entries(store))
            known = notices.announced(store, events.rules().feed.entries)
            folders.write(request.out / "recheck.atom", notices.feed(known))
        tell(result)
        if result.news:
            mark_told(writer)
    return result
