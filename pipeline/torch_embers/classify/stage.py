"""The stage behind `embers classify`: train on gold, label every item, explain one label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from torch_embers.classify import gold
from torch_embers.classify.bundle import Bundle, HeldOut
from torch_embers.classify.model import HybridClassifier, Prediction
from torch_embers.classify.search import Hit, similar
from torch_embers.classify.taxonomy import Taxonomy
from torch_embers.classify.vectors import embed_items, stored_vectors, text_batches
from torch_embers.errors import InputError
from torch_embers.mine.pages import now_utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.embed import Embedder
    from torch_embers.classify.gold import GoldItem
    from torch_embers.classify.text import Variant
    from torch_embers.classify.vectors import ItemText
    from torch_embers.store.store import Store, Writer

SCHEMES = ("bug_type", "memory_type", "consequence")
"""Schemes with enough labelled items of enough classes to be learned; the others need more gold."""
LEAST_PER_CLASS = 3
"""A class with fewer labelled items cannot be held out and learned at once: its items are left out, and said so."""
OUT_OF_FOLD = "out_of_fold"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training used and what it left out."""

    bundle: Bundle
    items: Mapping[str, int]
    left_out: Mapping[str, Mapping[str, int]]
    """Scheme -> class -> labelled items of classes too rare to learn."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a run of the stage did."""

    items: int
    embedded: int
    answered: Mapping[str, int]
    """Scheme -> items with a label."""
    abstained: Mapping[str, int]


def weights_of(model_id: str) -> str:
    """Model and weights of an embedder's id, without the arithmetic it runs with."""
    return model_id.partition("/")[0]


def train(
    store: Store, writer: Writer, embedder: Embedder, variant: Variant, name: str, say: Callable[[str], None]
) -> Trained:
    """Train one classifier per scheme on the gold labels of the database.

    Raises:
        InputError: no gold labels, or too few classes of a scheme.
    """
    labelled = gold.load(store)
    if not labelled:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    embed_items(store, writer, embedder, variant=variant)
    texts = {(t.repo, t.number): t for batch in text_batches(store, variant) for t in batch if t.text_hash}
    taxonomy = Taxonomy.load()
    models: dict[str, HybridClassifier] = {}
    held_out: dict[str, tuple[HeldOut, ...]] = {}
    counts: dict[str, int] = {}
    left: dict[str, dict[str, int]] = {}
    for scheme in SCHEMES:
        chosen, left[scheme] = _learnable(labelled, scheme, texts)
        rows = [texts[g.repo, g.number] for g in chosen]
        say(f"{scheme}: learning from {len(rows)} items")
        vectors = stored_vectors(store, embedder.model_id, embedder.dim, [r.text_hash for r in rows])
        model = HybridClassifier(scheme).fit([r.text for r in rows], vectors, [g.labels[scheme] for g in chosen])
        models[scheme], counts[scheme] = model, len(rows)
        folds = model.out_of_fold if model.out_of_fold is not None else np.zeros((0, len(model.classes)))
        held_out[scheme] = tuple(
            HeldOut(g.repo, g.number, tuple(map(float, p))) for g, p in zip(chosen, folds, strict=True)
        )
    bundle = Bundle(name, variant, weights_of(embedder.model_id), taxonomy.digest, models, held_out)
    return Trained(bundle, counts, left)


def _learnable(
    labelled: Sequence[GoldItem], scheme: str, texts: Mapping[tuple[str, int], ItemText]
) -> tuple[list[GoldItem], dict[str, int]]:
    """Items of classes that have enough of them, and how many of the others there are."""
    usable = [g for g in labelled if scheme in g.labels and (g.repo, g.number) in texts]
    counted: dict[str, int] = {}
    for item in usable:
        counted[item.labels[scheme]] = counted.get(item.labels[scheme], 0) + 1
    rare = {value: n for value, n in counted.items() if n < LEAST_PER_CLASS}
    chosen = [g for g in usable if g.labels[scheme] not in rare]
    if len({g.labels[scheme] for g in chosen}) < 2:
        raise InputError(f"{scheme}: fewer than two classes with {LEAST_PER_CLASS} labelled items: label more first")
    return chosen, rare


