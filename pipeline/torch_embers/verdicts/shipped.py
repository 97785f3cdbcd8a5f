"""What comes with embers, brought into a database: cases, verdicts, statuses, timelines, facts about fix tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.cases import bank, shipped_fix_tests, shipped_verdicts
from torch_embers.cases.case import DEVICES
from torch_embers.cases.shipped_verdicts import PROVENANCE
from torch_embers.normalize import naive_utc
from torch_embers.settings import DEFAULT_REPO
from torch_embers.store import rows
from torch_embers.timeline import judged, stored
from torch_embers.verdicts import shipped_mark
from torch_embers.verdicts.matrix import version_key
from torch_embers.verdicts.script_status import BACKEND, script_statuses
from torch_embers.verdicts.status import CLAIMS, CONFIRMED, OWN_REPORT, Tracked, statuses_of, tracked_items, withdrawn

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    import duckdb

    from torch_embers.cases.case import Case
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer
    from torch_embers.verdicts.status import BackendKey, ItemKey, Status
    from torch_embers.verdicts.verdict import Verdict

_VERDICTS = """
SELECT v.case_hash, c.name, v.build, v.verdict, v.k, v.n, v.decided_at
FROM verdicts v JOIN cases c ON c.case_hash = v.case_hash AND c.current
WHERE v.provenance = 'shipped'
"""
_OWN_CASES = """
SELECT i.repo, i.number, coalesce(list_intersect(c.requires, $devices)[1], 'cpu'), list(c.name)
FROM case_items i JOIN cases c USING (case_hash)
WHERE c.current AND i.relation = 'same' AND list_contains($origins, c.origin)
GROUP BY ALL
"""
_DECIDED = "SELECT number, max(decided_at) FROM timelines WHERE provenance = ? GROUP BY number"
_CLAIMED = """
SELECT repo, number, backend, reference, status, evidence FROM statuses
WHERE provenance = 'own' AND list_contains(?::VARCHAR[], status)
"""


def refresh(store: Store) -> int:
    """Bring all of it up to date where the database holds items that it speaks of.

    Returns:
        How many shipped verdicts were written, `untestable` not counted: 0 where they were there already.

    Raises:
        CaseError, InputError: a shipped file cannot be used.
        StoreError: the database cannot be written.
    """
    with store.read() as connection:
        known = connection.execute("FROM items WHERE repo = ? LIMIT 1", [DEFAULT_REPO]).fetchall()
    if not known:
        return 0
    with store.writer("embers mine") as writer:
        return _bring(writer)


def load(writer: Writer) -> None:
    """Do the same with a writer that is held, whatever items the database holds; nothing where nothing has changed."""
    with writer.transaction() as connection:
        is_noted = shipped_mark.is_noted(connection)
    if not is_noted:
        _bring(writer)


def _bring(writer: Writer) -> int:
    cases, written = bank.refresh(writer)
    with writer.transaction() as connection:
        shipped_fix_tests.load(connection)
        stored.load(connection)
        judged.apply(connection, writer.path)
        _replace_statuses(connection, _statuses(connection, cases))
        _withdraw_claims(connection)
        shipped_mark.note(connection)
    return written


def _statuses(connection: duckdb.DuckDBPyConnection, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """Rows of status_history that shipped verdicts support, of their newest release; an absence needs both batches."""
    items = tracked_items(connection)
    verdicts = sorted(connection.execute(_VERDICTS).fetchall(), key=lambda row: version_key(row[2]))
    if not verdicts:
        return _of_scripts(connection, items)
    reference = verdicts[-1][2]
    second = shipped_verdicts.second_batch(reference)
    series: dict[str, list[Any]] = {}
    evidence: dict[str, str] = {}
    for case_hash, name, build, verdict, k, n, moment in verdicts:
        series.setdefault(case_hash, []).append(verdict)
        if build == reference:
            evidence[case_hash] = f"{name}: {verdict} {k}/{n} ({moment:%Y-%m-%d}){_again(second.get(case_hash))}"
    run = [case for case in cases if case.hash in evidence]
    lines: dict[BackendKey, list[str]] = {}
    bare: set[BackendKey] = set()
    for case in run:
        keys = {(repo, number, case.device) for repo, number in case.issues}
        bare |= keys if case.hash not in second else set()
        for key in keys:
            lines.setdefault(key, []).append(evidence[case.hash])
    newest = max(row[6] for row in verdicts)
    return [
        {
            "repo": key[0],
            "number": key[1],
            "backend": key[2],
            "reference": reference,
            "status": status,
            "evidence": "\n".join(lines[key]),
            "decided_at": newest.isoformat(sep=" "),
            "provenance": PROVENANCE,
        }
        for key, status in _confirmed(run, items, series, second, bare).items()
    ] + _of_scripts(connection, items)


def _of_scripts(connection: duckdb.DuckDBPyConnection, items: Mapping[ItemKey, Tracked]) -> list[dict[str, Any]]:
    """Rows of status_history that shipped timelines support, of items that no case speaks for."""
    moments = dict(connection.execute(_DECIDED, [PROVENANCE]).fetchall())
    return [
        {
            "repo": repo,
            "number": number,
            "backend": BACKEND,
            "reference": own.timeline.segments[-1].versions[-1],
            "status": own.status,
            "evidence": own.evidence,
            "decided_at": moments[number].isoformat(sep=" "),
            "provenance": PROVENANCE,
        }
        for (repo, number), own in script_statuses(connection, items).items()
        if own.status and own.timeline.provenance == PROVENANCE
    ]


def _again(row: Mapping[str, str] | None) -> str:
    """The second batch of a case in words."""
    if row is None:
        return ""
    return f"; second batch {row['verdict']} {row['k']}/{row['n']} ({row['day']}), on {row['environment']}"


def _confirmed(
    cases: Sequence[Case],
    items: Mapping[ItemKey, Tracked],
    series: Mapping[str, Sequence[Verdict]],
    second: Mapping[str, Mapping[str, Any]],
    bare: Collection[BackendKey],
) -> dict[BackendKey, Status]:
    """Statuses of the first batch, and those of the second where the first claims an absence, as in a re-check.

    Args:
        cases: the cases that were run on the reference build.
        items: the items of the tracker.
        series: by case hash, verdicts by build; the last one is of the first batch on the reference build.
        second: by case hash, the second batch there.
        bare: what has a case without a second batch: no absence is claimed of it.
    """
    later = {key: [*seen[:-1], second[key]["verdict"] if key in second else seen[-1]] for key, seen in series.items()}
    again = statuses_of(cases, items, later)
    return {
        key: status if status not in CONFIRMED else "undecided_absent" if key in bare else again[key]
        for key, status in statuses_of(cases, items, series).items()
    }


def _replace_statuses(connection: duckdb.DuckDBPyConnection, fresh: list[dict[str, Any]]) -> None:
    """Write the shipped statuses where they are not those of the database already."""
    known = connection.execute(
        "SELECT repo, number, backend, reference, status, evidence FROM status_history WHERE provenance = ?",
        [PROVENANCE],
    )
    names = [column[0] for column in known.description or ()]
    if set(known.fetchall()) != {tuple(row[name] for name in names) for row in fresh}:
        connection.execute("DELETE FROM status_history WHERE provenance = ?", [PROVENANCE])
        rows.append(connection, "status_history", fresh)


def _shown(evidence: str) -> set[str]:
    """Names of the cases that showed the bug when a status was derived."""
    lines = (line.partition(": ") for line in evidence.split("\n"))
    return {name for name, _, said in lines if said.startswith("occurs")}


def _withdraw_claims(connection: duckdb.DuckDBPyConnection) -> None:
    """Replace own statuses that claim more of an item than its cases and the tracker allow by now.

    Rules become stricter, readers call a case a sibling, an issue is closed for another reason than a fix: until the
    next re-check the old claim would stand. It is taken back in silence: that a rule changed is no news of a bug.
    """
    items = tracked_items(connection)
    asked = {"origins": list(OWN_REPORT), "devices": [device for device in DEVICES if device != "cpu"]}
    own = {tuple(key): set(names) for *key, names in connection.execute(_OWN_CASES, asked).fetchall()}
    scripts = script_statuses(connection, items)
    moment = naive_utc()
    fresh = []
    for row in connection.execute(_CLAIMED, [list(CLAIMS)]).fetchall():
        repo, number, backend, reference, status, evidence = row
        item = items.get((repo, number), Tracked(None))
        cases = own.get((repo, number, backend), set())
        if status not in CONFIRMED and evidence:
            cases = cases & _shown(evidence)
        now: Status = withdrawn(status, item, has_own=bool(cases))
        if backend == BACKEND and (repo, number) in scripts:
            now = scripts[repo, number].status or "undecided"
        if now != status:
            fresh.append(
                {
                    "repo": repo,
                    "number": number,
                    "backend": backend,
                    "reference": reference,
                    "status": now,
                    "previous": status,
                    "evidence": evidence,
                    "decided_at": moment,
                    "provenance": "own",
                }
            )
    rows.append_numbered(connection, "status_history", fresh)
