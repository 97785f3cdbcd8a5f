"""What the commands around runs do: open the database, choose cases and builds, run, hand back what to print."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torch_embers import packages
from torch_embers.builds.registry import CURRENT, Build, BuildError, Registry
from torch_embers.builds.work import WHOLE, Machine, Shard, warn_without_sandbox
from torch_embers.cases import bank
from torch_embers.cases.case import shipped as shipped_cases
from torch_embers.errors import InputError
from torch_embers.run import state as states
from torch_embers.run.node import NO_FOLDER, SweepPlan
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import HOSTILE
from torch_embers.store.store import Store
from torch_embers.verdicts import shipped
from torch_embers.verdicts.batch import PROFILES, control_builds
from torch_embers.verdicts.executor import Executor, SweepRequest, Uncontrolled
from torch_embers.verdicts.ledger import Ledger
from torch_embers.verdicts.status import statuses_of, tracked_items

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from torch_embers.cases.case import Case, Kind
    from torch_embers.progress import Progress
    from torch_embers.run.cluster import Cluster
    from torch_embers.sandbox.proof import Proof
    from torch_embers.settings import Settings
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.ledger import Cell
    from torch_embers.verdicts.status import ItemKey, Status, Tracked
    from torch_embers.verdicts.verdict import Verdict


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What `embers run` is asked for.

    Attributes:
        cases: names of cases or numbers of items; all cases where none is given.
        builds: names of builds; the torch of this environment where none is given.
        folder: a folder of case files that are run instead of the cases of the database.
        kind: shipped cases of this kind are run instead.
        jobs: runs at a time.
        force: start new batches of runs although verdicts are known.
        unsandboxed: let reviewed cases run with this user's rights where no sandbox can be had.
        shard: which of the cases are run here.
        state: a folder to load what is known from, and to save it to.
        address: of a Ray cluster whose nodes make the runs; None for this machine.
    """

    cases: Sequence[str] = ()
    builds: Sequence[str] = ()
    folder: Path | None = None
    kind: Kind | None = None
    jobs: int = 1
    force: bool = False
    unsandboxed: bool = False
    shard: Shard = WHOLE
    state: Path | None = None
    address: str | None = None