# ---- labelling -----------------------------------------------------------------------------------------------------

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
    "explanation": pa.string(),
    "predicted_at": pa.string(),
}

_PENDING = """
SELECT DISTINCT t.repo, t.number FROM model_texts t
WHERE t.variant = $variant AND t.text_hash <> '' AND NOT EXISTS (
    FROM predictions p WHERE p.repo = t.repo AND p.number = t.number AND p.text_hash = t.text_hash AND p.model = $model)
"""


def classify(
    store: Store,
    writer: Writer,
    bundle: Bundle,
    embedder: Embedder,
    *,
    progress: Callable[[int], None] | None = None,
    expects: Callable[[int], None] | None = None,
) -> Labelled:
    """Label every item whose text or model is new; commits batch by batch, so that it can be stopped at any time.

    Raises:
        InputError: the vectors are of another model than the classifiers were trained on.
    """
    if weights_of(embedder.model_id) != bundle.embedding:
        raise InputError(
            f"the classifier was trained on vectors of {bundle.embedding}, not {weights_of(embedder.model_id)}: "
            "train it again with `embers classify --train`"
        )
    variant: Any = bundle.variant
    embedded = embed_items(store, writer, embedder, variant=variant, progress=progress, expects=expects)
    with store.read() as connection:
        pending = set(connection.execute(_PENDING, {"variant": variant, "model": bundle.version}).fetchall())
    known = {scheme: {(h.repo, h.number): h.probabilities for h in rows} for scheme, rows in bundle.held_out.items()}
    answered, abstained = dict.fromkeys(bundle.models, 0), dict.fromkeys(bundle.models, 0)
    done = 0
    for batch in text_batches(store, variant):
        todo = [item for item in batch if (item.repo, item.number) in pending]
        if not todo:
            continue
        rows = list(_rows(store, bundle, embedder, todo, known))
        _write(writer, rows, todo)
        done += len(todo)
        for row in rows:
            (abstained if row["abstained"] else answered)[row["scheme"]] += 1
    return Labelled(done, embedded.embedded, answered, abstained)


def _rows(
    store: Store,
    bundle: Bundle,
    embedder: Embedder,
    items: Sequence[ItemText],
    known: Mapping[str, Mapping[tuple[str, int], tuple[float, ...]]],
) -> Iterable[dict[str, Any]]:
    vectors = stored_vectors(store, embedder.model_id, embedder.dim, [item.text_hash for item in items])
    texts = [item.text for item in items]
    taxonomy = Taxonomy.load()
    likeliest: list[dict[str, str]] = [{} for _ in items]
    moment = now_utc()
    for scheme in (s for s in taxonomy.schemes if s in bundle.models):
        model = bundle.models[scheme]
        predictions = model.predict(texts, vectors)
        for place, item in enumerate(items):
            own = known.get(scheme, {}).get((item.repo, item.number))
            said = predictions[place]
            if own is not None:
                said = model.decide(np.array([own]))[0]
            if said.best is None or not taxonomy.applies(scheme, likeliest[place]):
                continue
            likeliest[place][scheme] = said.best
            yield _row(item, said, bundle, OUT_OF_FOLD if own is not None else "model", moment)


def _row(item: ItemText, said: Prediction, bundle: Bundle, provenance: str, moment: str) -> dict[str, Any]:
    return {
        "repo": item.repo,
        "number": item.number,
        "scheme": said.scheme,
        "value": said.value,
        "likeliest": said.best,
        "probability": said.probability,
        "abstained": said.abstained,
        "provenance": provenance,
        "model": bundle.version,
        "variant": bundle.variant,
        "text_hash": item.text_hash,
        "explanation": None,
        "predicted_at": moment,
    }


