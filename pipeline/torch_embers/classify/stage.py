"""The stage behind `embers classify`: every item whose text, votes or classifier changed gets its labels.

Texts, vectors, votes and predictions are keyed by hashes of what they were made from, and each batch is committed
whole: it can be stopped at any time, and a re-run does only what changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.bundle import weights_of
from torch_embers.classify.embedding.vectors import embed_items, stored_vectors, text_batches
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.features import readable, table
from torch_embers.classify.reasons import Explainer
from torch_embers.classify.train import vote_names
from torch_embers.errors import InputError
from torch_embers.normalize import now_utc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.aggregation import AggregatedLabels
    from torch_embers.classify.bundle import Bundle
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.embedding.vectors import ItemText
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a run of the stage did."""

    items: int
    embedded: int
    answered: Mapping[str, int]
    """Scheme -> labels given."""
    abstained: Mapping[str, int]
    executed: int = 0
    """Labels that a run of a case decided."""


_COLUMNS: dict[str, pa.DataType] = {
    "repo": pa.string(),
    "number": pa.int32(),
    "scheme": pa.string(),
    "value": pa.string(),
    "likeliest": pa.string(),
    "probability": pa.float64(),
    "abstained": pa.bool_(),
    "provenance": pa.string(),
    "model": pa.string(),
    "variant": pa.string(),
    "text_hash": pa.string(),
    "votes_hash": pa.string(),
    "explanation": pa.string(),
    "predicted_at": pa.string(),
}

_PENDING = """
    WITH votes AS (
        SELECT repo, number, md5(string_agg(function || chr(31) || value, chr(30) ORDER BY function, value)) AS hash
        FROM weak_labels GROUP BY ALL
    )
    SELECT DISTINCT t.repo, t.number, $rules || coalesce(v.hash, '') AS hash
    FROM model_texts t LEFT JOIN votes v ON v.repo = t.repo AND v.number = t.number
    WHERE t.variant = $variant AND t.text_hash <> '' AND NOT EXISTS (
        FROM predictions p WHERE p.repo = t.repo AND p.number = t.number AND p.text_hash = t.text_hash
        AND p.model = $model AND p.votes_hash = $rules || coalesce(v.hash, ''))"""


def classify(store: Store, writer: Writer, bundle: Bundle, embedder: Embedder, progress: Progress) -> Labelled:
    """Label every item whose text, votes, rules of voting or model are new; commits batch by batch.

    An item is one step of progress when it is embedded and one when it is labelled.

    Raises:
        InputError: the vectors are of another model than the classifiers were trained on.
    """
    check_embedding(bundle, embedder)
    variant: Any = bundle.variant
    embedded = embed_items(
        store,
        writer,
        embedder,
        variant=variant,
        progress=progress.advanced,
        expects=lambda items: progress.expects(2 * items),
    )
    with store.read() as connection:
        asked = {"variant": variant, "model": bundle.version, "rules": Labeller.load().digest}
        rows = connection.execute(_PENDING, asked).fetchall()
    pending = {(repo, number): votes for repo, number, votes in rows}
    progress.expects(embedded.items + len(pending))
    aggregator, explainer = Aggregator(bundle), Explainer(store, bundle, embedder)
    answered: Counter[str] = Counter()
    abstained: Counter[str] = Counter()
    executed = done = 0
    for todo in text_batches(store, variant, only=pending):
        vectors = stored_vectors(store, embedder.model_id, embedder.dim, [item.text_hash for item in todo])
        keys = [(item.repo, item.number) for item in todo]
        with store.read() as connection:
            votes = read_votes(connection, keys)
        items = table([item.text for item in todo], vectors, [vote_names(votes.get(key, ())) for key in keys])
        labels = aggregator.labels(keys, bundle.probabilities(items), readable(items), votes)
        _write(writer, labels, explainer.explain(keys, items, vectors, labels), todo, pending, bundle)
        for scheme, quiet in zip(labels.scheme, labels.abstained, strict=True):
            (abstained if quiet else answered)[scheme] += 1
        executed += labels.provenance.count(EXECUTION)
        done += len(set(labels.place))
        progress.advanced(len(todo))
    given, silent = ({scheme: counted[scheme] for scheme in aggregator.schemes} for counted in (answered, abstained))
    return Labelled(done, embedded.embedded, given, silent, executed)


def check_embedding(bundle: Bundle, embedder: Embedder) -> None:
    """Refuse an embedding model that the classifier was not trained with.

    Raises:
        InputError: it is another one.
    """
    if weights_of(embedder.model_id) != bundle.embedding:
        raise InputError(
            f"the classifier was trained on vectors of {bundle.embedding}, not {weights_of(embedder.model_id)}: "
            "train it again with `embers classify --train`, or name that model in the setting embedder"
        )


def _write(
    writer: Writer,
    labels: AggregatedLabels,
    explanations: Sequence[str | None],
    items: Sequence[ItemText],
    pending: Mapping[tuple[str, int], str],
    bundle: Bundle,
) -> None:
    """Replace all predictions of these items."""
    own = [items[place] for place in labels.place]
    same = {"model": bundle.version, "variant": bundle.variant, "predicted_at": now_utc()}
    columns: dict[str, Sequence[Any]] = {
        "repo": [item.repo for item in own],
        "number": [item.number for item in own],
        "scheme": labels.scheme,
        "value": [None if quiet else best for best, quiet in zip(labels.likeliest, labels.abstained, strict=True)],
        "likeliest": labels.likeliest,
        "probability": labels.probability,
        "abstained": labels.abstained,
        "provenance": labels.provenance,
        "explanation": explanations,
        "text_hash": [item.text_hash for item in own],
        "votes_hash": [pending[item.repo, item.number] for item in own],
        **{name: [value] * len(own) for name, value in same.items()},
    }
    made = pa.table([pa.array(columns[name], kind) for name, kind in _COLUMNS.items()], names=list(_COLUMNS))
    done = pa.table(
        [pa.array([i.repo for i in items]), pa.array([i.number for i in items], pa.int32())], names=["repo", "number"]
    )
    typed = ", ".join(f"{name}::TIMESTAMP" if name == "predicted_at" else name for name in _COLUMNS)
    with writer.transaction() as connection:
        connection.register("stage", done)
        connection.execute(
            "DELETE FROM predictions USING stage WHERE predictions.repo = stage.repo "
            "AND predictions.number = stage.number"
        )
        connection.unregister("stage")
        connection.register("stage", made)
        connection.execute(f"INSERT INTO predictions ({', '.join(_COLUMNS)}) SELECT {typed} FROM stage")
        connection.unregister("stage")
