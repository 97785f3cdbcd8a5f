"""What the commands around runs do: open the database, choose cases and builds, run, hand back what to print."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from torch_embers import packages
from torch_embers.builds.registry import CURRENT, Build, BuildError, Registry
from torch_embers.builds.work import WHOLE, Machine, Shard, warn_without_sandbox
from torch_embers.errors import InputError
from torch_embers.repro import bank, shipped_verdicts
from torch_embers.repro.case import shipped as shipped_cases
from torch_embers.run import events, matrix, notices, reduction, reports, shipped, shipped_mark
from torch_embers.run import state as states
from torch_embers.run.batch import PROFILES, control_builds
from torch_embers.run.executor import Executor, SweepRequest
from torch_embers.run.item_verdict import speaks_of
from torch_embers.run.ledger import Ledger
from torch_embers.run.node import NO_FOLDER, SweepPlan
from torch_embers.run.recheck import Recheck, RecheckRequest, Uncontrolled, mark_told, recheck
from torch_embers.run.status import reported, tracked_items
from torch_embers.sandbox import doctor
from torch_embers.sandbox.policy import HOSTILE
from torch_embers.store import lock
from torch_embers.store.store import Store
from torch_embers.timeline import item_script, stored

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case, Kind
    from torch_embers.run.cluster import Cluster
    from torch_embers.run.ledger import Cell
    from torch_embers.run.reduction import Reduction
    from torch_embers.run.status import ItemKey, Tracked
    from torch_embers.run.verdict import Verdict
    from torch_embers.sandbox.proof import Proof
    from torch_embers.settings import Settings
    from torch_embers.store.writer import Writer


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

    As in a status, only a case that is the report's own speaks of an item, and an absence needs all that can be tested.
    """
    seen: dict[ItemKey, set[Verdict]] = defaultdict(set)
    own: dict[ItemKey, set[Verdict]] = defaultdict(set)
    for cell in cells:
        for key in reported(cell.case, items):
            if (verdict := cell.decision.verdict) == "untestable" or key not in items:
                continue
            seen[key].add(verdict)
            if speaks_of(cell.case.relations.get(key), cell.case.origin) == "report":
                own[key].add(verdict)
    alive = {key for key in own if items[key].was_fixed and "occurs" in own[key]}
    closed = {key for key in seen if items[key].state == "closed" and "occurs" in seen[key]}
    gone = {key for key in own if items[key].state == "open" and items[key].is_claimable and seen[key] == {"absent"}}
    return gone, alive, closed - alive


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
        with store.read() as connection:
            has_shipped = shipped_mark.is_noted(connection)
        if not has_shipped:
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
    reports.write(out / "recheck.atom", notices.feed(known))


def minimize_script(store: Store, settings: Settings, number: int, build: str | None, progress: Progress) -> Reduction:
    """Make the script of a report small, and keep the result.

    Raises:
        InputError: the report has no script, or its script no flip and no build is named.
        MinimizeError: there is nothing to keep here, or the small text does not keep it.
    """
    registry = Registry(settings.builds_dir)
    named = chosen_builds(registry, [build])[-1:] if build else []
    with store.writer("minimize") as writer:
        with store.read() as connection:
            item = item_script.of_report(connection, settings.repo, number)
            timeline = stored.timeline_of(connection, settings.repo, number)
        builds = named or reduction.sides_of(timeline, registry.installed())
        if not builds:
            raise InputError(
                f"{item.name} has no known flip with a build on each side here: `embers run {number}` looks for one, "
                "--build NAME keeps what the script does on one build"
            )
        with ExitStack() as held:
            for one in builds:
                held.enter_context(registry.using(one))
            made = reduction.reduce_on(item, builds, progress)
        with writer.transaction() as connection:
            reduction.write(connection, made)
    return made


def save_matrix(
    store: Store, csv: Path | None, junit: Path | None, jsonl: Path | None, *, only_own: bool = False
) -> list[matrix.Entry]:
    """Read the matrix, or that of own runs, and write it to the files that are asked for.

    Raises:
        InputError: no verdict yet, or a file cannot be written.
    """
    entries = [entry for entry in matrix.entries(store) if not only_own or entry.provenance == matrix.OWN]
    if not entries:
        raise InputError("no verdicts yet: `embers mine` brings the shipped ones, `embers run` makes more")
    forms = (
        (csv, matrix.as_csv(entries).encode()),
        (junit, matrix.as_junit(entries)),
        (jsonl, matrix.as_json_lines(entries)),
    )
    for path, content in forms:
        if path is not None:
            reports.write(path, content)
    return entries


def add_to_file(entries: Sequence[matrix.Entry], path: Path) -> list[matrix.Entry]:
    """Add verdicts to a file of verdicts.

    Returns:
        Verdicts of a former text of a shipped case: they say nothing of the case and are not added.

    Raises:
        InputError: the file is no file of verdicts or cannot be written.
        StoreError: another process adds to it.
    """
    present = {case.name: case.hash for case in shipped_cases(None)}
    fresh: list[matrix.Entry] = []
    former: list[matrix.Entry] = []
    for entry in entries:
        (fresh if present.get(entry.case, entry.case_hash) == entry.case_hash else former).append(entry)
    try:
        place = path.resolve(strict=True)
        with lock.writer_lock(place, "embers list --matrix --add-to"):
            before = shipped_verdicts.parse(place.read_text(encoding="utf-8"), str(path))
            reports.write(place, matrix.as_csv(fresh, before).encode())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--add-to {path}: {error}; `embers list --matrix --csv` makes such a file") from error
    return former
