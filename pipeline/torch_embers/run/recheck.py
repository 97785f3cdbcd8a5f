"""The periodic re-check: run what is due, derive each item's status, announce what changed since last time.

History is only added to. A status and its announcement are written in one transaction, so that a change is announced
once, however often the re-check is interrupted. Until all that a re-check writes and prints is done the announcement is
marked as not told; a re-check that ends before that leaves it to the next one. What is announced: ``run/events.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from torch_embers.errors import InputError
from torch_embers.normalize import naive_utc
from torch_embers.run import events
from torch_embers.run.batch import control_releases
from torch_embers.run.executor import Executor, SweepRequest, lacks_control
from torch_embers.run.script import Script, script_of
from torch_embers.run.status import CONFIRMED, Tracked, expected_false, statuses_of, tracked_items
from torch_embers.run.usable import Usable
from torch_embers.run.verdict import INJECTED_SHOWS, Rules
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.progress import Progress
    from torch_embers.repro.case import Case
    from torch_embers.run.events import History, Kind
    from torch_embers.run.ledger import Cell
    from torch_embers.run.status import BackendKey, ItemKey, Status
    from torch_embers.run.work import Machine
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

ONLY = ("all", "open", "closed")
_AHEAD = """
SELECT count(*) FILTER (kind = 'verdict'), count(*) FILTER (kind = 'status'), max(moment)
FROM (
    SELECT 'verdict' AS kind, decided_at AS moment FROM verdicts WHERE provenance = 'own' AND decided_at > $now
    UNION ALL
    SELECT 'status', decided_at FROM status_history WHERE provenance = 'own' AND decided_at > $now
)
"""
_UNTOLD = """
SELECT a.repo, a.number, coalesce(i.title, ''), a.backend, h.status, h.previous, a.text, a.kind, a.announced_at
FROM announcements a
LEFT JOIN items i ON i.repo = a.repo AND i.number = a.number
LEFT JOIN status_history h ON h.provenance = 'own' AND h.repo = a.repo AND h.number = a.number
    AND h.backend = a.backend AND h.decided_at = a.announced_at
