"""What a database knows before a re-check runs anything: read once, so that all is decided against one state of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.builds.registry import environment_of
from torch_embers.cases.shipped_verdicts import ORDER
from torch_embers.normalize import naive_utc
from torch_embers.recheck.events import History
from torch_embers.verdicts.script_status import BACKEND, scripts_that_ran
from torch_embers.verdicts.status import Tracked, tracked_items

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from torch_embers.builds.registry import Build
    from torch_embers.store.store import Store
    from torch_embers.verdicts.status import BackendKey, ItemKey, Status
    from torch_embers.verdicts.verdict import Verdict

_AHEAD = """
SELECT count(*) FILTER (kind = 'verdict'), count(*) FILTER (kind = 'status'), max(moment)
FROM (
    SELECT 'verdict' AS kind, decided_at AS moment FROM verdicts WHERE provenance = 'own' AND decided_at > $now
    UNION ALL
    SELECT 'status', decided_at FROM status_history WHERE provenance = 'own' AND decided_at > $now
)
"""
_HISTORIES = """
SELECT repo, number, backend, false, decided_at, status, written FROM status_history WHERE provenance = 'own'
UNION ALL
SELECT repo, number, backend, true, announced_at, kind, written FROM announcements WHERE kind <> 'flip'
ORDER BY written NULLS FIRST, decided_at
"""
_STATUSES = """
SELECT repo, number, backend, status,
    concat_ws(', derived for ', provenance, split_part(split_part(reference, '@', 1), '+', 1))
FROM statuses
"""
_OLDER = """
SELECT v.case_hash, split_part(b.version, '+', 1), v.verdict
FROM latest_verdicts v JOIN builds b USING (build) JOIN environments e USING (environment)
WHERE e.system = $system AND e.processor = $processor AND coalesce(e.device_name = $device_name, e.device_name IS NULL)
ORDER BY v.provenance <> 'own', list_position($order::VARCHAR[], v.verdict)
"""
"""Verdicts of this machine and of its like: the CPU capability is another one where a build knows no better."""
_OCCURRED = "SELECT DISTINCT case_hash FROM verdicts WHERE verdict = 'occurs'"
_UNTOLD = """
SELECT a.repo, a.number, a.backend, coalesce(i.title, ''), h.status, h.previous, a.text, a.kind, a.announced_at
FROM announcements a
LEFT JOIN items i ON i.repo = a.repo AND i.number = a.number
LEFT JOIN status_history h ON h.provenance = 'own' AND h.repo = a.repo AND h.number = a.number
    AND h.backend = a.backend AND h.decided_at = a.announced_at
WHERE NOT a.is_told ORDER BY a.written, a.repo, a.number, a.backend
"""
"""Announcements that nobody was told, with the change of status that was written beside each."""
_TOLD_OF_BUILD = "SELECT repo, number FROM announcements WHERE reference = ? AND backend = ?"


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
class Snapshot:
    """What a database knows.

    Attributes:
        items: those with a case or a timeline.
        histories: what re-checks of this database found and announced.
        statuses: those that count, each with its provenance and the release that it was derived for.
        older: by case hash and release, verdicts of machines like this one; own ones go before shipped ones.
        occurred: hashes of cases that occurred on any machine.
        scripts: items that no case speaks for and whose scripts ran before.
        untold: rows of ``_UNTOLD``.
        flips: items of which a flip on the reference build was announced.
        ahead: what is dated later than now.
    """

    items: Mapping[ItemKey, Tracked]
    histories: Mapping[BackendKey, History]
    statuses: Mapping[BackendKey, tuple[Status, str]]
    older: Mapping[str, Mapping[str, Verdict]]
    occurred: Collection[str]
    scripts: Collection[ItemKey]
    untold: Sequence[Sequence[Any]]
    flips: Collection[ItemKey]
    ahead: Ahead

    def history(self, key: BackendKey) -> History:
        """What is known of an item on a backend."""
        return self.histories.get(key, History())

    def item(self, key: ItemKey) -> Tracked:
        """An item, as far as the tracker knows it."""
        return self.items.get(key, Tracked(None))


def read(store: Store, reference: Build) -> Snapshot:
    """Read what a re-check against this build rests on.

    Raises:
        StoreError: the database cannot be read.
    """
    where = environment_of(reference, 1)
    machine = {name: where[name] for name in ("system", "processor", "device_name")}
    histories: defaultdict[BackendKey, History] = defaultdict(History)
    older: defaultdict[str, dict[str, Verdict]] = defaultdict(dict)
    with store.read() as connection:
        for repo, number, backend, is_announced, moment, what, _ in connection.execute(_HISTORIES).fetchall():
            history = histories[repo, number, backend]
            (history.announced if is_announced else history.statuses).append((moment, what))
        for case_hash, release, verdict in connection.execute(_OLDER, machine | {"order": list(ORDER)}).fetchall():
            older[case_hash].setdefault(release, verdict)
        [ahead] = connection.execute(_AHEAD, {"now": naive_utc()}).fetchall()
        return Snapshot(
            tracked_items(connection),
            dict(histories),
            {tuple(key): (status, source) for *key, status, source in connection.execute(_STATUSES).fetchall()},
            older,
            {case_hash for (case_hash,) in connection.execute(_OCCURRED).fetchall()},
            scripts_that_ran(connection),
            connection.execute(_UNTOLD).fetchall(),
            set(connection.execute(_TOLD_OF_BUILD, [reference.identity, BACKEND]).fetchall()),
            Ahead(*ahead),
        )
