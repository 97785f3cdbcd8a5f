"""What `embers classify` does. Needs the extra `classify`: see ``packages.require``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch_embers.classify import label_items
from torch_embers.classify import model as models
from torch_embers.classify.aggregation import Aggregator
from torch_embers.classify.embedding import embed
from torch_embers.classify.examples import vote_names
from torch_embers.classify.features import Item
from torch_embers.classify.labels import weak_table
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.text import read
from torch_embers.errors import InputError, StoreMissingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch_embers.classify.aggregation import Label
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.label_items import Labelled
    from torch_embers.classify.model import Classifier
    from torch_embers.progress import Progress
    from torch_embers.store.store import Store


def _own_folder(store: Store) -> Path:
    """Where a classifier trained on this database is kept."""
    return store.path.with_name(store.path.stem + ".model")


def classifier_of(store: Store, folder: Path | None) -> Classifier:
    """The classifier to use: that in the named folder, else the user's own, else the shipped one.

    Raises:
        ModelError: there is none.
    """
    own = _own_folder(store)
    return models.load(folder or (own if (own / models.FILE).is_file() else models.shipped_folder()))


def run(store: Store, folder: Path | None, progress: Progress, *, train: bool) -> Labelled:
    """Update the weak labels, train if asked to, then label every item that is new or changed.

    Args:
        store: the database.
        folder: of the classifier; None for that of ``classifier_of``.
        progress: counts the steps.
        train: train first.

    Raises:
        EmbersError: no database or no classifier.
    """
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: run `embers mine` first")
    classifier = None if train else classifier_of(store, folder)
    embedder = embed.load_embedder()
    if classifier is None:
        target = folder or _own_folder(store)
        models.check_target(target)
        classifier = _train(store, embedder, target, progress)
    with store.writer("embers classify") as writer:
        weak_table.label_items(store, writer)
        return label_items.classify(store, writer, classifier, embedder, progress)


def _train(store: Store, embedder: Embedder, target: Path, progress: Progress) -> Classifier:
    """Train and save, with the card."""
    from torch_embers.classify import card  # with scikit-learn it takes seconds
    from torch_embers.classify.train import train

    with store.writer("embers classify --train") as writer:
        weak_table.label_items(store, writer)
    trained = train(store, embedder, target.name, progress.said)
    trained.save(target, {card.FILE: card.text(trained).encode()})
    return trained


def label_texts(texts: Sequence[str], folder: Path | None) -> list[Label]:
    """Label texts that are in no database; the first line of each is its title.

    Raises:
        InputError: a text holds no words.
        ModelError: the classifier cannot be read, or was trained with another encoder.
    """
    classifier = models.load(folder or models.shipped_folder())
    embedder = embed.load_embedder()
    label_items.check_embedding(classifier, embedder)
    cut = [text.strip().partition("\n")[::2] for text in texts]
    keys = [("", place) for place in range(len(cut))]
    votes = {key: Labeller.load().votes(*parts, None) for key, parts in zip(keys, cut, strict=True)}
    items = [Item(read(*parts), vote_names(votes[key])) for key, parts in zip(keys, cut, strict=True)]
    if empty := [place for place, item in enumerate(items) if not item.text.words.strip()]:
        raise InputError(f"text number {empty[0]} holds no words that the classifier reads")
    vectors = embedder.encode([item.text.title for item in items]), embedder.encode([item.text.words for item in items])
    return label_items.labels_of(classifier, Aggregator(classifier), keys, items, votes, vectors)[0]
