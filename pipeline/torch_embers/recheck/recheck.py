"""The periodic re-check: run what is due, derive each item's status, announce what changed since last time.

History is only added to. A status and its announcement are written in one transaction, so that a change is announced
once, however often the re-check is interrupted. Until all that a re-check writes and prints is done the announcement is
marked as not told; a re-check that ends before that leaves it to the next one. What is announced: ``recheck/events.py``.

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

from torch_embers.builds.registry import BuildError, environment_of
from torch_embers.errors import InputError, SandboxError
from torch_embers.normalize import naive_utc
from torch_embers.cases.shipped_verdicts import ORDER
from torch_embers.recheck import events
from torch_embers.verdicts.batch import control_releases
from torch_embers.verdicts.executor import Uncontrolled, Executor, SweepRequest, lacks_control
from torch_embers.verdicts.matrix import version_key
from torch_embers.verdicts.script_excerpt import Script, script_of
from torch_embers.verdicts.script_status import BACKEND, run_on
from torch_embers.verdicts.status import ABSENT, CONFIRMED, Tracked, expected_false, statuses_of, tracked_items
from torch_embers.recheck.broken_builds import Usable
from torch_embers.verdicts.verdict import shown_fault, why_unseen
from torch_embers.statistics.absence import Rules
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    import duckdb

    from torch_embers.builds.registry import Build
    from torch_embers.builds.work import Machine
    from torch_embers.progress import Progress
    from torch_embers.cases.case import Case
    from torch_embers.recheck.events import History, Kind
    from torch_embers.verdicts.ledger import Cell
    from torch_embers.verdicts.script_status import ScriptStatus
    from torch_embers.verdicts.status import BackendKey, ItemKey, Status
    from torch_embers.verdicts.verdict import Verdict
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
_TOLD_OF_BUILD = "SELECT repo, number FROM announcements WHERE reference = ? AND backend = ?"
_STATUSES = """
SELECT repo, number, backend, status,
    concat_ws(', derived for ', provenance, split_part(split_part(reference, '@', 1), '+', 1))
