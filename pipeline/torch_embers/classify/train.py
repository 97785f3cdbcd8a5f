"""Training behind `embers classify --train`: one classifier per question, from gold labels and, if it helps, weak ones.

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
from torch_embers.classify.embedding.vectors import embed_items, stored_vectors, text_batches
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.ensemble import fit_votes
from torch_embers.classify.learning.features import fit_features, table
from torch_embers.classify.learning.model import Classifier, Settings
from torch_embers.classify.questions import questions
from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups, linked_groups, near_duplicates
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray
    from sklearn.compose import ColumnTransformer

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.embedding.vectors import ItemText
    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.label_model import Gold
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

    def table(self, keys: Sequence[Key], store: Store, embedder: Embedder) -> pd.DataFrame:
        """What the classifiers read of these items."""
        texts = [self.texts[key] for key in keys]
        vectors = stored_vectors(store, embedder.model_id, embedder.dim, [text.text_hash for text in texts])
        return table([text.text for text in texts], vectors, [vote_names(self.votes.get(key, ())) for key in keys])


def train(
    store: Store, writer: Writer, embedder: Embedder, variant: Variant, name: str, say: Callable[[str], None]
) -> Trained:
    """Train a classifier for every question of the taxonomy that has enough items with gold labels.

    Raises:
        InputError: no gold labels, or not one question that can be learned.
    """
    data = read_training_data(store, writer, embedder, variant)
    rows: dict[str, tuple[list[TrainingRow], list[TrainingRow]]] = {}
    rare: dict[str, dict[str, int]] = {}
    left: dict[str, str] = {}
    asked = {question.name: question for question in questions(data.taxonomy) if not question.only}
    for question in asked.values():
        learned, rare[question.name] = gold_rows(question, data.gold, data.texts)
        if len(classes := {row.label for row in learned}) < 2:
            only = f"only {next(iter(classes))}" if classes else "no class"
            left[question.name] = f"{only} has {LEAST_PER_CLASS} or more labelled items"
        else:
            rows[question.name] = learned, weak_rows(question, data, classes)
    if not rows:
        raise InputError(
            f"no scheme has two classes with {LEAST_PER_CLASS} labelled items: label more (`embers label`)"
        )
    keys = sorted({(row.repo, row.number) for parts in rows.values() for part in parts for row in part})
    items = data.table(keys, store, embedder)
    how = Settings()
    features = fit_features(items, how.views, how.min_df, how.max_features, functions_of(data.labeller))
    classifiers: dict[str, Classifier] = {}
    held_out: dict[str, tuple[HeldOut, ...]] = {}
    for place, (learned, weak) in rows.items():
        say(f"{place}: learning from {len(learned)} labelled items" + _also(weak))
        one = fit(asked[place], data, [*learned, *weak], keys, items, features)
        classifiers[place] = one
        probabilities = one.out_of_fold if one.out_of_fold is not None else np.zeros((0, 0))
        held_out[place] = tuple(
            HeldOut(row.repo, row.number, tuple(map(float, p))) for row, p in zip(learned, probabilities, strict=True)
        )
    every = {place: (*learned, *weak) for place, (learned, weak) in rows.items()}
    bundle = Bundle(name, variant, weights_of(embedder.model_id), data.taxonomy.digest, classifiers, held_out, every)
    return Trained(bundle, {name: few for name, few in rare.items() if few}, left)


def _also(weak: Sequence[TrainingRow]) -> str:
    return f" and {len(weak)} that votes label" if weak else ""


def vote_names(votes: Iterable[WeakLabel]) -> list[str]:
    """Names of the functions that voted on an item, without runs: these decide by themselves."""
    return sorted({vote.function for vote in votes if vote.kind != EXECUTION})


def functions_of(labeller: Labeller) -> list[str]:
    """Names of all functions that read texts and labels."""
    return sorted(name for name, (_, _, kind) in labeller.names().items() if kind != EXECUTION)


def claims(question: Question, labeller: Labeller, classes: Container[str]) -> dict[str, str]:
    """Functions that vote on a question, with their class; none where its scheme makes no use of votes."""
    use = labeller.uses.get(question.scheme)
    if use is None or not use.combined:
        return {}
    return all_claims(question, labeller, classes)


def all_claims(question: Question, labeller: Labeller, classes: Container[str]) -> dict[str, str]:
    """Functions that vote on a question, with their class, whether or not they are used."""
    values = question.values()
    return {
        name: values[value]
        for name, (scheme, value, kind) in sorted(labeller.names().items())
        if scheme == question.scheme and kind != EXECUTION and values.get(value, "") in classes
    }


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

    How certain they are says a regression on the votes of the items with gold labels.
    """
    use = data.labeller.uses.get(question.scheme)
    if use is None or not use.trained or question.narrowed or question.member:
        return []
    known, _ = gold_rows(question, data.gold, data.texts)
    functions = all_claims(question, data.labeller, classes)
    free = [key for key in sorted(data.votes) if key in data.texts and key not in data.answers]
    free = [key for key in free if any(vote.function in functions for vote in data.votes[key])]
    truth = np.array([row.label for row in known], dtype=object)
    matrix = _votes_of([(row.repo, row.number) for row in known], data, functions)
    regression = fit_votes(matrix, truth, list(functions.values()))
    if regression is None or not free:
        return []
    probabilities = regression.predict_proba(_votes_of(free, data, functions))
    rows: dict[str, list[TrainingRow]] = defaultdict(list)
    for key, shares in zip(free, probabilities, strict=True):
        label, probability = str(regression.classes_[shares.argmax()]), float(shares.max())
        named = {vote.function for vote in data.votes[key] if functions.get(vote.function) == label}
        if probability >= use.min_probability and named:
            source = f"{WEAK}:{'+'.join(sorted(named))}"
            rows[label].append(TrainingRow(*key, label, use.weight * probability, source))
    counts = Counter(row.label for row in known)
    chosen: list[TrainingRow] = []
    for label, own in sorted(rows.items()):
        own.sort(key=lambda row: (-row.weight, row.repo, row.number))
        chosen += own[: int(use.per_class * counts[label])]
    return chosen


