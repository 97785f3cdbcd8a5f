"""The table ``weak_labels``: what labelling functions say of each item, kept up to date.

Labels and words vote again where an item changed. Runs vote as their verdicts come: a case of the item that showed its
bug says more than any text.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.classify.labels.weak import EXECUTION, Labeller, ObservedFailure, WeakLabel
from torch_embers.normalize import now_utc
from torch_embers.oracles import signature as signatures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import duckdb

    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

BATCH = 5_000
SCAN_ORIGIN = "weak_labels"
"""Under this name ``link_scans`` remembers which items were labelled, in which state and by which rules."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What ``label_items`` did."""

    items: int
    """Items that were new or changed, in content, labels or rules."""
    labels: int
    """Weak labels that they have now."""
    total: int
    """Rows in the table afterwards."""


# ---- reading -------------------------------------------------------------------------------------------------------

_VOTES = "SELECT repo, number, scheme, value, function, kind, evidence FROM weak_labels"


def read_votes(connection: duckdb.DuckDBPyConnection, items: Iterable[Key] | None = None) -> dict[Key, list[WeakLabel]]:
    """The votes on each item that has any; on these items only where they are given."""
    if items is None:
        rows = connection.execute(f"{_VOTES} ORDER BY ALL").fetchall()
    else:
        wanted = list(items)
        connection.register("wanted", _table(_KEYS, wanted))
        rows = connection.execute(f"{_VOTES} SEMI JOIN wanted USING (repo, number) ORDER BY ALL").fetchall()
        connection.unregister("wanted")
    found: dict[Key, list[WeakLabel]] = defaultdict(list)
    for repo, number, *vote in rows:
        found[repo, number].append(WeakLabel(*vote))
    return dict(found)


# ---- what runs showed ----------------------------------------------------------------------------------------------

_OUTCOMES = """
    SELECT DISTINCT i.repo, i.number, v.signature, c.signature, coalesce(c.consequence, ''), c.name, v.build
    FROM latest_verdicts v
    JOIN cases c ON c.case_hash = v.case_hash AND c.current
    JOIN case_items i ON i.case_hash = v.case_hash
    WHERE v.verdict = 'occurs' AND v.provenance = 'own' ORDER BY ALL"""

_RUNS_NOW = "SELECT repo, number, scheme, value, function, kind, evidence FROM weak_labels WHERE kind = 'execution'"

_REPLACE_RUNS = (
    "DELETE FROM weak_labels WHERE kind = 'execution'",
    """INSERT INTO weak_labels (repo, number, scheme, value, function, kind, evidence, labelled_at)
       SELECT repo, number, scheme, value, function, kind, evidence, $moment::TIMESTAMP FROM fresh""",
)


def execution_outcomes(
    connection: duckdb.DuckDBPyConnection, labeller: Labeller | None = None
) -> dict[Key, list[WeakLabel]]:
    """What runs say of items: the votes of each case whose newest verdict on some build is that its bug occurs.

    A run that showed several items' bug votes on each of them. Where a verdict does not tell what was seen, what the
    case declares counts, if that is but one thing. Each function votes once for an item.
    """
    labeller = labeller or Labeller.load()
    if not connection.execute("FROM duckdb_views() WHERE view_name = 'latest_verdicts'").fetchall():
        return {}
    found: dict[Key, dict[tuple[str, str], WeakLabel]] = defaultdict(dict)
    for repo, number, seen, declared, consequence, name, build in connection.execute(_OUTCOMES).fetchall():
        shown = _shown(seen, declared, consequence)
        for vote in labeller.execution_votes(shown, f"{name} on {build}") if shown else ():
            found[repo, number].setdefault((vote.function, vote.value), vote)
    return {item: list(votes.values()) for item, votes in found.items()}


def _shown(seen: str | None, declared: Sequence[str], consequence: str) -> ObservedFailure | None:
    """What was seen; ``None`` where neither the verdict nor the case tells."""
    text = seen or (declared[0] if len(declared) == 1 else "")
    try:
        found = signatures.parse(text)
    except signatures.SignatureError:
        return None
    return ObservedFailure(found.kind, found.type, found.message, consequence)


def _label_runs(store: Store, writer: Writer, labeller: Labeller) -> None:
    """Replace the votes of runs where they changed."""
    with store.read() as connection:
        outcomes = execution_outcomes(connection, labeller)
        have = set(connection.execute(_RUNS_NOW).fetchall())
    fresh = [
        (*item, vote.scheme, vote.value, vote.function, EXECUTION, vote.evidence)
        for item, votes in outcomes.items()
        for vote in votes
    ]
    if set(fresh) == have:
        return
    with writer.transaction() as connection:
        connection.register("fresh", _table(_ROWS, fresh))
        for statement in _REPLACE_RUNS:
            _execute(connection, statement, {"moment": now_utc()})
        connection.unregister("fresh")


# ---- labels and words ----------------------------------------------------------------------------------------------

