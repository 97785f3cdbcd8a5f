"""Training behind `embers classify --train`: one combiner per question, from gold labels and, if it helps, weak ones.

Classifiers are trained and calibrated on gold labels. Items without gold labels whose votes are certain enough are
added to the training rows where that was measured to help (``[[use]]`` in data/labelling.toml); nothing is calibrated
or measured on them. Every training row is kept with its source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from torch_embers.classify.bundle import Bundle, HeldOut, TrainingRow, weights_of
from torch_embers.classify.combiner import Combiner, fit_combiner
from torch_embers.classify.embedding.vectors import embed_items, stored_vectors, text_batches
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.label_model import class_priors, combine, estimate
from torch_embers.classify.labels.vote_weights import VoteMatrix, VoteWeights
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.features import Inputs
from torch_embers.classify.learning.model import HybridClassifier
from torch_embers.classify.questions import questions
from torch_embers.errors import InputError
from torch_embers.statistics.splits import grouped_folds, join_groups, linked_groups, near_duplicates
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.embedding.vectors import ItemText
    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.label_model import Accuracy, Gold
    from torch_embers.classify.labels.labelling_file import Use
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question
    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

LEAST_PER_CLASS = 3
"""A class with fewer labelled items cannot be both learned and held out: its items are left out and counted."""
GOLD, WEAK = "gold", "weak"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training used and what it left out."""

    bundle: Bundle
    rare: Mapping[str, Mapping[str, int]]
    """Question -> class -> labelled items of classes too rare to learn."""
    left_out: Mapping[str, str]
    """Questions that cannot be learned -> why."""


@dataclass(frozen=True)
class TrainingData:
    """Everything that can be learned from, for all questions."""

    gold: Sequence[GoldItem]
    votes: Mapping[Key, Sequence[WeakLabel]]
    texts: Mapping[Key, ItemText]
    """Of items that have a text and gold labels or votes."""
    labeller: Labeller
    taxonomy: Taxonomy
    links: Sequence[tuple[Key, Key]] = ()
    """Items about the same bug: they are held out together."""
    answers: Mapping[Key, Gold] = field(default_factory=dict)

    def gold_of(self, keys: Iterable[Key]) -> dict[Key, Gold]:
        """Gold answers of these items."""
        return {key: self.answers[key] for key in keys}


def train(
    store: Store, writer: Writer, embedder: Embedder, variant: Variant, name: str, say: Callable[[str], None]
) -> Trained:
    """Train a combiner for every question of the taxonomy that has enough items with gold labels.

    Raises:
        InputError: no gold labels, or not one question that can be learned.
    """
    data = read_training_data(store, writer, embedder, variant)
    combiners: dict[str, Combiner] = {}
    held_out: dict[str, tuple[HeldOut, ...]] = {}
    rows: dict[str, tuple[TrainingRow, ...]] = {}
    rare: dict[str, dict[str, int]] = {}
    left: dict[str, str] = {}
    for question in questions(data.taxonomy):
        if question.only:
            continue
        learned, rare[question.name] = gold_rows(question, data.gold, data.texts)
        if len(classes := {row.label for row in learned}) < 2:
            only = f"only {next(iter(classes))}" if classes else "no class"
            left[question.name] = f"{only} has {LEAST_PER_CLASS} or more labelled items"
            continue
        weak = weak_rows(question, data, classes)
        say(f"{question.name}: learning from {len(learned)} labelled items" + _also(weak))
        combiner, probabilities = fit(question, data, [*learned, *weak], store, embedder)
        combiners[question.name], rows[question.name] = combiner, (*learned, *weak)
        held_out[question.name] = tuple(
            HeldOut(row.repo, row.number, tuple(map(float, p))) for row, p in zip(learned, probabilities, strict=True)
        )
    if not combiners:
        raise InputError(
            f"no scheme has two classes with {LEAST_PER_CLASS} labelled items: label more (`embers label`)"
        )
    bundle = Bundle(name, variant, weights_of(embedder.model_id), data.taxonomy.digest, combiners, held_out, rows)
    return Trained(bundle, {name: few for name, few in rare.items() if few}, left)


def _also(weak: Sequence[TrainingRow]) -> str:
    return f" and {len(weak)} that votes label" if weak else ""


def read_training_data(store: Store, writer: Writer, embedder: Embedder, variant: Variant) -> TrainingData:
    """Read everything that can be learned from; texts without a vector are embedded.

    Raises:
        InputError: no gold labels.
    """
    taxonomy, labeller = Taxonomy.load(), Labeller.load()
    labelled = gold.load(store, taxonomy=taxonomy)
    if not labelled:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    embed_items(store, writer, embedder, variant=variant)
    schemes = {use.scheme for use in labeller.uses.values() if use.trained}
    with store.read() as connection:
        votes = read_votes(connection)
        links = connection.execute(LINKS).fetchall()
    wanted = {(item.repo, item.number) for item in labelled}
    wanted |= {key for key, own in votes.items() if any(vote.scheme in schemes for vote in own)}
    texts = {
        (text.repo, text.number): text
        for batch in text_batches(store, variant, only=wanted)
        for text in batch
        if text.text_hash
    }
    pairs = [((one_repo, one), (other_repo, other)) for one_repo, one, other_repo, other in links]
    answers = {(item.repo, item.number): item.answers for item in labelled}
    return TrainingData(labelled, votes, texts, labeller, taxonomy, pairs, answers)