def _votes_of(keys: Sequence[Key], data: TrainingData, functions: Mapping[str, str]) -> NDArray[np.float64]:
    """Which function voted on which item: float64 [items, functions]."""
    said = [{vote.function for vote in data.votes.get(key, ())} for key in keys]
    return np.array([[name in own for name in functions] for own in said], dtype=np.float64)


# ---- fitting -------------------------------------------------------------------------------------------------------


def fit(
    question: Question,
    data: TrainingData,
    rows: Sequence[TrainingRow],
    keys: Sequence[Key],
    items: pd.DataFrame,
    features: ColumnTransformer | None = None,
) -> Classifier:
    """Fit the classifier of a question.

    Args:
        question: what is asked.
        data: with texts and votes of the rows.
        rows: to learn from; those with gold labels are held out, calibrated on and give the threshold.
        keys: items of the table.
        items: the table.
        features: fitted on the table; fitted on the rows when not given.
    """
    place = {key: at for at, key in enumerate(keys)}
    own = [(row.repo, row.number) for row in rows]
    groups = join_groups(
        near_duplicates([data.texts[key].text for key in own]).tolist(), linked(own, data.links).tolist()
    )
    labels = [row.label for row in rows]
    model = Classifier(question.name, votes=claims(question, data.labeller, set(labels)))
    is_gold = [row.source.startswith(GOLD) for row in rows]
    weights = [row.weight for row in rows]
    table_of = items.iloc[[place[key] for key in own]]
    return model.fit(table_of, labels, groups.tolist(), weights, is_gold, features)


def linked(items: Sequence[Key], links: Sequence[tuple[Key, Key]]) -> NDArray[np.int64]:
    """Number the groups of items that links join, also by way of others: int64 [items]."""
    place = {item: at for at, item in enumerate(items)}
    return linked_groups(len(items), [(place[a], place[b]) for a, b in links if a in place and b in place])
