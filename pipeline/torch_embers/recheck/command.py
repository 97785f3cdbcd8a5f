"""What `embers recheck` does: load what is known, re-check what is due, write the reports, tell the result."""

from __future__ import annotations

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


def run_recheck(
    store: Store,
    settings: Settings,
    progress: Progress,
    *,
    only: str,
    names: Sequence[str],
    every: float,
    jobs: int,
    out: Path | None,
    state: Path | None = None,
    unsandboxed: bool = False,
    tell: Callable[[Recheck], None] = lambda _: None,
) -> Recheck:
    """Re-check what is due, save the reports, and tell the result.

    With ``state``, what earlier re-checks kept in this folder is loaded first, and all is saved there in the end, also
    where the re-check fails half-way. What is announced counts as told after ``tell``: where that or anything before it
    fails, the next re-check tells it.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    builds = Registry(settings.builds_dir)
    targets = chosen_builds(builds, names or ["all"])
    if out is not None:
        reports.prepare(out)
    with states.kept(store, "recheck", state) as writer:
        shipped.load(writer)
        cases = runnable_here(bank.load(store), progress)
        request = RecheckRequest(only, targets[-1], targets, builds.installed(), every, jobs)
        machine = Machine(builds, unsandboxed, progress)
        result = recheck(store, writer, machine, cases, request, progress)
        if state is not None and result.news:
            states.save(store, state)  # a disk that is full is found before anybody is told
        if out is not None:
            _save_reports(store, out, result)
        tell(result)
        if result.news:
            mark_told(writer)
    return result


def _save_reports(store: Store, out: Path, result: Recheck) -> None:
    """Write all files of a re-check."""
    reports.save(out, result, matrix.entries(store))
    known = notices.announced(store, events.rules().feed.entries)
    folders.write(out / "recheck.atom", notices.feed(known))