FROM statuses
"""
"""The statuses that count, each with its provenance and the release that it was derived for."""
_OLDER = """
SELECT v.case_hash, split_part(b.version, '+', 1), v.verdict
FROM latest_verdicts v JOIN builds b USING (build) JOIN environments e USING (environment)
WHERE e.system = $system AND e.processor = $processor AND coalesce(e.device_name = $device_name, e.device_name IS NULL)
ORDER BY v.provenance <> 'own', list_position($order::VARCHAR[], v.verdict)
"""
"""Verdicts of this machine and of its like: the CPU capability is another one where a build knows no better."""


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
class _Known:
    """What statuses rest on beside the cells of now: cases, items, and verdicts that the database holds.

    Attributes:
        older: by case hash and release, verdicts of machines like this one, shipped ones among them.
        occurred: hashes of cases that occurred on any machine.
    """

    cases: Sequence[Case]
    items: Mapping[ItemKey, Tracked]
    older: Mapping[str, Mapping[str, Verdict]]
    occurred: frozenset[str]

    def statuses(self, cells: Iterable[Cell], reference: Build) -> dict[BackendKey, Status]:
        """Status by item and backend."""
        by_case: dict[str, list[Cell]] = defaultdict(list)
        for cell in sorted(cells, key=lambda c: c.build.order()):
            if cell.build.order() <= reference.order():
                by_case[cell.case.hash].append(cell)
        verdicts = {
            case: _series(seen, self.older.get(case, {}))
            for case, seen in by_case.items()
            if seen[-1].build.identity == reference.identity
        }
        return statuses_of(self.cases, self.items, verdicts, self.occurred)


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
    changes: tuple[Change, ...]
    counts: Mapping[str, int]
    fresh: int
    false_expected: float
    ahead: Ahead = Ahead()
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
    if all(build.identity in usable.left_out for build in request.builds):
        raise BuildError(usable.left_out[request.reference.identity][1])
    earlier = histories(store)
    is_first = not earlier
    known = _known(store, chosen, items, cells, request.reference)
    statuses = _confirmed(usable, known, cells, earlier, request, due)
    if request.reference.identity in usable.left_out:  # some cases were not asked there: others alone mislead
        statuses = {}
    scripts = _scripts(usable, store, writer, machine, items, request, progress)
    statuses = {key: s for key, s in statuses.items() if _is_wanted(items.get(key[:2]), request.only)}
    here = _by_item(cells, chosen, request.reference)
    kept = _kept(store, statuses, here)
    moment = naive_utc()
    derived = {key: status for key, status in statuses.items() if key not in kept}
    changes = _changes(earlier, derived, items, here, moment)
    made_at = moment.isoformat() + "Z"
    changes += _script_changes(store, earlier, scripts, items, request.reference, moment)
    changes = _untold(store, statuses, earlier) + changes
    with writer.transaction() as connection:
        _write(connection, [change for change in changes if change.found_at is None], request.reference, made_at)
    claims = sum(change.kind in CONFIRMED for change in changes)
    return Recheck(
        request.reference,
        made_at,
        tuple(cells),
        tuple(changes),
        dict(Counter([*derived.values(), *(one.status for one in kept.values()), *_decided(scripts)])),
        sum(cell.fresh and cell.decision.verdict != "untestable" for cell in cells),
        expected_false(claims, rules.miss),
        ahead,
        tuple(usable.left_out.values()),
        kept,
        is_first,
    )


def _scripts(
    usable: Usable,
    store: Store,
    writer: Writer,
    machine: Machine,
    items: Mapping[ItemKey, Tracked],
    request: RecheckRequest,
    progress: Progress,
) -> dict[ItemKey, ScriptStatus]:
    """What the scripts of reports say of the items that are asked for and have no case; one more build each."""
    if request.reference.identity in usable.left_out:
        return {}
    asked = {key: item for key, item in items.items() if _is_wanted(item, request.only)}
    builds = [build for build in request.builds if build.identity not in usable.left_out]
    try:
        return run_on(store, writer, machine, asked, builds, request.jobs, progress)
    except SandboxError as error:
        progress.said(f"the scripts of reports are not run: {error}")
        return {}


def _decided(scripts: Mapping[ItemKey, ScriptStatus]) -> list[Status]:
    return [own.status for own in scripts.values() if own.status]


def _script_changes(
    store: Store,
    known: Mapping[BackendKey, History],
    scripts: Mapping[ItemKey, ScriptStatus],
    items: Mapping[ItemKey, Tracked],
    reference: Build,
    moment: datetime,
) -> list[Change]:
    """Statuses of scripts that are not what they were, and flips at the reference build of which nothing was told."""
    limits = events.rules().flapping
    with store.read() as connection:
        told = set(connection.execute(_TOLD_OF_BUILD, [reference.identity, BACKEND]).fetchall())
    made = []
    for key, own in scripts.items():
        history = known[*key, BACKEND]
        status = own.status or "undecided"
        kind = events.kind_of(history, status, moment, limits)
        if kind is None and key not in told and own.flips_at(reference.public_version):
            kind = "flip"
        previous = history.status
        if kind or (status != previous and (own.status or previous)):
            made.append(Change(*key, items[key].title, BACKEND, status, previous, (own.evidence,), (), kind))
    return made


def _is_wanted(item: Tracked | None, only: str) -> bool:
    return only == "all" or (item is not None and item.state == only)


def _sweep(usable: Usable, cases: Sequence[Case], request: RecheckRequest, due: datetime) -> list[Cell]:
    """Older builds where a verdict is missing, the reference build where it is missing or from before ``due``.

    A released build does not change; what may is the machine, and the control sees that.
    """
    older = [b for b in request.builds if b.identity != request.reference.identity]
    cells = usable.sweep(SweepRequest(cases, older, request.controls, request.jobs)) if older else []
    batch = usable.executor.ledger.open_batch(request.reference, due)
    newest = SweepRequest(cases, [request.reference], request.controls, request.jobs, batch=batch, since=due)
    return cells + usable.sweep(newest)


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


def _known(
    store: Store, cases: Sequence[Case], items: Mapping[ItemKey, Tracked], cells: Sequence[Cell], reference: Build
) -> _Known:
    """What is stored beside these cells; of a release, own verdicts go before shipped ones."""
    where = next((cell.where for cell in cells if cell.where), None) or environment_of(reference, 1)
    asked = {name: where[name] for name in ("system", "processor", "device_name")}
    older: dict[str, dict[str, Verdict]] = defaultdict(dict)
    with store.read() as connection:
        for case_hash, release, verdict in connection.execute(_OLDER, {**asked, "order": list(ORDER)}).fetchall():
            older[case_hash].setdefault(release, verdict)
        occurred = connection.execute("SELECT DISTINCT case_hash FROM verdicts WHERE verdict = 'occurs'").fetchall()
    return _Known(cases, items, older, frozenset(case_hash for [case_hash] in occurred))


def _confirmed(
    usable: Usable,
    known: _Known,
    cells: list[Cell],
    earlier: Mapping[BackendKey, History],
    request: RecheckRequest,
    due: datetime,
) -> dict[BackendKey, Status]:
    """Statuses, after a second batch since ``due`` for every new claim of an absence that is asked for."""
    statuses = known.statuses(cells, request.reference)
    claimed = {
        key[:2]
        for key, s in statuses.items()
        if s in CONFIRMED and earlier[key].status != s and _is_wanted(known.items.get(key[:2]), request.only)
    }
    doubtful = [c for c in known.cases if claimed & set(c.issues)]
    if not doubtful or request.reference.identity in usable.left_out:
        return statuses
    wanted_again = SweepRequest(doubtful, [request.reference], request.controls, request.jobs)
    second = {cell.case.hash: cell for cell in usable.sweep(usable.executor.confirming(wanted_again, due))}
    for place, cell in enumerate(cells):
        if cell.build.identity == request.reference.identity and cell.case.hash in second:
            cells[place] = replace(second[cell.case.hash], fresh=True)
    return known.statuses(cells, request.reference)


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
    store: Store, statuses: Mapping[BackendKey, Status], here: Mapping[BackendKey, Sequence[Cell]]
) -> dict[BackendKey, Kept]:
    """Absences that are known, own or shipped, where no run of now says otherwise and none shows them anew."""
    with store.read() as connection:
        rows_of = connection.execute(_STATUSES).fetchall()
    known = {tuple(key): (status, source) for *key, status, source in rows_of}
    made = {}
    for key, status in statuses.items():
        verdicts = {cell.decision.verdict for cell in here[key]}
        is_open = status in ("undecided", "never_reproduced", "untestable_here")
        before, source = known.get(key, ("", ""))
        if is_open and before in ABSENT and verdicts <= {"absent", "not_seen", "untestable"}:
            clean = [cell.decision.control.kind for cell in here[key] if cell.decision.verdict == "not_seen"]
            made[key] = Kept(before, source, why_unseen(max(clean)) if clean else "a case cannot be tested here")
    return made


def _changes(
    known: Mapping[BackendKey, History],
    statuses: Mapping[BackendKey, Status],
    items: Mapping[ItemKey, Tracked],
    here: Mapping[BackendKey, Sequence[Cell]],
    moment: datetime,
) -> list[Change]:
    """Statuses that are not what they were, and what flapped and has settled."""
    unknown = Tracked(None)
    limits = events.rules().flapping
    made = [
        Change(
            *key[:2],
            items.get(key[:2], unknown).title,
            key[2],
            status,
            known[key].status,
            tuple(f"{evidence_line(cell)}, on {cell.place}" for cell in here[key]),
            tuple(script_of(cell.case.name, cell.case.origin, cell.case.code) for cell in here[key]),
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


def histories(store: Store) -> defaultdict[BackendKey, History]:
    """What re-checks of this database found and announced, by item and backend, in the order of writing."""
    known: defaultdict[BackendKey, History] = defaultdict(events.History)
    with store.read() as connection:
        found = connection.execute(
            "SELECT repo, number, backend, decided_at, status FROM status_history WHERE provenance = 'own' "
            "ORDER BY written NULLS FIRST, decided_at"
        ).fetchall()
        told = connection.execute(
            "SELECT repo, number, backend, announced_at, kind FROM announcements WHERE kind <> 'flip' "
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
        # an item that has settled changed no status, and one whose script flipped may have none
        now: Any = status or statuses.get(key) or known[key].status or "undecided"
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
    fresh = [row for row in common if row["status"] != row["previous"] and not _is_bare_flip(row)]
    rows.append_numbered(connection, "status_history", fresh)
    rows.append_numbered(connection, "announcements", [row for row in common if row["kind"]])


def _is_bare_flip(row: Mapping[str, Any]) -> bool:
    """Whether a script flipped that never decided a status: there is none to write."""
    return row["kind"] == "flip" and row["previous"] is None and row["status"] == "undecided"