def _write(writer: Writer, rows: Sequence[Mapping[str, Any]], items: Sequence[ItemText]) -> None:
    """Replace all predictions of these items."""
    names = list(_COLUMNS)
    made = pa.table([pa.array([r[n] for r in rows], kind) for n, kind in _COLUMNS.items()], names=names)
    done = pa.table(
        [pa.array([i.repo for i in items]), pa.array([i.number for i in items], pa.int32())], names=["repo", "number"]
    )
    typed = ", ".join(f"{n}::TIMESTAMP" if n == "predicted_at" else n for n in names)
    with writer.transaction() as connection:
        connection.register("stage", done)
        connection.execute(
            "DELETE FROM predictions USING stage WHERE predictions.repo = stage.repo "
            "AND predictions.number = stage.number"
        )
        connection.unregister("stage")
        connection.register("stage", made)
        connection.execute(f"INSERT INTO predictions ({', '.join(names)}) SELECT {typed} FROM stage")
        connection.unregister("stage")


# ---- explaining ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item got its labels."""

    title: str
    predictions: list[Prediction]
    provenance: str
    terms: Mapping[str, list[tuple[str, float]]]
    """Scheme -> strongest terms with their weight for the label."""
    neighbours: list[tuple[Hit, Mapping[str, str]]]
    """Nearest items that have gold labels, with these labels."""


def explain(store: Store, bundle: Bundle, repo: str, number: int, count: int = 5) -> Explanation:
    """Say what spoke for each label of one item: its terms, and the nearest labelled items.

    Raises:
        InputError: the item is unknown, or was not classified yet.
    """
    with store.read() as connection:
        rows = connection.execute(
            "SELECT scheme, value, likeliest, probability, abstained, provenance, text_hash FROM predictions "
            "WHERE repo = ? AND number = ? AND model = ?",
            [repo, number, bundle.version],
        ).fetchall()
        titles = connection.execute(
            "SELECT title, body FROM items WHERE repo = ? AND number = ?", [repo, number]
        ).fetchall()
    if not titles:
        raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
    if not rows:
        raise InputError(f"{repo}#{number} has no labels by {bundle.version}: run `embers classify` first")
    from torch_embers.classify.text import model_text

    text = model_text(titles[0][0] or "", titles[0][1], (), bundle.variant)
    order = {scheme: place for place, scheme in enumerate(Taxonomy.load().schemes)}
    found = sorted((Prediction(r[0], r[1], r[3], r[4], r[5], r[2]) for r in rows), key=lambda p: order[p.scheme])
    vector = _vector(store, bundle, rows[0][6])
    terms = {
        said.scheme: [(r.term, r.weight) for r in bundle.models[said.scheme].explain(text, vector, count)]
        for said in found
    }
    labelled = {(g.repo, g.number): g.labels for g in gold.load(store)}
    variant: Any = bundle.variant
    near = [h for h in similar(store, repo, number, 200, variant=variant) if (h.repo, h.number) in labelled]
    return Explanation(
        titles[0][0] or "",
        found,
        found[0].provenance,
        terms,
        [(hit, labelled[hit.repo, hit.number]) for hit in near[:count]],
    )


def _vector(store: Store, bundle: Bundle, text_hash: str) -> NDArray[np.float32]:
    """The stored vector of a text, by the bundle's embedding model with whatever arithmetic."""
    with store.read() as connection:
        found = connection.execute(
            "SELECT coalesce(vector::FLOAT[], wide) FROM embeddings "
            "WHERE text_hash = ? AND split_part(model, '/', 1) = ?",
            [text_hash, bundle.embedding],
        ).fetchall()
    if not found:
        raise InputError(f"the vector of this text is missing in {store.path}: run `embers classify` again")
    return np.array(found[0][0], np.float32)
