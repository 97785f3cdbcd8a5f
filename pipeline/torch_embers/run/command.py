"""What the commands around runs do: open the database, choose cases and builds, run, hand back what to print."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.builds.registry import CURRENT, Build, BuildError, Registry
from torch_embers.errors import InputError
from torch_embers.repro import bank
from torch_embers.run import matrix, reduction, reports
from torch_embers.run.executor import Executor, Wish
from torch_embers.run.recheck import Recheck, Request, recheck
from torch_embers.run.series import PROFILES
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.run.ledger import Cell
    from torch_embers.run.reduction import Reduction
    from torch_embers.settings import Settings
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """What `embers run` did.

    Attributes:
        cells: verdicts asked for.
        counts: verdicts by name.
        gone: open items of which no case occurs on the newest of these builds, though one did on an older build.
        alive: closed items of which a case occurs on the newest of these builds.
    """

    cells: Sequence[Cell]
    counts: dict[str, int]
    gone: Sequence[str]
    alive: Sequence[str]


def registry(wanted: Settings) -> Registry:
    """The installed builds."""
    return Registry(wanted.builds_dir)


def chosen_builds(builds: Registry, names: Sequence[str]) -> list[Build]:
    """The named builds in order of release; the torch of this environment where none is named; ``all`` for all.

    Raises:
        BuildError: one is unknown, or there is none at all.
    """
    if "all" in names:
        found = builds.installed()
    elif names:
        found = sorted({b.name: b for b in map(builds.find, names)}.values(), key=Build.order)
    else:
        installed = builds.installed()
        found = [b for b in installed if b.name == CURRENT] or installed[-1:]
    if not found:
        raise BuildError("no build here: `embers builds add VERSION`, or install torch beside embers")
    return found


def runnable_here(cases: Sequence[Case], said: Callable[[str], None]) -> list[Case]:
    """The cases that may run on this host: without a complete sandbox only those that were written by hand."""
    foreign = [case for case in cases if PROFILES[case.origin] == HOSTILE]
    if not foreign or doctor.prove().complete:
        return list(cases)
    said(f"{len(foreign)} scripts from issues are not run: the sandbox is not complete here, see `embers doctor`")
    return [case for case in cases if PROFILES[case.origin] != HOSTILE]


def run_cases(
    store: Store,
    wanted: Settings,
    cases: Sequence[str],
    names: Sequence[str],
    watcher: Progress,
    told: Callable[[Cell], None],
    *,
    jobs: int,
    force: bool,
) -> RunOutcome:
    """Run cases on builds and keep everything.

    Args:
        store: the database.
        wanted: settings.
        cases: names of cases or numbers of items; all cases where none is given.
        names: builds.
        watcher: told about progress.
        told: called with each verdict as it is reached.
        jobs: runs at a time.
        force: start a fresh series although verdicts are known.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    builds = registry(wanted)
    targets = chosen_builds(builds, names)
    with store.writer("run") as writer:
        bank.refresh(writer)
        found = bank.load(store, cases, wanted.repo) if cases else runnable_here(bank.load(store), watcher.said)
        executor = Executor(store, writer, builds, watcher)
        wish = Wish(found, targets, builds.installed(), jobs)
        if force:
            wish = executor.afresh(wish)
        cells = []
        for cell in executor.sweep(wish):
            told(cell)
            cells.append(cell)
    return _outcome(store, cells, targets[-1])


def _outcome(store: Store, cells: Sequence[Cell], newest: Build) -> RunOutcome:
    counts = Counter[str](cell.decision.verdict for cell in cells)
    now = [cell for cell in cells if cell.build.identity == newest.identity]
    with store.read() as connection:
        found = connection.execute(
            "SELECT repo, number, state FROM items SEMI JOIN case_items USING (repo, number)"
        ).fetchall()
    state = {(repo, number): state for repo, number, state in found}
    occurs = {key for cell in now if cell.decision.verdict == "occurs" for key in cell.case.issues}
    absent = {key for cell in now if cell.decision.verdict == "absent" for key in cell.case.issues} - occurs
    return RunOutcome(
        cells,
        dict(counts),
        [f"{repo}#{n}" for repo, n in sorted(absent) if state.get((repo, n)) == "open"],
        [f"{repo}#{n}" for repo, n in sorted(occurs) if state.get((repo, n)) == "closed"],
    )


def run_recheck(
    store: Store,
    wanted: Settings,
    watcher: Progress,
    *,
    only: str,
    names: Sequence[str],
    every: float,
    jobs: int,
    out: Path | None,
) -> Recheck:
    """Re-check what is due, and save the reports.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers.
    """
    builds = registry(wanted)
    targets = chosen_builds(builds, names or ["all"])
    with store.writer("recheck") as writer:
        bank.refresh(writer)
        cases = runnable_here(bank.load(store), watcher.said)
        asked = Request(only, targets[-1], targets, every, jobs)
        found = recheck(store, writer, builds, cases, asked, watcher)
    if out is not None:
        reports.save(out, found, matrix.entries(store))
    return found


def minimize_case(
    store: Store, wanted: Settings, name: str, build: str | None, said: Callable[[str], None]
) -> Reduction:
    """Make the script of an extracted case small, and keep the result.

    Raises:
        InputError: no such case, or nothing was extracted for it.
        MinimizeError: it does not fail here, or its texts disagree.
    """
    builds = registry(wanted)
    chosen = chosen_builds(builds, [build] if build else [])[-1]
    with store.writer("minimize") as writer:
        found = [case for case in bank.load(store, [name], wanted.repo) if case.origin == "extracted"]
        if not found:
            raise InputError(f"{name} is no extracted script: `embers link-repros` extracts them from the items' texts")
        with store.read() as connection:
            texts = dict(
                connection.execute("SELECT kind, code FROM artifacts WHERE name = ?", [found[0].name]).fetchall()
            )
        made = reduction.reduce_case(found[0], texts["runnable"], texts.get("verbatim"), chosen, builds, said)
        reduction.save(writer, made)
    return made


def save_matrix(store: Store, csv: Path | None, junit: Path | None, jsonl: Path | None) -> list[matrix.Entry]:
    """Read the matrix, and write it to the files that are asked for.

    Raises:
        InputError: no verdict yet, or a file cannot be written.
    """
    found = matrix.entries(store)
    if not found:
        raise InputError("no verdicts yet: `embers run` makes them")
    forms = (
        (csv, matrix.as_csv(found).encode()),
        (junit, matrix.as_junit(found)),
        (jsonl, matrix.as_json_lines(found)),
    )
    for path, content in forms:
        if path is not None:
            reports.write(path, content)
    return found
