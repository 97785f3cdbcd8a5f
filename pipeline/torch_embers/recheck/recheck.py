"""The periodic re-check: run what is due, derive each item's status, announce what changed since last time.

What the database knows is read once (``recheck/snapshot.py``), then the runs are made, then all is decided (``decide``,
pure), and statuses and announcements are written in one transaction, so that a change is announced once, however often
the re-check is interrupted. Until all that a re-check writes and prints is done the announcement is marked as not told;
a re-check that ends before that leaves it to the next one. What is announced: ``recheck/events.py``.

Where no case speaks for an item, the script of its report does: it runs on the builds that it lacks, and what it does
is compared (``verdicts/script_status.py``).

A status rests on all that is known: the runs of now, stored verdicts of this processor on older releases, shipped ones
among them, and what controls showed. That a bug is gone stays known until a run shows otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from torch_embers.builds.registry import BuildError
from torch_embers.errors import InputError, SandboxError
from torch_embers.normalize import naive_utc
from torch_embers.recheck import events, snapshot
from torch_embers.recheck.broken_builds import Usable
from torch_embers.recheck.snapshot import Ahead
from torch_embers.statistics.absence import AbsenceRules
from torch_embers.store import rows
from torch_embers.verdicts.executor import Executor, SweepRequest, Uncontrolled
from torch_embers.verdicts.matrix import version_key
from torch_embers.verdicts.script_excerpt import Script, script_of
from torch_embers.verdicts.script_status import BACKEND, run_on
from torch_embers.verdicts.status import ABSENT, CONFIRMED, expected_false, statuses_of
from torch_embers.verdicts.verdict import shown_fault, why_unseen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.cases.case import Case
    from torch_embers.progress import Progress
    from torch_embers.recheck.events import Kind
    from torch_embers.recheck.snapshot import Snapshot
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.ledger import Cell
    from torch_embers.verdicts.script_status import ScriptStatus
    from torch_embers.verdicts.status import BackendKey, ItemKey, Status, Tracked
    from torch_embers.verdicts.verdict import Verdict

ONLY = ("all", "open", "closed")


@dataclass(frozen=True, slots=True)
class RecheckRequest:
    """What a re-check is asked for.

    Attributes:
        only: items in which state.
        reference: the build that statuses speak of.
        builds: all builds to have verdicts on, oldest first; the reference among them.
        controls: builds on which controls may run.
        every: days after which a verdict on the reference build is due again.
        jobs: runs at a time.
    """

    only: str
    reference: Build
    builds: Sequence[Build]
    controls: Sequence[Build]
    every: float
    jobs: int = 1

    def wants(self, item: Tracked | None) -> bool:
        """Whether it asks for an item; None is one that the tracker does not know."""
        return self.only == "all" or (item is not None and item.state == self.only)


@dataclass(frozen=True, slots=True)
class StatusChange:
    """A status that is not what it was, or that is announced.

    Attributes:
        evidence: one line per case: verdict, k/n, control, detectable rate, processor and its capability.
        scripts: what ran, of each of these cases.
        kind: what is announced of it; None for nothing.
        found_at: when an earlier re-check found it that ended before it could tell; None where this one did.
    """

    repo: str
    number: int
    title: str
    backend: str
    status: Status
    previous: str | None
    evidence: tuple[str, ...]
    scripts: tuple[Script, ...] = ()
    kind: Kind | None = None
    found_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """A status of before that stays, because what ran now does not decide.

    Attributes:
        source: own or shipped, and the release that it was derived for.
        reason: why it is not decided now.
    """

    status: Status
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Recheck:
    """The result of a re-check.

    Attributes:
        counts: items by status, all of them.
        fresh: verdicts that were reached now, `untestable` not counted.
        false_expected: false claims of an absence to expect among the announced ones.
        ahead: what was dated later than now before this re-check.
        left_out: builds that could not be used, each with the reason. Where the reference is among them there are no
            statuses: those of another build would be news that is none.
        kept: statuses of before that stay, by item and backend; they are counted, too.
        is_first: whether the database held no status of an earlier re-check.
    """

    reference: Build
    made_at: str
    cells: tuple[Cell, ...]
    changes: tuple[StatusChange, ...]
    counts: Mapping[str, int]
    fresh: int
    false_expected: float
    ahead: Ahead = field(default_factory=Ahead)
    left_out: tuple[tuple[Build, str], ...] = ()
    kept: Mapping[BackendKey, Kept] = field(default_factory=dict)
    is_first: bool = False

    @property
    def quiet(self) -> str:
        """What is said where nothing is announced."""
        if self.is_first:
            return "nothing to announce: this database holds no status of an earlier re-check to compare with"
        return "nothing changed since the last re-check"

    @property
    def undecided(self) -> str:
        """How many statuses stay as they were, whose they are, and why, in one line; empty where none does."""
        counted = Counter((one.status, one.source, one.reason) for one in self.kept.values()).most_common()
        parts = ", ".join(f"{count} {status} ({source}; {reason})" for (status, source, reason), count in counted)
        return f"not decided now, these keep their status: {parts}" if parts else ""

    @property
    def items(self) -> str:
        """Items by status, in one line, with how many of them were not decided now."""
        left = Counter[str](one.status for one in self.kept.values())
        return ", ".join(
            f"{count} {status}" + (f" ({left[status]} not decided now)" if status in left else "")
            for status, count in sorted(self.counts.items())
        )

    @property
    def uncontrolled(self) -> Uncontrolled:
        """What no build here is a control for."""
        return Uncontrolled.of(self.cells)

    @property
    def news(self) -> list[StatusChange]:
        """Changes that are announced."""
        return [change for change in self.changes if change.kind]


@dataclass(frozen=True, slots=True)
class Ran:
    """What ran, or was known of these builds.

    Attributes:
        cells: verdicts of the cases.
        statuses: of their items; none where the reference build cannot be used.
        scripts: what the scripts of reports say of items without a case.
        left_out: builds that could not be used, each with the reason.
    """

    cases: Sequence[Case]
    cells: Sequence[Cell]
    statuses: Mapping[BackendKey, Status]
    scripts: Mapping[ItemKey, ScriptStatus]
    left_out: Sequence[tuple[Build, str]]


def recheck(
    store: Store,
    writer: Writer,
    machine: Machine,
    cases: Sequence[Case],
    request: RecheckRequest,
    progress: Progress,
) -> Recheck:
    """Run what is due, derive statuses, write what changed, and return it; builds that cannot be used are left out.

    Raises:
        InputError: ``only`` is none of ``ONLY``.
        BuildError: no build can be used.
        SandboxError, StoreError: as ``Executor.sweep``.
    """
    if request.only not in ONLY:
        raise InputError(f"--only {request.only}: use {', '.join(ONLY)}")
    known = snapshot.read(store, request.reference)
    if str(known.ahead):
        progress.said(str(known.ahead))
    chosen = [case for case in cases if any(request.wants(known.items.get(key)) for key in case.issues)]
    usable = Usable(Executor(store, writer, machine, progress), progress)
    cells, statuses = _swept(usable, known, chosen, request)
    scripts: Mapping[ItemKey, ScriptStatus] = {}
    if request.reference.identity in usable.left_out:  # some cases were not asked there: others alone mislead
        statuses = {}
    else:
        wanted = {key: item for key, item in known.items.items() if key in known.scripts and request.wants(item)}
        builds = [build for build in request.builds if build.identity not in usable.left_out]
        try:
            scripts = run_on(store, writer, machine, wanted, builds, request.jobs, progress)
        except SandboxError as error:
            progress.said(f"the scripts of reports are not run: {error}")
    result = decide(known, request, Ran(chosen, cells, statuses, scripts, list(usable.left_out.values())), naive_utc())
    with writer.transaction() as connection:
        _write(connection, result)
    return result


def mark_told(writer: Writer) -> None:
    """Note that everybody who is to know has been told of all announcements.

    Raises:
        StoreError: the database cannot be written.
    """
    with writer.transaction() as connection:
        connection.execute("UPDATE announcements SET is_told = true WHERE NOT is_told")


# ---- the runs ------------------------------------------------------------------------------------------------------


def _swept(
    usable: Usable, known: Snapshot, cases: Sequence[Case], request: RecheckRequest
) -> tuple[list[Cell], dict[BackendKey, Status]]:
    """Verdicts and statuses: older builds where a verdict is missing, the reference build where it is missing or due.

    A released build does not change; what may is the machine, and the control sees that. Every new claim of an absence
    that is asked for gets a second batch of runs on the reference build.

    Raises:
        BuildError: no build can be used.
    """
    reference, due = request.reference, naive_utc() - timedelta(days=request.every)
    asked = SweepRequest(cases, [reference], request.controls, request.jobs)
    older = [build for build in request.builds if build.identity != reference.identity]
    cells = usable.sweep(replace(asked, builds=older)) if older else []
    cells += usable.sweep(replace(asked, batch=usable.executor.ledger.open_batch(reference, due), since=due))
    if all(build.identity in usable.left_out for build in request.builds):
        raise BuildError(usable.left_out[reference.identity][1])
    statuses = _statuses(known, cases, cells, reference)
    claimed = {
        key[:2]
        for key, status in statuses.items()
        if status in CONFIRMED and known.history(key).status != status and request.wants(known.items.get(key[:2]))
    }
    doubtful = [case for case in cases if claimed & set(case.issues)]
    if not doubtful or reference.identity in usable.left_out:
        return cells, statuses
    again = usable.sweep(usable.executor.confirming(replace(asked, cases=doubtful), due))
    second = {cell.case.hash: replace(cell, fresh=True) for cell in again}
    cells = [second.get(cell.case.hash, cell) if cell.build.identity == reference.identity else cell for cell in cells]
    return cells, _statuses(known, cases, cells, reference)


# ---- the decision --------------------------------------------------------------------------------------------------


def decide(known: Snapshot, request: RecheckRequest, ran: Ran, moment: datetime) -> Recheck:
    """What follows from what was known and what ran. Pure.

    Args:
        known: before the runs.
        request: what is asked for.
        ran: the runs.
        moment: now (UTC, naive).
    """
    statuses = {key: status for key, status in ran.statuses.items() if request.wants(known.items.get(key[:2]))}
    here = _by_item(ran.cells, ran.cases, request.reference)
    kept = _kept(known, statuses, here)
    derived = {key: status for key, status in statuses.items() if key not in kept}
    changes = (
        *_untold(known, statuses),
        *_changes(known, derived, here, moment),
        *_script_changes(known, ran.scripts, request.reference, moment),
    )
    of_scripts = [own.status for own in ran.scripts.values() if own.status]
    return Recheck(
        request.reference,
        moment.isoformat() + "Z",
        tuple(ran.cells),
        changes,
        dict(Counter([*derived.values(), *(one.status for one in kept.values()), *of_scripts])),
        sum(cell.fresh and cell.decision.verdict != "untestable" for cell in ran.cells),
        expected_false(sum(change.kind in CONFIRMED for change in changes), AbsenceRules.load().miss),
        known.ahead,
        tuple(ran.left_out),
        kept,
        is_first=not known.histories,
    )


def _statuses(
    known: Snapshot, cases: Sequence[Case], cells: Iterable[Cell], reference: Build
) -> dict[BackendKey, Status]:
    """Status by item and backend."""
    by_case: dict[str, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda c: c.build.order()):
        if cell.build.order() <= reference.order():
            by_case[cell.case.hash].append(cell)
    verdicts = {
        case: _series(seen, known.older.get(case, {}))
        for case, seen in by_case.items()
        if seen[-1].build.identity == reference.identity
    }
    return statuses_of(cases, known.items, verdicts, known.occurred)


def _series(cells: Sequence[Cell], older: Mapping[str, Verdict]) -> list[Verdict]:
    """The verdicts of a case by release, that of the last cell last.

    Args:
        cells: verdicts on the builds that were asked for, oldest first.
        older: by release, what is known beside them.
    """
    known = {version_key(release): verdict for release, verdict in older.items()}
    for cell in cells:
        control = cell.decision.control.build
        if cell.decision.verdict == "absent" and control:  # an absence rests on a build that showed the bug
            known[version_key(control.partition("@")[0].partition("+")[0])] = "occurs"
    asked = {version_key(cell.build.public_version) for cell in cells}
    last = max(asked)
    series = [(version, verdict) for version, verdict in known.items() if version < last and version not in asked]
    series += [(cell.build.order()[0], cell.decision.verdict) for cell in cells]
    return [verdict for _, verdict in sorted(series, key=itemgetter(0))]


def _by_item(cells: Iterable[Cell], cases: Iterable[Case], reference: Build) -> dict[BackendKey, list[Cell]]:
    """The cells of the reference build by item and backend; cases that are the same script were run once for all."""
    same: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        same[case.hash].append(case)
    here: dict[BackendKey, list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell.build.identity == reference.identity:
            for case in same[cell.case.hash]:
                for repo, number in case.issues:
                    here[repo, number, case.device].append(replace(cell, case=case))
    return here


def _kept(
    known: Snapshot, statuses: Mapping[BackendKey, Status], here: Mapping[BackendKey, Sequence[Cell]]
) -> dict[BackendKey, Kept]:
    """Absences that are known, own or shipped, where no run of now says otherwise and none shows them anew."""
    made = {}
    for key, status in statuses.items():
        verdicts = {cell.decision.verdict for cell in here[key]}
        is_open = status in ("undecided", "never_reproduced", "untestable_here")
        before, source = known.statuses.get(key, ("undecided", ""))
        if is_open and before in ABSENT and verdicts <= {"absent", "not_seen", "untestable"}:
            clean = [cell.decision.control.kind for cell in here[key] if cell.decision.verdict == "not_seen"]
            made[key] = Kept(before, source, why_unseen(max(clean)) if clean else "a case cannot be tested here")
    return made


def _untold(known: Snapshot, statuses: Mapping[BackendKey, Status]) -> list[StatusChange]:
    """What earlier re-checks found and could not tell any more, oldest first."""
    made = []
    for *key, title, status, previous, text, kind, moment in known.untold:
        repo, number, backend = key
        # an item that has settled changed no status, and one whose script flipped may have none
        now: Any = status or statuses.get((repo, number, backend)) or known.history((repo, number, backend)).status
        evidence = tuple(text.splitlines())
        made.append(
            StatusChange(repo, number, title, backend, now or "undecided", previous, evidence, (), kind, moment)
        )
    return made


def _changes(
    known: Snapshot,
    statuses: Mapping[BackendKey, Status],
    here: Mapping[BackendKey, Sequence[Cell]],
    moment: datetime,
) -> list[StatusChange]:
    """Statuses that are not what they were, and what flapped and has settled."""
    limits = events.rules().flapping
    made = [
        StatusChange(
            *key[:2],
            known.item(key[:2]).title,
            key[2],
            status,
            known.history(key).status,
            tuple(f"{evidence_line(cell)}, on {cell.place}" for cell in here[key]),
            tuple(script_of(cell.case.name, cell.case.origin, cell.case.code) for cell in here[key]),
            events.kind_of(known.history(key), status, moment, limits),
        )
        for key, status in statuses.items()
    ]
    return [change for change in made if change.kind or change.status != change.previous]


def _script_changes(
    known: Snapshot, scripts: Mapping[ItemKey, ScriptStatus], reference: Build, moment: datetime
) -> list[StatusChange]:
    """Statuses of scripts that are not what they were, and flips at the reference build of which nothing was told."""
    limits = events.rules().flapping
    made = []
    for key, own in scripts.items():
        history = known.history((*key, BACKEND))
        status = own.status or "undecided"
        kind = events.kind_of(history, status, moment, limits)
        if kind is None and key not in known.flips and own.flips_at(reference.public_version):
            kind = "flip"
        previous = history.status
        if kind or (status != previous and (own.status or previous)):
            made.append(StatusChange(*key, known.item(key).title, BACKEND, status, previous, (own.evidence,), (), kind))
    return made


def evidence_line(cell: Cell) -> str:
    """A verdict with all it rests on, in one line."""
    made = cell.decision
    parts = [f"{cell.case.name}: {made.verdict} {made.hits}/{made.runs}"]
    if made.flaky:
        parts.append("flaky")
    control = made.control
    if control.kind == "build":
        parts.append(f"control {control.hits}/{control.runs} on {(control.build or '').partition('@')[0]}")
    elif control.kind == "injected":
        parts.append(shown_fault(made.verdict, control.hits, control.runs))
    elif made.verdict != "not_seen":
        parts.append("no control")
    if made.verdict == "not_seen":
        parts.append(f"{why_unseen(control.kind)}: it may still be there")
    if made.detectable_rate is not None:
        parts.append(f"a hit rate above {made.detectable_rate:.2f} would have been noticed")
    return ", ".join(parts) + (f" ({made.detail})" if made.detail else "")


# ---- the database --------------------------------------------------------------------------------------------------


def _write(connection: duckdb.DuckDBPyConnection, result: Recheck) -> None:
    """Write the changes that this re-check found, each with its announcement."""
    common = [
        {
            "repo": c.repo,
            "number": c.number,
            "backend": c.backend,
            "reference": result.reference.identity,
            "status": c.status,
            "previous": c.previous,
            "evidence": "\n".join(c.evidence),
            "decided_at": result.made_at,
            "kind": c.kind,
            "text": "\n".join(c.evidence),
            "announced_at": result.made_at,
            "is_told": False,
            "provenance": "own",
        }
        for c in result.changes
        if c.found_at is None
    ]
    without = ("flip", None, "undecided")  # of a script that never decided a status there is none to write
    fresh = [
        row
        for row in common
        if row["status"] != row["previous"] and (row["kind"], row["previous"], row["status"]) != without
    ]
    rows.append_numbered(connection, "status_history", fresh)
    rows.append_numbered(connection, "announcements", [row for row in common if row["kind"]])