class Reached(NamedTuple):
    """A verdict, the ``place``-th (from 1) of ``total``."""

    cell: Cell
    place: int
    total: int


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What `embers run` did.

    Attributes:
        counts: verdicts by name.
        gone: open issues whose own case is absent on the newest of these builds, as every other that can be tested.
        alive: issues closed as fixed of which the report's own case occurs on the newest of these builds.
        closed: other closed items of which a case occurs there: declined, for an unknown reason, by a sibling only.
        places: where the verdicts were reached: device, processor, CPU capability and system.
        uncontrolled: which releases would be a control for what was not seen, in one line; empty for none.
    """

    counts: dict[str, int]
    gone: Sequence[str]
    alive: Sequence[str]
    closed: Sequence[str]
    places: Sequence[str] = ()
    uncontrolled: str = ""


def chosen_builds(builds: Registry, names: Sequence[str]) -> list[Build]:
    """The named builds in order of release; the torch of this environment where none is named; ``all`` for all.

    Raises:
        BuildError: one is unknown, or there is none at all.
    """
    if "all" in names:
        chosen = builds.installed()
    elif names:
        chosen = sorted({b.name: b for b in map(builds.find, names)}.values(), key=Build.order)
    else:
        installed = builds.installed()
        chosen = [b for b in installed if b.name == CURRENT] or installed[-1:]
    if not chosen:
        raise BuildError("no build here: `embers builds add VERSION`, or install torch beside embers")
    return chosen


def runnable_here(cases: Sequence[Case], progress: Progress, prove: Callable[[], Proof] = doctor.prove) -> list[Case]:
    """The cases that may run: without a complete sandbox only those that somebody has read before.

    Args:
        cases: the cases.
        progress: is told what is left out.
        prove: says which guarantees hold where runs are made.
    """
    untrusted = [case for case in cases if PROFILES[case.origin] == HOSTILE]
    if not untrusted or prove().complete:
        return list(cases)
    progress.said(f"{len(untrusted)} scripts from issues are not run: the sandbox is not complete, see `embers doctor`")
    return [case for case in cases if PROFILES[case.origin] != HOSTILE]


@contextmanager
def database_for(path: Path | None) -> Iterator[Store]:
    """The database for a folder of cases: the given one, which must exist, or a temporary one."""
    if path is not None:
        store = Store(path)
        with store.read():  # it is there and can be read; the run itself opens it for writing
            pass
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="embers-run-") as folder:
        store = Store(Path(folder) / "embers.duckdb")
        with store.writer("run", create=True) as writer, writer.transaction():
            pass
        yield store


def run_cases(store: Store, settings: Settings, request: RunRequest, progress: Progress) -> Iterator[Reached]:
    """Run cases on builds and keep everything; yield each verdict as it is reached.

    Raises:
        InputError, BuildError, SandboxError, StoreError: as of their makers. Files of ``request.folder`` that are no
            cases are named while the others run; the error comes at the end.
    """
    builds = Registry(settings.builds_dir)
    targets = chosen_builds(builds, request.builds)
    with (
        cluster_at(request.address, request.shard, progress) as cluster,
        states.kept(store, "run", request.state) as writer,
    ):
        shipped.load(writer)
        prove = doctor.prove if cluster is None else cluster.proof
        cases, refused = _cases(store, writer, settings, request, progress, prove)
        executor = Executor(store, writer, Machine(builds, request.unsandboxed, progress), progress)
        sweep = SweepRequest(cases, targets, builds.installed(), request.jobs, shard=request.shard)
        if request.force:
            sweep = executor.afresh(sweep)
        found = executor.sweep(sweep) if cluster is None else _swept(cluster, store, writer, sweep, request, progress)
        with closing(found) as cells:  # whoever stops early: what was reached is written before it is saved
            for place, cell in enumerate(cells, 1):
                yield Reached(cell, place, len(sweep.own) * len(targets))
    if refused:
        raise InputError(f"{len(refused)} files of {request.folder} were not run: they are named above")


@contextmanager
def cluster_at(address: str | None, shard: Shard, progress: Progress) -> Iterator[Cluster | None]:
    """The cluster that is asked for, while the block runs; None where this machine is.

    Raises:
        MissingPackageError: Ray is not installed.
        ClusterError: the cluster cannot be used.
        InputError: a shard of this machine is asked for as well.
    """
    if address is None:
        yield None
        return
    if shard != WHOLE:
        raise InputError("--address has the nodes of a cluster make all shards: leave --shard out")
    packages.require("cluster", "--address needs")
    from torch_embers.run.cluster import connected

    with connected(address, progress) as cluster:
        yield cluster


def _swept(
    cluster: Cluster, store: Store, writer: Writer, sweep: SweepRequest, request: RunRequest, progress: Progress
) -> Generator[Cell]:
    """The verdicts of a sweep whose shards the nodes of a cluster make; what a shard found is kept before."""
    bad = Ledger(store, writer).seen_bad({case.hash for case in sweep.cases})
    controls = control_builds(sweep.cases, sweep.controls, bad).values()
    needed = {build.identity: build for build in (*sweep.builds, *controls)}
    known = states.packed(store, [case.hash for case in sweep.cases])
    plan = SweepPlan(replace(sweep, controls=list(needed.values())), known, request.unsandboxed)
    progress.expects(len(sweep.cases) * len(sweep.builds))
    warn_without_sandbox(cluster.proof(), progress, unsandboxed=request.unsandboxed)
    for cells, files in cluster.run(plan, request.jobs):
        states.merge(writer, files, NO_FOLDER)
        progress.advanced(len(cells))
        yield from cells


def _cases(
    store: Store,
    writer: Writer,
    settings: Settings,
    request: RunRequest,
    progress: Progress,
    prove: Callable[[], Proof],
) -> tuple[list[Case], list[str]]:
    """The cases to run, and a line for each file that is none."""
    refused: list[str] = []
    if request.kind is not None:
        cases = [replace(case, origin="own") for case in shipped_cases(request.kind)]
    elif request.folder is not None:
        cases, refused = bank.read_folder(request.folder)
    elif request.cases:
        return bank.load(store, request.cases, settings.repo), []
    else:
        return runnable_here(bank.load(store), progress, prove), []
    for line in refused:
        progress.said(line)
    if request.cases:
        cases = bank.chosen(cases, request.cases, settings.repo)
    if not cases and refused:
        raise InputError(f"no file of {request.folder} can be run: what is wrong with each is said above")
    if not cases:
        raise InputError(f"{request.folder} holds no case: a case is a .py file with a `# /// script` block")
    bank.add_own(writer, cases)
    return cases, refused


def summary(store: Store, cells: Sequence[Cell]) -> RunSummary:
    """Count verdicts, and name the items whose state in the tracker they contradict."""
    counts = Counter[str](cell.decision.verdict for cell in cells)
    newest = max((cell.build.order() for cell in cells), default=None)
    now = [cell for cell in cells if cell.build.order() == newest]
    with store.read() as connection:
        items = tracked_items(connection)
    named = [[f"{repo}#{n}" for repo, n in sorted(keys)] for keys in contradicted(now, items)]
    places = sorted({cell.place for cell in cells})
    return RunSummary(dict(counts), named[0], named[1], named[2], places, str(Uncontrolled.of(cells)))


def contradicted(
    cells: Sequence[Cell], items: Mapping[ItemKey, Tracked]
) -> tuple[set[ItemKey], set[ItemKey], set[ItemKey]]:
    """The items whose state verdicts on one build contradict, as ``RunSummary`` names them: gone, alive, closed.

    They have a status as in a re-check; an absence has a control that shows the bug, so it occurred before.
    """
    seen: dict[str, list[Verdict]] = {
        cell.case.hash: ["occurs", "absent"] if cell.decision.verdict == "absent" else [cell.decision.verdict]
        for cell in cells
    }
    by_item: dict[ItemKey, set[Status]] = defaultdict(set)
    for (repo, number, _), status in statuses_of([cell.case for cell in cells], items, seen).items():
        by_item[repo, number].add(status)
    gone = {key for key, own in by_item.items() if own - {"untestable_here"} == {"open_but_absent"}}
    alive = {key for key, own in by_item.items() if "closed_but_occurs" in own}
    closed = {key for key, own in by_item.items() if own & {"declined_occurs", "undecided_occurs"}}
    return gone, alive, closed - alive