LINKS = """
    SELECT DISTINCT repo, number, target_repo, target_number FROM links
    WHERE number IS NOT NULL AND target_number IS NOT NULL AND relation <> 'mentions' ORDER BY ALL"""
"""Items about the same bug: they must be held out together."""


# ---- rows ----------------------------------------------------------------------------------------------------------


def gold_rows(
    question: Question, labelled: Sequence[GoldItem], texts: Mapping[Key, Any]
) -> tuple[list[TrainingRow], dict[str, int]]:
    """Rows of the classes that have enough labelled items, and how many items of the others there are."""
    rows = [
        TrainingRow(item.repo, item.number, truth, 1.0, f"{GOLD}:{item.annotators[question.scheme]}")
        for item in labelled
        if (truth := question.truth(item)) is not None and (item.repo, item.number) in texts
    ]
    counted = Counter(row.label for row in rows)
    rare = {value: count for value, count in counted.items() if count < LEAST_PER_CLASS}
    return [row for row in rows if row.label not in rare], rare


def weak_rows(question: Question, data: TrainingData, classes: set[str]) -> list[TrainingRow]:
    """Rows of items without gold labels whose votes are certain enough, the most certain of each class.

    The accuracies of the functions are estimated on all gold labels, none of which are of these items.
    """
    use = data.labeller.uses.get(question.scheme)
    if use is None or not use.trained or question.narrowed or question.member:
        return []
    counts = Counter(truth for item in data.gold if (truth := question.truth(item)))
    accuracies = estimate({key: data.votes.get(key, ()) for key in data.answers}, data.answers)
    rows: dict[str, list[TrainingRow]] = defaultdict(list)
    for key, votes in data.votes.items():
        if key in data.texts and key not in data.answers:
            row = _weak_row(question, data, key, votes, use, accuracies)
            if row is not None and row.label in classes:
                rows[row.label].append(row)
    chosen: list[TrainingRow] = []
    for label, own in sorted(rows.items()):
        own.sort(key=lambda row: (-row.weight, row.repo, row.number))
        chosen += own[: int(use.per_class * counts[label])]
    return chosen


def _weak_row(
    question: Question,
    data: TrainingData,
    key: Key,
    votes: Sequence[WeakLabel],
    use: Use,
    accuracies: Mapping[str, Accuracy],
) -> TrainingRow | None:
    """The row of one item; under a parent class, the item must also be of that class."""

    def probabilities(scheme: str) -> dict[str, float]:
        own = [vote for vote in votes if vote.scheme == scheme]
        return combine(own, accuracies, class_priors(data.answers, scheme, data.taxonomy))

    if not any(vote.scheme == question.scheme for vote in votes):
        return None
    shares = probabilities(question.scheme)
    label = max(sorted(shares), key=lambda value: shares[value])
    probability = shares[label]
    if question.parent:
        probability *= probabilities(question.parent)[question.under]
    if probability < use.min_probability:
        return None
    names = "+".join(sorted({v.function for v in votes if v.scheme == question.scheme and v.value == label}))
    return TrainingRow(*key, label, use.weight * probability, f"{WEAK}:{names}") if names else None


# ---- fitting -------------------------------------------------------------------------------------------------------


def fit(
    question: Question, data: TrainingData, rows: Sequence[TrainingRow], store: Store, embedder: Embedder
) -> tuple[Combiner, NDArray[np.float64]]:
    """Fit the combiner of a question.

    Returns:
        The combiner, and calibrated held-out probabilities float64 [gold rows, classes]: neither the classifier nor
        the vote weights behind a row have seen the item or its group.
    """
    items = [data.texts[row.repo, row.number] for row in rows]
    vectors = stored_vectors(store, embedder.model_id, embedder.dim, [item.text_hash for item in items])
    inputs = Inputs.of([item.text for item in items], vectors)
    is_gold = [row.source.startswith(GOLD) for row in rows]
    groups = join_groups(
        near_duplicates([item.text for item in items]).tolist(),
        linked([(row.repo, row.number) for row in rows], data.links).tolist(),
    )
    labels = [row.label for row in rows]
    model = HybridClassifier(question.name)
    model.fit(inputs, None, labels, groups.tolist(), [row.weight for row in rows], is_gold)
    if model.out_of_fold is None:
        raise InputError(f"{question.name}: a classifier that is kept must be fitted with folds")
    use = data.labeller.uses.get(question.scheme)
    if use is None or not use.combined:
        return Combiner.text_only(model), model.out_of_fold
    own = np.flatnonzero(is_gold)
    keys = [(rows[place].repo, rows[place].number) for place in own.tolist()]
    truth = [labels[place] for place in own.tolist()]
    splits = grouped_folds(truth, groups[own].tolist(), model.settings.folds, model.settings.seed)
    classes = {value: label for value, label in question.values().items() if label in model.classes}

    def weights(chosen: NDArray[np.int64] | None) -> VoteWeights:
        known = keys if chosen is None else [keys[place] for place in chosen]
        return VoteWeights.estimate(classes, question.scheme, data.votes, data.gold_of(known), data.labeller)

    votes = VoteMatrix.of([data.votes.get(key, ()) for key in keys], data.labeller)
    return fit_combiner(model, truth, votes, splits, weights)


def linked(items: Sequence[Key], links: Sequence[tuple[Key, Key]]) -> NDArray[np.int64]:
    """Number the groups of items that links join, also by way of others: int64 [items]."""
    place = {item: at for at, item in enumerate(items)}
    return linked_groups(len(items), [(place[a], place[b]) for a, b in links if a in place and b in place])
