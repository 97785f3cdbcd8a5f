"""The stage behind `embers classify`: every item whose text, votes or classifier changed gets its labels.

Texts, vectors, votes and predictions are keyed by hashes of what they were made from, and each batch is committed
whole: it can be stopped at any time, and a re-run does only what changed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
from torch_embers.store import rows as table_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.aggregation import Label
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
    embedded = embed_items(
        store,
        writer,
        embedder,
        variant=bundle.variant,
        progress=progress.advanced,
        expects=lambda items: progress.expects(2 * items),
    )
    with store.read() as connection:
        asked = {"variant": bundle.variant, "model": bundle.version, "rules": Labeller.load().digest}
        rows = connection.execute(_PENDING, asked).fetchall()
    pending = {(repo, number): votes for repo, number, votes in rows}
    progress.expects(embedded.items + len(pending))
    aggregator, explainer = Aggregator(bundle), Explainer(store, bundle, embedder)
    answered: Counter[str] = Counter()
    abstained: Counter[str] = Counter()
    executed = done = 0
    for todo in text_batches(store, bundle.variant, only=pending):
        vectors = stored_vectors(store, embedder.model_id, embedder.dim, [item.text_hash for item in todo])
        keys = [(item.repo, item.number) for item in todo]
        with store.read() as connection:
            votes = read_votes(connection, keys)
        items = table([item.text for item in todo], vectors, [vote_names(votes.get(key, ())) for key in keys])
        labels = aggregator.labels(keys, bundle.probabilities(items), readable(items), votes)
        _write(writer, labels, explainer.explain(keys, items, vectors, labels), todo, pending, bundle)
        answered.update(label.scheme for label in labels if label.given)
        abstained.update(label.scheme for label in labels if not label.given)
        executed += sum(label.provenance == EXECUTION for label in labels)
        done += len({label.place for label in labels})
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
    labels: Sequence[Label],
    explanations: Sequence[str | None],
    items: Sequence[ItemText],
    pending: Mapping[tuple[str, int], str],
    bundle: Bundle,
) -> None:
    """Replace all predictions of these items."""
    same = {"model": bundle.version, "variant": bundle.variant, "predicted_at": now_utc()}
    made = [
        {
            "repo": item.repo,
            "number": item.number,
            "scheme": label.scheme,
            "value": label.value,
            "likeliest": label.likeliest,
            "probability": label.probability,
            "abstained": not label.given,
            "provenance": label.provenance,
            "explanation": explanation,
            "text_hash": item.text_hash,
            "votes_hash": pending[item.repo, item.number],
            **same,
        }
        for label, explanation in zip(labels, explanations, strict=True)
        for item in (items[label.place],)
    ]
    done = {"repos": [item.repo for item in items], "numbers": [item.number for item in items]}
    with writer.transaction() as connection:
        connection.execute(
            "DELETE FROM predictions USING (SELECT unnest($repos) AS repo, unnest($numbers) AS number) done "
            "WHERE predictions.repo = done.repo AND predictions.number = done.number",
            done,
        )
        table_rows.append(connection, "predictions", made)
