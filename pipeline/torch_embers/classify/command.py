"""What `embers classify` does. Needs the extra `classify`: see ``packages.require``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch_embers.classify import card, stage, train
from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.bundle import FILE, Bundle, shipped_folder
from torch_embers.classify.embedding import embed, vectors
from torch_embers.classify.labels import weak_table, wild
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.learning import kept
from torch_embers.classify.learning.features import readable, table
from torch_embers.classify.text import model_text
from torch_embers.errors import InputError, StoreMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from torch_embers.classify.aggregation import Label
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.stage import Labelled
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer


def _own_folder(store: Store) -> Path:
    """Where a classifier trained on this database is kept."""
    return store.path.with_name(store.path.stem + ".model")


def bundle_of(store: Store, model: Path | None) -> Bundle:
    """The classifier to use: that in the named folder, else the user's own, else the shipped one.

    Raises:
        ModelError: there is none.
    """
    own = _own_folder(store)
    return Bundle.load(model or (own if (own / FILE).is_file() else shipped_folder()))


def run(
    store: Store,
    model: Path | None,
    variant: str,
    progress: Progress,
    *,
    train: bool,
) -> Labelled:
    """Update the weak labels, train if asked to, then label every item that is new or changed.

    Args:
        store: the database.
        model: folder of the classifier; None for that of ``bundle_of``.
        variant: text to train on.
        progress: counts the steps.
        train: train first.

    Raises:
        EmbersError: no database or no model.
    """
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: run `embers mine` first")
    bundle = None if train else bundle_of(store, model)
    embedder = embed.load_embedder() if bundle is None else embed.load_matching(bundle.embedding)
    with store.writer("embers classify") as writer:
        weak_table.label_items(store, writer)
        if bundle is None:
            model = model or _own_folder(store)
            _train(store, writer, embedder, model, variant, progress.said)
            bundle = Bundle.load(model)
        labelled = stage.classify(store, writer, bundle, embedder, progress)
        _embed_for_search(store, writer, bundle, embedder, progress)
        return labelled


def _embed_for_search(
    store: Store,
    writer: Writer,
    bundle: Bundle,
    embedder: Embedder,
    progress: Progress,
) -> None:
    """Make the vectors that search compares, where the classifier reads those of another encoder."""
    searching = embed.load_embedder()
    if searching.model_id != embedder.model_id:
        progress.said(f"vectors of {searching.model_id} for search")
        vectors.embed_items(store, writer, searching, variant=bundle.variant)


def label_texts(texts: Sequence[str], model: Path | None) -> list[Label]:
    """Label texts that are in no database; the first line of each is its title.

    Raises:
        InputError: a text holds no words.
        ModelError: the classifier cannot be read, or was trained with another embedding model.
    """
    bundle = Bundle.load(model or shipped_folder())
    embedder = embed.load_matching(bundle.embedding)
    stage.check_embedding(bundle, embedder)
    cut = [text.strip().partition("\n")[::2] for text in texts]
    read = [model_text(title, body, variant=bundle.variant) for title, body in cut]
    if empty := [place for place, text in enumerate(read) if not text]:
        raise InputError(f"text number {empty[0]} holds no words that the classifier reads")
    keys = [("", place) for place in range(len(read))]
    votes = {
        key: Labeller.load().votes(title, body if bundle.variant != "title" else None, None)
        for key, (title, body) in zip(keys, cut, strict=True)
    }
    items = table(read, embedder.encode(read), [train.vote_names(votes[key]) for key in keys])
    return Aggregator(bundle).labels(keys, bundle.probabilities(items), readable(items), votes)


def _train(
    store: Store, writer: Writer, embedder: Embedder, target: Path, variant: str, say: Callable[[str], None]
) -> None:
    """Train, save, and name the classes and questions that could not be learned."""
    kept.check_target(target)
    chosen: Any = variant
    trained = train.train(store, writer, embedder, chosen, target.name, say, wild.load())
    trained.bundle.save(target, card.files(trained.bundle))
    for name, rare in trained.rare.items():
        named = ", ".join(f"{value} ({count})" for value, count in sorted(rare.items()))
        say(f"{name}: too few labelled items of {named}")
    for name, reason in trained.left_out.items():
        say(f"{name}: left out, {reason}")
