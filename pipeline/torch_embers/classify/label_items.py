"""The stage behind `embers classify`: every item whose text, votes or classifier changed gets its labels.

Texts, vectors, votes and labels are keyed by hashes of what they were made from, and each batch is committed whole: it
can be stopped at any time, and a re-run does only what changed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.embedding.vectors import BATCH, embed_items, stored_vectors, text_hash
from torch_embers.classify.examples import vote_names
from torch_embers.classify.features import Item, legible
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.questions import question_of
from torch_embers.classify.text import read
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.aggregation import Label
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.features import Columns
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.model import Classifier
    from torch_embers.classify.text import Variant
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

TERMS = 5
"""Words that are kept as the reason of a label."""
VARIANTS: tuple[Variant, ...] = ("title", "text")


@dataclass
class Labelled:
    """What a run of the stage did, and what the database holds then."""

    items: int = 0
    embedded: int = 0
    counts: list[tuple[str, str, str, int]] = field(default_factory=list)
    """Scheme, class, confidence, labels: the most frequent classes first."""
    examples: list[tuple[str, int, str, str, str, float, str]] = field(default_factory=list)
    """Repository, number, title, scheme, class, probability, confidence of some of the surest labels."""


_PENDING = """
    WITH votes AS (
        SELECT repo, number, md5(string_agg(function || chr(31) || value, chr(30) ORDER BY function, value)) AS hash
        FROM weak_labels GROUP BY ALL
    )
    SELECT i.rowid, t.text_hash, $rules || t.content_hash || coalesce(v.hash, '')
    FROM items i JOIN model_texts t ON t.repo = i.repo AND t.number = i.number AND t.variant = 'text'
    LEFT JOIN votes v ON v.repo = t.repo AND v.number = t.number
    WHERE t.text_hash <> '' AND NOT EXISTS (
        FROM predictions p WHERE p.repo = t.repo AND p.number = t.number AND p.text_hash = t.text_hash
        AND p.model = $model AND p.votes_hash = $rules || t.content_hash || coalesce(v.hash, ''))
    ORDER BY i.rowid"""

_TEXTS = "SELECT rowid, repo, number, title, body FROM items WHERE rowid IN (SELECT unnest($places)) ORDER BY rowid"

_COUNTS = """
    SELECT * FROM (SELECT scheme, value, confidence, count(*) AS labels FROM predictions GROUP BY ALL)
    ORDER BY scheme, sum(labels) OVER (PARTITION BY scheme, value) DESC, value, labels DESC"""

_EXAMPLES = """
    SELECT p.repo, p.number, coalesce(i.title, ''), p.scheme, p.value, p.probability, p.confidence
    FROM predictions p JOIN items i USING (repo, number)
    WHERE p.scheme = 'consequence' AND i.state IS DISTINCT FROM 'closed'
    QUALIFY row_number() OVER (PARTITION BY p.value ORDER BY p.probability DESC, p.repo, p.number) = 1
    ORDER BY p.probability DESC, p.repo, p.number LIMIT 3"""
"""The surest open report of each of three consequences."""


def classify(store: Store, writer: Writer, classifier: Classifier, embedder: Embedder, progress: Progress) -> Labelled:
    """Label every item whose text, votes, rules of voting or classifier are new; commits batch by batch.

    Raises:
        InputError: the vectors are of another model than the classifier was trained on.
    """
    check_embedding(classifier, embedder)
    done = Labelled()
    for variant in VARIANTS:
        found = embed_items(
            store, writer, embedder, variant=variant, progress=progress.advanced, expects=progress.expects
        )
        done.embedded += found.embedded
    with store.read() as connection:
        asked = {"model": classifier.version, "rules": Labeller.load().digest}
        pending = connection.execute(_PENDING, asked).fetchall()
    progress.expects(len(pending))
    aggregator = Aggregator(classifier)
    for start in range(0, len(pending), BATCH):
        batch = {place: (text, votes) for place, text, votes in pending[start : start + BATCH]}
        with store.read() as connection:
            rows = connection.execute(_TEXTS, {"places": list(batch)}).fetchall()
            keys = [(repo, number) for _, repo, number, _, _ in rows]
            votes = read_votes(connection, keys)
        items = [
            Item(read(title or "", body), vote_names(votes.get(key, ())))
            for key, (*_, title, body) in zip(keys, rows, strict=True)
        ]
        hashes = [text_hash(item.text.title) for item in items]
        vectors = tuple(
            stored_vectors(store, embedder.model_id, embedder.dim, own)
            for own in (hashes, [batch[place][0] for place, *_ in rows])
        )
        labels, columns = labels_of(classifier, aggregator, keys, items, votes, vectors)
        made = [
            label._asdict()
            | {
                "repo": keys[label.place][0],
                "number": keys[label.place][1],
                "explanation": _reasons(classifier, columns[label.place], label, labels),
                "text_hash": batch[rows[label.place][0]][0],
                "votes_hash": batch[rows[label.place][0]][1],
            }
            for label in labels
        ]
        _write(writer, made, keys, classifier.version)
        done.items += len({label.place for label in labels})
        progress.advanced(len(batch))
    with store.read() as connection:
        done.counts = connection.execute(_COUNTS).fetchall()
        done.examples = connection.execute(_EXAMPLES).fetchall()
    return done


def labels_of(
    classifier: Classifier,
    aggregator: Aggregator,
    keys: Sequence[Key],
    items: Sequence[Item],
    votes: Mapping[Key, Sequence[WeakLabel]],
    vectors: Sequence[NDArray[np.float32]],
) -> tuple[list[Label], list[Columns]]:
    """The labels of items, and what the classifier saw of each; no label but by a run where a text cannot be read."""
    titles, texts = (np.nan_to_num(own) for own in vectors)
    columns = classifier.features.rows(items, titles, texts)
    readable = [
        legible(item.text.words) and bool(np.isfinite(own).all()) for item, own in zip(items, vectors[1], strict=True)
    ]
    return aggregator.labels(keys, classifier.probabilities(columns), readable, votes), columns


def check_embedding(classifier: Classifier, embedder: Embedder) -> None:
    """Refuse an encoder that the classifier was not trained with.

    Raises:
        InputError: it is another one.
    """
    if embedder.model_id != classifier.about.embedding:
        raise InputError(
            f"the classifier was trained on vectors of {classifier.about.embedding}, not {embedder.model_id}: "
            "train it again with `embers classify --train`, or name that model in the setting embedder"
        )


def _reasons(classifier: Classifier, row: Columns, label: Label, labels: Sequence[Label]) -> str | None:
    """The words that spoke most for a label, as JSON; ``None`` where no model decided."""
    parents = {other.scheme: other.value for other in labels if other.place == label.place}
    question = question_of(label.scheme, label.value, parents)
    if question is None or question.name not in classifier.about.questions:
        return None
    if label.value not in classifier.about.questions[question.name].classes:
        return None
    terms = classifier.terms(row, question.name, label.value, TERMS)
    said = {"terms": [[reason.term, round(reason.weight, 3)] for reason in terms]}
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"))


def _write(writer: Writer, made: Sequence[dict[str, object]], keys: Sequence[Key], model: str) -> None:
    """Replace all labels of these items."""
    moment = now_utc()
    rows = [{name: value for name, value in row.items() if name != "place"} for row in made]
    rows = [row | {"model": model, "predicted_at": moment} for row in rows]
    done = {"repos": [repo for repo, _ in keys], "numbers": [number for _, number in keys]}
    with writer.transaction() as connection:
        connection.execute(
            "DELETE FROM predictions USING (SELECT unnest($repos) AS repo, unnest($numbers) AS number) done "
            "WHERE predictions.repo = done.repo AND predictions.number = done.number",
            done,
        )
        table_rows.append(connection, "predictions", rows)
