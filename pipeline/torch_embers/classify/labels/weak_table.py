"""The table ``weak_labels``: what labelling functions say of each item, kept up to date.

Labels and words vote again where an item changed. Runs vote as their verdicts come: a case of the item that showed its
bug says more than any text.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from torch_embers import signature as signatures
from torch_embers.classify.labels.weak import EXECUTION, Labeller, WeakLabel
from torch_embers.normalize import now_utc
from torch_embers.store import rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from torch_embers.signature import Signature
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

BATCH = 5_000
SCAN_ORIGIN = "weak_labels"
"""Under this name ``link_scans`` remembers which items were labelled, in which state and by which rules."""

_VOTES = "SELECT repo, number, scheme, value, function, kind, evidence FROM weak_labels"


def read_votes(connection: duckdb.DuckDBPyConnection, items: Sequence[Key] | None = None) -> dict[Key, list[WeakLabel]]:
    """The votes on each item that has any; on these items only where they are given."""
    if items is None:
        found = connection.execute(f"{_VOTES} ORDER BY ALL").fetchall()
    else:
        of_items = (
            f"{_VOTES} SEMI JOIN (SELECT unnest($repos) AS repo, unnest($numbers) AS number) USING (repo, number)"
        )
        found = connection.execute(f"{of_items} ORDER BY ALL", _columns(items)).fetchall()
    votes: dict[Key, list[WeakLabel]] = defaultdict(list)
    for repo, number, *vote in found:
        votes[repo, number].append(WeakLabel(*vote))
    return dict(votes)


def _columns(items: Sequence[Key]) -> dict[str, list[Any]]:
    """Items as parameters of a statement."""
    return {"repos": [repo for repo, _ in items], "numbers": [number for _, number in items]}


# ---- what runs showed ----------------------------------------------------------------------------------------------

_OUTCOMES = """
    SELECT DISTINCT i.repo, i.number, v.signature, c.signature, coalesce(c.consequence, ''), c.name, v.build
    FROM latest_verdicts v
    JOIN cases c ON c.case_hash = v.case_hash AND c.current
    JOIN case_items i ON i.case_hash = v.case_hash
    WHERE v.verdict = 'occurs' AND v.provenance = 'own'
    UNION
    SELECT t.repo, t.number,
        CASE t.ending WHEN 'signal' THEN t.what WHEN 'exception' THEN t.what || ': ' || t.shown
            WHEN 'timeout' THEN 'hang' WHEN 'out_of_memory' THEN 'memory' WHEN 'ok' THEN 'mismatch' END,
        [], '', 'script ' || t.script, t.versions[-1]
    FROM current_timelines t
    ANTI JOIN (SELECT repo, number FROM case_items JOIN cases USING (case_hash) WHERE current) c USING (repo, number)
    WHERE t.match = 'as_reported' AND t.provenance = 'own' AND (t.ending <> 'ok' OR EXISTS (
        FROM timelines e WHERE e.match = 'as_expected' AND e.environment = t.environment
        AND e.repo = t.repo AND e.number = t.number AND e.script = t.script))
    ORDER BY ALL"""
"""What cases showed, and what scripts did as their reports say. That a script prints what its report quotes shows a
wrong value only where it prints what the report expects elsewhere. Where a case speaks, no script does."""


def execution_outcomes(
    connection: duckdb.DuckDBPyConnection, labeller: Labeller | None = None
) -> dict[Key, list[WeakLabel]]:
    """What runs say of items: the votes of each case whose bug occurs on some build, and of each script as reported.

    A run that showed several items' bug votes on each of them. Where a verdict does not tell what was seen, what the
    case declares counts, if that is but one thing. Each function votes once for an item.
    """
    labeller = labeller or Labeller.load()
    found: dict[Key, dict[tuple[str, str], WeakLabel]] = defaultdict(dict)
    for repo, number, seen, declared, consequence, name, build in connection.execute(_OUTCOMES).fetchall():
        shown = _shown(seen, declared)
        for vote in labeller.execution_votes(shown, consequence, f"{name} on {build}") if shown else ():
            found[repo, number].setdefault((vote.function, vote.value), vote)
    return {item: list(votes.values()) for item, votes in found.items()}


def _shown(seen: str | None, declared: Sequence[str]) -> Signature | None:
    """What was seen; ``None`` where neither the verdict nor the case tells."""
    try:
        return signatures.parse(seen or (declared[0] if len(declared) == 1 else ""))
    except signatures.SignatureError:
        return None


def _label_runs(
    writer: Writer, outcomes: Mapping[tuple[str, int], Sequence[WeakLabel]], have: Sequence[tuple[Any, ...]]
) -> None:
    """Replace the votes of runs, of which the database has these, where they changed."""
    fresh = [(*item, vote) for item, votes in outcomes.items() for vote in votes]
    if set(fresh) == {(repo, number, WeakLabel(*vote)) for repo, number, *vote in have}:
        return
    with writer.transaction() as connection:
        connection.execute(f"DELETE FROM weak_labels WHERE kind = '{EXECUTION}'")
        _append(connection, fresh)


def _append(connection: duckdb.DuckDBPyConnection, votes: Sequence[tuple[str, int, WeakLabel]]) -> None:
    moment = now_utc()
    made = [{"repo": repo, "number": number, **vote._asdict(), "labelled_at": moment} for repo, number, vote in votes]
    rows.append(connection, "weak_labels", made)


# ---- labels and words ----------------------------------------------------------------------------------------------

_PENDING = f"""
    SELECT i.rowid, i.state_hash FROM (
        SELECT rowid, repo, number,
               md5(coalesce(content_hash, '') || chr(30) || coalesce(array_to_string(labels, chr(31)), '') || $rules)
                   AS state_hash
        FROM items
    ) i LEFT JOIN link_scans s ON s.origin = '{SCAN_ORIGIN}' AND s.repo = i.repo AND s.id = i.number::VARCHAR
    WHERE s.content_hash IS DISTINCT FROM i.state_hash ORDER BY i.rowid"""

_TEXTS = """
    SELECT rowid, repo, number, title, left(body, $chars), labels FROM items
    WHERE rowid BETWEEN $first AND $last AND rowid IN (SELECT unnest($places)) ORDER BY rowid"""

_GONE = f"""
    link_scans s WHERE origin = '{SCAN_ORIGIN}'
    AND NOT EXISTS (FROM items i WHERE i.repo = s.repo AND i.number::VARCHAR = s.id)"""

_FORGET_GONE = (
    "DELETE FROM weak_labels w WHERE NOT EXISTS (FROM items i WHERE i.repo = w.repo AND i.number = w.number)",
    f"DELETE FROM {_GONE}",
)

_FORGET = f"""
    DELETE FROM weak_labels w USING (SELECT unnest($repos) AS repo, unnest($numbers) AS number) t
    WHERE w.repo = t.repo AND w.number = t.number AND w.kind <> '{EXECUTION}'"""


def label_items(store: Store, writer: Writer) -> int:
    """Bring ``weak_labels`` up to date with the items whose content or labels changed, or all after a change of rules.

    Works in batches, each committed whole: stop it at any time, the next call goes on. What runs
    showed is brought up to date first.

    Args:
        store: the database.
        writer: its writer, held by the caller: places in the table are remembered between reads.

    Returns:
        Items that were new or changed, in content, labels or rules.

    Raises:
        StoreError: the database cannot be read or written.
        InputError: data/labelling.toml or another rule file is wrong.
    """
    labeller = Labeller.load()
    with store.read() as connection:
        outcomes = execution_outcomes(connection, labeller)
        have = connection.execute(f"{_VOTES} WHERE kind = '{EXECUTION}'").fetchall()
        places = connection.execute(_PENDING, {"rules": labeller.digest}).fetchall()
        gone = connection.execute(f"FROM {_GONE} LIMIT 1").fetchall()
    _label_runs(writer, outcomes, have)
    if gone:
        with writer.transaction() as connection:
            for statement in _FORGET_GONE:
                connection.execute(statement)
    for start in range(0, len(places), BATCH):
        _label_batch(store, writer, labeller, dict(places[start : start + BATCH]))
    return len(places)


def _label_batch(store: Store, writer: Writer, labeller: Labeller, hashes: Mapping[int, str]) -> None:
    bounds = {"first": min(hashes), "last": max(hashes), "places": list(hashes), "chars": labeller.body_chars}
    with store.read() as connection:
        texts = connection.execute(_TEXTS, bounds).fetchall()
    scans = [
        {"repo": repo, "origin": SCAN_ORIGIN, "id": str(number), "content_hash": hashes[place]}
        for place, repo, number, *_ in texts
    ]
    fresh = [
        (repo, number, vote)
        for _, repo, number, title, body, labels in texts
        for vote in labeller.votes(title, body, labels)
    ]
    with writer.transaction() as connection:
        connection.execute(_FORGET, _columns([(repo, number) for _, repo, number, *_ in texts]))
        rows.replace(connection, "link_scans", ("repo", "origin", "id"), scans)
        _append(connection, fresh)
