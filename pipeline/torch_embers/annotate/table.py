"""Labels by hand in the table ``gold_labels``; what it lacks is brought in from the journal."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.annotate.journal import HUMAN, Journal, fold
from torch_embers.annotate.session import Answer
from torch_embers.normalize import iso_utc, now_utc
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    import duckdb

    from torch_embers.annotate.journal import JournalState
    from torch_embers.annotate.session import Key
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

SOURCE = "label"
"""In ``gold_labels.source``: the row comes from a person at the terminal."""
PURPOSE = "embers data label"

_STAGE = {
    "repo": pa.string(),
    "number": pa.int32(),
    "scheme": pa.string(),
    "annotator": pa.string(),
    "value": pa.string(),
    "evidence": pa.string(),
    "labelled_at": pa.string(),
}
_REPLACE = (
    "DELETE FROM gold_labels g USING (SELECT DISTINCT repo, number, scheme, annotator FROM stage) s "
    "WHERE g.repo = s.repo AND g.number = s.number AND g.scheme = s.scheme AND g.annotator = s.annotator "
    f"AND g.annotator_kind = '{HUMAN}'",
    "INSERT INTO gold_labels "
    "(repo, number, scheme, value, annotator_kind, annotator, evidence, labelled_at, source, fetched_at) "
    f"SELECT repo, number, scheme, value, '{HUMAN}', annotator, evidence, labelled_at::TIMESTAMP, '{SOURCE}', "
    "labelled_at::TIMESTAMP FROM stage WHERE value IS NOT NULL",
)

Answers = dict[tuple[str, "Key", str], "Answer | None"]
"""(annotator, item, scheme) -> answer; ``None``: withdrawn."""


def put(writer: Writer, answers: Mapping[tuple[str, Key, str], Answer | None], notes: Mapping[Any, str]) -> None:
    """Write answers into ``gold_labels``, replacing what these annotators said to the same questions.

    Args:
        writer: holds the lock.
        answers: (annotator, item, scheme) -> answer, ``None`` to withdraw.
        notes: (annotator, item) -> note, kept as evidence.
    """
    if not answers:
        return
    rows = [row for key, answer in answers.items() for row in _rows(key, answer, notes)]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, _STAGE.values(), strict=True)]
    with writer.transaction() as connection:
        connection.register("stage", pa.table(arrays, names=list(_STAGE)))
        for statement in _REPLACE:
            connection.execute(statement)
        connection.unregister("stage")


def _rows(
    key: tuple[str, Key, str], answer: Answer | None, notes: Mapping[Any, str]
) -> Iterator[tuple[str | int | None, ...]]:
    annotator, item, scheme = key
    evidence = notes.get((annotator, item)) or None
    moment = answer.labelled_at if answer else None
    for value in (answer.values if answer else ()) or (None,):
        yield *item, scheme, annotator, value, evidence, moment


def restore(store: Store, writer: Writer | None = None) -> int:
    """Bring human labels that the journal has and the table lacks into the table, as after the loss of a database.

    Args:
        store: the database; its journal lies beside it.
        writer: where the lock is held already.

    Returns:
        Answers written.

    Raises:
        StoreError: no database, or another writer is at work.
    """
    state = fold(Journal.of(store).read()[0], Taxonomy.load())
    with store.read() as connection:
        late = _missing(connection, state)
    if late and writer is not None:
        put(writer, late, state.notes)
    elif late:
        with store.writer(PURPOSE) as own:
            put(own, late, state.notes)
    return len(late)


def _missing(connection: duckdb.DuckDBPyConnection, state: JournalState) -> Answers:
    """The journal's answers that the table does not show in just this way."""
    have: dict[tuple[str, Key, str], set[tuple[str, str | None]]] = defaultdict(set)
    for repo, number, scheme, annotator, value, evidence in connection.execute(
        "SELECT repo, number, scheme, annotator, value, evidence FROM gold_labels WHERE annotator_kind = ?",
        [HUMAN],
    ).fetchall():
        have[annotator, (repo, number), scheme].add((value, evidence))
    return {
        (annotator, item, scheme): answer
        for (annotator, item, scheme), answer in state.answers.items()
        if have.get((annotator, item, scheme), set())
        != {(value, state.notes.get((annotator, item)) or None) for value in (answer.values if answer else ())}
    }


def table_answers(connection: duckdb.DuckDBPyConnection, annotator: str) -> dict[tuple[Key, str], Answer]:
    """What a person answered, by item and scheme."""
    rows = connection.execute(
        "SELECT repo, number, scheme, list(value ORDER BY value), max(labelled_at) FROM gold_labels "
        "WHERE annotator_kind = ? AND annotator = ? GROUP BY ALL ORDER BY ALL",
        [HUMAN, annotator],
    ).fetchall()
    return {
        ((repo, number), scheme): Answer(tuple(values), moment_text(moment) or now_utc())
        for repo, number, scheme, values, moment in rows
    }


def moment_text(moment: datetime | None) -> str | None:
    """A moment of the database (UTC without a mark) as ISO 8601."""
    return iso_utc(moment.replace(tzinfo=UTC).isoformat()) if moment else None


def foreign_name(store: Store, annotator: str) -> bool:
    """Whether labels of this name are of the paper or of an automated annotator."""
    with store.read() as connection:
        return bool(
            connection.execute(
                "SELECT 1 FROM gold_labels WHERE annotator = ? AND annotator_kind <> ? LIMIT 1",
                [annotator, HUMAN],
            ).fetchall()
        )