_PENDING = """
    SELECT i.rowid, i.state_hash FROM (
        SELECT rowid, repo, number,
               md5(coalesce(content_hash, '') || chr(30) || coalesce(array_to_string(labels, chr(31)), '') || $rules)
                   AS state_hash
        FROM items
    ) i LEFT JOIN link_scans s ON s.origin = $origin AND s.repo = i.repo AND s.id = i.number::VARCHAR
    WHERE s.content_hash IS DISTINCT FROM i.state_hash ORDER BY i.rowid"""

_TEXTS = """
    SELECT rowid, repo, number, title, left(body, $chars), labels FROM items
    WHERE rowid BETWEEN $first AND $last AND rowid IN (SELECT unnest($places)) ORDER BY rowid"""

_GONE = """
    SELECT DISTINCT id FROM link_scans s WHERE origin = $origin
    AND NOT EXISTS (FROM items i WHERE i.repo = s.repo AND i.number::VARCHAR = s.id)"""

_FORGET_GONE = (
    "DELETE FROM weak_labels w WHERE NOT EXISTS (FROM items i WHERE i.repo = w.repo AND i.number = w.number)",
    """DELETE FROM link_scans WHERE origin = $origin
       AND NOT EXISTS (FROM items i WHERE i.repo = link_scans.repo AND i.number::VARCHAR = link_scans.id)""",
)

_REPLACE = (
    """DELETE FROM weak_labels w USING todo t
       WHERE w.repo = t.repo AND w.number = t.number AND w.kind <> 'execution'""",
    """DELETE FROM link_scans s USING todo t
       WHERE s.origin = $origin AND s.repo = t.repo AND s.id = t.number::VARCHAR""",
    "INSERT INTO link_scans SELECT repo, $origin, number::VARCHAR, state_hash FROM todo",
    """INSERT INTO weak_labels (repo, number, scheme, value, function, kind, evidence, labelled_at)
       SELECT repo, number, scheme, value, function, kind, evidence, $moment::TIMESTAMP FROM fresh""",
)

_KEYS = pa.schema([("repo", pa.string()), ("number", pa.int32())])
_TODO = pa.schema([("repo", pa.string()), ("number", pa.int32()), ("state_hash", pa.string())])
_ROWS = pa.schema(
    [("repo", pa.string()), ("number", pa.int32())]
    + [(name, pa.string()) for name in ("scheme", "value", "function", "kind", "evidence")]
)


def label_items(store: Store, writer: Writer, progress: Callable[[int, int], None] | None = None) -> Refreshed:
    """Bring ``weak_labels`` up to date with the items whose content or labels changed, or all after a change of rules.

    Works in batches, each committed whole: stop it at any time, the next call goes on. What runs
    showed is brought up to date first.

    Args:
        store: the database.
        writer: its writer, held by the caller: places in the table are remembered between reads.
        progress: called with (items done, items in all) after each batch.

    Raises:
        StoreError: the database cannot be read or written.
        InputError: data/labelling.toml or another rule file is wrong.
    """
    labeller = Labeller.load()
    _label_runs(store, writer, labeller)
    with store.read() as connection:
        parameters = {"rules": labeller.digest, "origin": SCAN_ORIGIN}
        places = connection.execute(_PENDING, parameters).fetchall()
        gone = connection.execute(_GONE, {"origin": SCAN_ORIGIN}).fetchall()
    if gone:
        with writer.transaction() as connection:
            for statement in _FORGET_GONE:
                _execute(connection, statement, {"origin": SCAN_ORIGIN})
    made = 0
    for start in range(0, len(places), BATCH):
        made += _label_batch(store, writer, labeller, dict(places[start : start + BATCH]))
        if progress is not None:
            progress(min(start + BATCH, len(places)), len(places))
    with store.read() as connection:
        [(total,)] = connection.execute("SELECT count(*) FROM weak_labels").fetchall()
    return Refreshed(len(places), made, int(total))


def _label_batch(store: Store, writer: Writer, labeller: Labeller, hashes: Mapping[int, str]) -> int:
    bounds = {"first": min(hashes), "last": max(hashes), "places": list(hashes), "chars": labeller.body_chars}
    with store.read() as connection:
        texts = connection.execute(_TEXTS, bounds).fetchall()
    todo = [(repo, number, hashes[place]) for place, repo, number, *_ in texts]
    fresh = [
        (repo, number, vote.scheme, vote.value, vote.function, vote.kind, vote.evidence)
        for _, repo, number, title, body, labels in texts
        for vote in labeller.votes(title, body, labels)
    ]
    with writer.transaction() as connection:
        connection.register("todo", _table(_TODO, todo))
        connection.register("fresh", _table(_ROWS, fresh))
        for statement in _REPLACE:
            _execute(connection, statement, {"origin": SCAN_ORIGIN, "moment": now_utc()})
        for name in ("todo", "fresh"):
            connection.unregister(name)
    return len(fresh)


def _execute(connection: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, str]) -> None:
    """Run a statement with those of the parameters that it names: DuckDB refuses others."""
    connection.execute(statement, {name: value for name, value in parameters.items() if f"${name}" in statement})


def _table(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)