WHERE NOT a.is_told ORDER BY a.written, a.repo, a.number, a.backend
"""
"""Announcements that nobody was told, with the change of status that was written beside each."""


@dataclass(frozen=True, slots=True)
class RecheckRequest:
    """What a re-check is asked for.

    Attributes:
        only: items in which state.
        reference: the build that statuses speak of.
        builds: all builds to have verdicts on, oldest first; the reference among them.
        every: days after which a verdict on the reference build is due again.
        jobs: runs at a time.
    """

    only: str
    reference: Build
    builds: Sequence[Build]
    every: float
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Change:
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
class Ahead:
    """What the database holds that is dated later than now: a clock was wrong then, or is now.

    Attributes:
        verdicts: own verdicts with such a time: they count as old.
        statuses: changes of statuses with such a time: nobody knows how long ago they were.
        newest: the latest of these times; None where there is none.
    """

    verdicts: int = 0
    statuses: int = 0
    newest: datetime | None = None

    def __str__(self) -> str:
        """Both counts, and what follows, in one line; empty where there is nothing."""
        if self.newest is None:
            return ""
        return (
            f"{self.verdicts} verdicts and {self.statuses} changes of statuses are dated later than now, up to "
            f"{self.newest:%Y-%m-%d %H:%M} UTC: the clock was wrong then, or is now; they do not count as new"
        )


@dataclass(frozen=True, slots=True)
class Uncontrolled:
    """Clean runs that prove nothing, because no build here shows the bug.

    Attributes:
        verdicts: how many verdicts are ``not_seen`` for that reason.
        cases: of how many cases.
        releases: which releases would show the bug, with the number of cases that each adds; as few as will do.
    """

    verdicts: int = 0
    cases: int = 0
    releases: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """What would help, in one line; empty where every clean verdict has a control."""
        if not self.verdicts:
            return ""
        text = f"{self.verdicts} clean verdicts of {self.cases} cases are only not_seen: no build here shows their bug"
        if not self.releases:
            return f"{text}, and no release is known that does"
        known = ", ".join(f"{release} ({count})" for release, count in self.releases.items())
        first = next(iter(self.releases))
        return f"{text}. Releases that are known to, with the cases each adds: {known}; `embers builds add {first}`"


@dataclass(frozen=True, slots=True)
class Recheck:
    """The result of a re-check.

    Attributes:
        counts: items by status, all of them.
        fresh: verdicts that were reached now.
        false_expected: false claims of an absence to expect among the announced ones.
        ahead: what was dated later than now before this re-check.
        left_out: builds that could not be used, each with the reason. Where the reference is among them there are no
            statuses: those of another build would be news that is none.
    """

    reference: Build
    made_at: str
    cells: tuple[Cell, ...]
    changes: tuple[Change, ...]
    counts: Mapping[str, int]
    fresh: int
    false_expected: float
    ahead: Ahead = Ahead()
    left_out: tuple[tuple[Build, str], ...] = ()

    @property
    def uncontrolled(self) -> Uncontrolled:
        """What no build here is a control for."""
        bare = [cell for cell in self.cells if lacks_control(cell)]
        cases = {cell.case.hash: cell.case for cell in bare}
        return Uncontrolled(len(bare), len(cases), control_releases(list(cases.values())))

    @property
    def news(self) -> list[Change]:
        """Changes that are announced."""
        return [change for change in self.changes if change.kind]


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
    rules = Rules.load()
    with store.read() as connection:
        items = tracked_items(connection)
    ahead = dated_ahead(store)
    if str(ahead):
        progress.said(str(ahead))
    chosen = [c for c in cases if any(_is_wanted(items.get(key), request.only) for key in c.issues)]
    executor = Executor(store, writer, machine, progress, rules)
    usable = Usable(executor, progress)
    due = naive_utc() - timedelta(days=request.every)
    cells = _sweep(usable, chosen, request, due)
    known = histories(store)
    statuses = _confirmed(usable, chosen, items, cells, known, request, due)
    if request.reference.identity in usable.left_out:  # some cases were not asked there: others alone mislead
        statuses = {}
    statuses = {key: s for key, s in statuses.items() if _is_wanted(items.get(key[:2]), request.only)}
    moment = naive_utc()
    changes = _changes(known, statuses, items, _of_each_case(cells, chosen), request.reference, moment)
    made_at = moment.isoformat() + "Z"
    changes = _untold(store, statuses, known) + changes
    with writer.transaction() as connection:
        _write(connection, [change for change in changes if change.found_at is None], request.reference, made_at)
    claims = sum(change.kind in CONFIRMED for change in changes)
    return Recheck(
        request.reference,
        made_at,
        tuple(cells),
        tuple(changes),
        dict(Counter(statuses.values())),
        sum(cell.fresh for cell in cells),
        expected_false(claims, rules.miss),
        ahead,
        tuple(usable.left_out.values()),
    )


def _is_wanted(item: Tracked | None, only: str) -> bool:
    return only == "all" or (item is not None and item.state == only)


def _sweep(usable: Usable, cases: Sequence[Case], request: RecheckRequest, due: datetime) -> list[Cell]:
    """Older builds where a verdict is missing, the reference build where it is missing or from before ``due``.

    A released build does not change; what may is the machine, and the control sees that.
    """
    older = [b for b in request.builds if b.identity != request.reference.identity]
    cells = usable.sweep(SweepRequest(cases, older, request.builds, request.jobs)) if older else []
    batch = usable.executor.ledger.open_batch(request.reference, due)
    newest = SweepRequest(cases, [request.reference], request.builds, request.jobs, batch=batch, since=due)
    return cells + usable.sweep(newest)


def _statuses(
    cases: Iterable[Case], items: Mapping[ItemKey, Tracked], cells: Sequence[Cell], reference: Build
) -> dict[BackendKey, Status]:
    """Status by item and backend."""
    by_case: dict[str, list[Cell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda c: c.build.order()):
        if cell.build.order() <= reference.order():
            by_case[cell.case.hash].append(cell)
    verdicts = {
        case: [cell.decision.verdict for cell in seen]
        for case, seen in by_case.items()
        if seen[-1].build.identity == reference.identity
    }
    return statuses_of(cases, items, verdicts)


def _confirmed(
    usable: Usable,
    cases: Sequence[Case],
    items: Mapping[ItemKey, Tracked],
    cells: list[Cell],
    known: Mapping[BackendKey, History],
    request: RecheckRequest,
    due: datetime,
) -> dict[BackendKey, Status]:
    """Statuses, after a second batch since ``due`` for every new claim of an absence that is asked for."""
    statuses = _statuses(cases, items, cells, request.reference)
    wanted = {key: s for key, s in statuses.items() if _is_wanted(items.get(key[:2]), request.only)}
    claimed = {key[:2] for key, s in wanted.items() if s in CONFIRMED and known[key].status != s}
    doubtful = [c for c in cases if claimed & set(c.issues)]
    if not doubtful or request.reference.identity in usable.left_out:
        return statuses
    wanted_again = SweepRequest(doubtful, [request.reference], request.builds, request.jobs)
    second = {cell.case.hash: cell for cell in usable.sweep(usable.executor.confirming(wanted_again, due))}
    for place, cell in enumerate(cells):
        if cell.build.identity == request.reference.identity and cell.case.hash in second:
            cells[place] = replace(second[cell.case.hash], fresh=True)
    return _statuses(cases, items, cells, request.reference)


def _of_each_case(cells: Iterable[Cell], cases: Iterable[Case]) -> list[Cell]:
    """A cell for each case: cases of several items that are the same script were run once, for one of them."""
    same: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        same[case.hash].append(case)
    return [replace(cell, case=case) for cell in cells for case in same.get(cell.case.hash, [cell.case])]


def _changes(
    known: Mapping[BackendKey, History],
    statuses: Mapping[BackendKey, Status],
    items: Mapping[ItemKey, Tracked],
    cells: Sequence[Cell],
    reference: Build,
    moment: datetime,
) -> list[Change]:
    """Statuses that are not what they were, and what flapped and has settled."""
    evidence: dict[BackendKey, list[str]] = defaultdict(list)
    scripts: dict[BackendKey, list[Script]] = defaultdict(list)
    for cell in cells:
        if cell.build.identity == reference.identity:
            for repo, number in cell.case.issues:
                key = (repo, number, cell.case.device)
                evidence[key].append(f"{evidence_line(cell)}, on {cell.place}")
                scripts[key].append(script_of(cell.case.name, cell.case.origin, cell.case.code))
    unknown = Tracked(None)
    limits = events.rules().flapping
    made = [
        Change(
            *key[:2],
            items.get(key[:2], unknown).title,
            key[2],
            status,
            known[key].status,
            tuple(evidence[key]),
            tuple(scripts[key]),
            events.kind_of(known[key], status, moment, limits),
        )
        for key, status in statuses.items()
    ]
    return [change for change in made if change.kind or change.status != change.previous]


def evidence_line(cell: Cell) -> str:
    """A verdict with all it rests on, in one line."""
    made = cell.decision
    parts = [f"{cell.case.name}: {made.verdict} {made.hits}/{made.runs}"]
    if made.flaky:
        parts.append("flaky")
    control = made.control
    if control.kind == "build":
        parts.append(f"control {control.hits}/{control.runs} on {(control.build or '').partition('@')[0]}")
    elif control.kind == "planted":
        parts.append(
            f"the check noticed an injected fault {control.hits}/{control.runs}, which {INJECTED_SHOWS}, "
            "not that this machine could show the bug"
        )
    elif made.verdict != "not_seen":
        parts.append("no control")
    if made.verdict == "not_seen":
        parts.append(
            "the control hits too rarely to show an absence: the bug may still be there"
            if control.kind == "build"
            else "no build here shows the bug: it may still be there"
        )
    if made.detectable_rate is not None:
        parts.append(f"a hit rate above {made.detectable_rate:.2f} would have been noticed")
    return ", ".join(parts) + (f" ({made.detail})" if made.detail else "")


# ---- the database --------------------------------------------------------------------------------------------------


def histories(store: Store) -> defaultdict[BackendKey, History]:
    """What re-checks of this database found and announced, by item and backend, in the order of writing."""
    known: defaultdict[BackendKey, History] = defaultdict(events.History)
    with store.read() as connection:
        found = connection.execute(
            "SELECT repo, number, backend, decided_at, status FROM status_history WHERE provenance = 'own' "
            "ORDER BY written NULLS FIRST, decided_at"
        ).fetchall()
        told = connection.execute(
            "SELECT repo, number, backend, announced_at, kind FROM announcements "
            "ORDER BY written NULLS FIRST, announced_at"
        ).fetchall()
    for repo, number, backend, moment, status in found:
        known[repo, number, backend].statuses.append((moment, status))
    for repo, number, backend, moment, kind in told:
        known[repo, number, backend].announced.append((moment, kind))
    return known


def dated_ahead(store: Store) -> Ahead:
    """What this database holds that is dated later than now."""
    with store.read() as connection:
        [row] = connection.execute(_AHEAD, {"now": naive_utc()}).fetchall()
    return Ahead(*row)


def mark_told(writer: Writer) -> None:
    """Note that everybody who is to know has been told of all announcements.

    Raises:
        StoreError: the database cannot be written.
    """
    with writer.transaction() as connection:
        connection.execute("UPDATE announcements SET is_told = true WHERE NOT is_told")


def _untold(store: Store, statuses: Mapping[BackendKey, Status], known: Mapping[BackendKey, History]) -> list[Change]:
    """What earlier re-checks found and could not tell any more, oldest first."""
    with store.read() as connection:
        rest: list[Any] = connection.execute(_UNTOLD).fetchall()
    made = []
    for repo, number, title, backend, status, previous, text, kind, moment in rest:
        key = repo, number, backend
        now: Any = status or statuses.get(key) or known[key].status  # an item that has settled changed no status
        made.append(Change(*key[:2], title, backend, now, previous, tuple(text.splitlines()), (), kind, moment))
    return made


def _write(connection: duckdb.DuckDBPyConnection, changes: Sequence[Change], reference: Build, moment: str) -> None:
    common = [
        {
            "repo": c.repo,
            "number": c.number,
            "backend": c.backend,
            "reference": reference.identity,
            "status": c.status,
            "previous": c.previous,
            "evidence": "\n".join(c.evidence),
            "decided_at": moment,
            "kind": c.kind,
            "text": "\n".join(c.evidence),
            "announced_at": moment,
            "is_told": False,
            "provenance": "own",
        }
        for c in changes
    ]
    rows.append_numbered(connection, "status_history", [row for row in common if row["status"] != row["previous"]])
    rows.append_numbered(connection, "announcements", [row for row in common if row["kind"]])
