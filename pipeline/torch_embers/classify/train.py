"""Training behind `embers classify --train`: one classifier per question, from gold labels and, if it helps, weak ones.

Classifiers learn from the gold labels of the database and from items that were drawn at random (``labels/wild.py``);
the latter set temperature and threshold, as they are what users have. Items without gold labels whose class
maintainers' labels name are added to the training rows where that was measured to help (``[[use]]`` in
data/labelling.toml); nothing is calibrated or measured on them. Every training row is kept with its source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.bundle import Bundle, HeldOut, TrainingRow, weights_of
from torch_embers.classify.embedding.vectors import ItemText, embed_items, stored_vectors, text_batches, text_hash
from torch_embers.classify.labels import gold, wild
from torch_embers.classify.labels.weak import EXECUTION, LABEL, Labeller
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.calibration import DIGITS
from torch_embers.classify.learning.features import fit_features, table
from torch_embers.classify.learning.model import Classifier, Settings
from torch_embers.classify.questions import questions
from torch_embers.classify.text import model_text, title_text
from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups, linked_groups, near_duplicates
from torch_embers.store import renames
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray
    from sklearn.compose import ColumnTransformer

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.label_model import Gold
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.labels.wild import WildItem
    from torch_embers.classify.questions import Question
    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

LEAST_PER_CLASS = 3
"""A class with fewer labelled items cannot be both learned and held out: its items are left out and counted."""
GOLD, WEAK = "gold", "weak"
DRAWN = f"{GOLD}:{wild.DRAWN_BY}"
"""Source of the rows of items that were drawn at random."""
SHIPPED = frozenset({DRAWN, f"{GOLD}:{wild.TARGETED_BY}"})
"""Sources of rows that come with embers: alone they are no reason to ask a question."""


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
    drawn: frozenset[Key] = frozenset()
    """Items that are not in the database, but were drawn at random."""
    judged: frozenset[Key] = frozenset()
    """Those of them that set temperatures and thresholds."""

    def table(self, keys: Sequence[Key], store: Store, embedder: Embedder) -> pd.DataFrame:
        """What the classifiers read of these items."""
        texts = [self.texts[key] for key in keys]
        vectors = stored_vectors(store, embedder.model_id, embedder.dim, [text.text_hash for text in texts])
        if drawn := [place for place, key in enumerate(keys) if key in self.drawn]:
            vectors[drawn] = embedder.encode([texts[place].text for place in drawn])
        return table([text.text for text in texts], vectors, [vote_names(self.votes.get(key, ())) for key in keys])


def train(
    store: Store,
    writer: Writer,
    embedder: Embedder,
    variant: Variant,
    name: str,
    say: Callable[[str], None],
    drawn: Sequence[WildItem] = (),
) -> Trained:
    """Train a classifier for every question of the taxonomy that has enough items with gold labels.

    Args:
        store: the database with the gold labels.
        writer: its writer.
        embedder: gives the vectors.
        variant: the text that is read.
        name: of the bundle.
        say: gets a line per question.
        drawn: items that were drawn at random; issues of the development half are learned from, by their titles.

    Raises:
        InputError: no gold labels, or not one question that can be learned.
    """
    data = read_training_data(store, writer, embedder, variant, drawn)
    rows: dict[str, tuple[list[TrainingRow], list[TrainingRow]]] = {}
    rare: dict[str, dict[str, int]] = {}
    left: dict[str, str] = {}
    asked = {question.name: question for question in questions(data.taxonomy) if not question.only}
    for question in asked.values():
        learned, rare[question.name] = gold_rows(question, data)
        chosen = {row.label for row in learned if row.source not in SHIPPED}
        if len(chosen) < 2:
            only = f"only {next(iter(chosen))}" if chosen else "no class"
            left[question.name] = f"{only} has {LEAST_PER_CLASS} or more labelled items"
        else:
            rows[question.name] = learned, weak_rows(question, data, {row.label for row in learned})
    if not rows:
        raise InputError(
            f"no scheme has two classes with {LEAST_PER_CLASS} labelled items: label more (`embers data label`)"
        )
    keys = sorted({(row.repo, row.number) for parts in rows.values() for part in parts for row in part})
    items = data.table(keys, store, embedder)
    how = Settings()
    features = fit_features(items, how.views, how.min_df, how.max_features, functions_of(data.labeller))
    classifiers: dict[str, Classifier] = {}
    held_out: dict[str, tuple[HeldOut, ...]] = {}
    for place, (learned, weak) in rows.items():
        say(f"{place}: learning from {len(learned)} labelled items" + _also(weak))
        # terms of a narrow question are weighed among its own items: what is rare in all may be common there
        own = None if asked[place].narrowed else features
        one = fit(asked[place], data, [*learned, *weak], keys, items, own)
        classifiers[place] = one
        probabilities = one.out_of_fold if one.out_of_fold is not None else np.zeros((0, 0))
        held_out[place] = tuple(
            HeldOut(row.repo, row.number, tuple(round(float(p), DIGITS) for p in own))
            for row, own in zip(learned, probabilities, strict=True)
        )
    every = {place: (*learned, *weak) for place, (learned, weak) in rows.items()}
    bundle = Bundle(
        name,
        variant,
        weights_of(embedder.model_id),
        data.taxonomy.digest,
        # in the order in which it is loaded, so that the card that is written now is that of the saved classifier
        dict(sorted(classifiers.items())),
        dict(sorted(held_out.items())),
        dict(sorted(every.items())),
    )
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


def read_training_data(
    store: Store, writer: Writer, embedder: Embedder, variant: Variant, drawn: Sequence[WildItem] = ()
) -> TrainingData:
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
        present = renames.former(connection)
    wanted = {(item.repo, item.number) for item in labelled}
    wanted |= {key for key, own in votes.items() if any(vote.scheme in schemes for vote in own)}
    texts = {
        (text.repo, text.number): text
        for batch in text_batches(store, variant, only=wanted)
        for text in batch
        if text.text_hash
    }
    pairs = [((one_repo, one), (other_repo, other)) for one_repo, one, other_repo, other in links]
    data = TrainingData(labelled, votes, texts, labeller, taxonomy, pairs, _answers(labelled))
    return with_drawn(data, drawn, variant, present)


def with_drawn(
    data: TrainingData, drawn: Sequence[WildItem], variant: Variant, present: Mapping[str, str] | None = None
) -> TrainingData:
    """The data with the issues of the development half, by their titles, and without all other drawn items.

    Whoever labelled an item of the test half, nothing is learned from it: an item is taken for one where repository
    and number are the same, or the title. An issue of the development half with gold labels of its own keeps those.

    Args:
        data: what the database holds.
        drawn: items that were drawn at random.
        variant: the text that is read.
        present: names that repositories have now, by former name.
    """
    data = _without(data, [item for item in drawn if item.part != "development"], present or {})
    halves = {_place(item, present or {}): item for item in drawn if item.part == "development"}
    own = {key: item for key, item in halves.items() if item.kind == "issue" and key not in data.answers}
    texts = {key: model_text(item.title, None, (), variant) for key, item in own.items()}
    labelled = [*data.gold, *wild.gold_items(own, data.taxonomy)]
    return replace(
        data,
        gold=labelled,
        votes={**data.votes, **{key: data.labeller.votes(item.title, None, None) for key, item in own.items()}},
        texts={**data.texts, **{key: ItemText(*key, text, text_hash(text), "") for key, text in texts.items()}},
        answers=_answers(labelled),
        drawn=frozenset(texts),
        judged=frozenset(key for key, item in own.items() if item.two_read),
    )


def _without(data: TrainingData, apart: Sequence[WildItem], present: Mapping[str, str]) -> TrainingData:
    """The data without the items that are to be kept apart."""
    titles = {text_hash(title_text(item.title)) for item in apart} - {""}
    keys = {_place(item, present) for item in apart}
    # whatever is read of an item, its title is the first line
    keys |= {key for key, text in data.texts.items() if text_hash(text.text.partition("\n")[0]) in titles}
    kept = [item for item in data.gold if (item.repo, item.number) not in keys]
    return replace(
        data,
        gold=kept,
        votes={key: votes for key, votes in data.votes.items() if key not in keys},
        texts={key: text for key, text in data.texts.items() if key not in keys},
        answers=_answers(kept),
    )


def _place(item: WildItem, present: Mapping[str, str]) -> Key:
    """Repository and number of an item under the name that the repository has now."""
    repo, number = item.place
    return present.get(repo, repo), number


def _answers(labelled: Sequence[GoldItem]) -> dict[Key, Gold]:
    return {(item.repo, item.number): item.answers for item in labelled}


LINKS = """
    SELECT DISTINCT repo, number, target_repo, target_number FROM links
    WHERE number IS NOT NULL AND target_number IS NOT NULL AND relation <> 'mentions' ORDER BY ALL"""
"""Items about the same bug: they must be held out together."""


# ---- rows ----------------------------------------------------------------------------------------------------------


def gold_rows(question: Question, data: TrainingData) -> tuple[list[TrainingRow], dict[str, int]]:
    """Rows of the classes that have enough labelled items, and how many items of the others there are."""
    use = data.labeller.uses.get(question.scheme)
    rows = [
        TrainingRow(*key, truth, use.drawn_weight if use and source == DRAWN else 1.0, source)
        for item in data.gold
        if (truth := question.truth(item)) is not None and (key := (item.repo, item.number)) in data.texts
        for source in (f"{GOLD}:{item.annotators[question.scheme]}",)
    ]
    counted, own = Counter(row.label for row in rows), Counter(row.label for row in rows if row.source not in SHIPPED)
    rare = {value: own[value] for value, count in counted.items() if count < LEAST_PER_CLASS and own[value]}
    return [row for row in rows if counted[row.label] >= LEAST_PER_CLASS], rare


def weak_rows(question: Question, data: TrainingData, classes: set[str]) -> list[TrainingRow]:
    """Rows of items without gold labels for which maintainers' labels name one class; of each class the first by hash.

    Words do not count: they are read from the text as well, and would teach it nothing.
    """
    use = data.labeller.uses.get(question.scheme)
    if use is None or not use.trained or question.narrowed or question.member:
        return []
    kinds = data.labeller.names()
    functions = {
        name: value for name, value in all_claims(question, data.labeller, classes).items() if kinds[name][2] == LABEL
    }
    rows: dict[str, list[TrainingRow]] = defaultdict(list)
    for key in data.votes.keys() & data.texts.keys() - data.answers.keys():
        named = {vote.function for vote in data.votes[key] if vote.function in functions}
        values = {functions[name] for name in named}
        if len(values) == 1:
            [label] = values
            rows[label].append(TrainingRow(*key, label, use.weight, f"{WEAK}:{'+'.join(sorted(named))}"))
    for own in rows.values():
        own.sort(key=lambda row: data.texts[row.repo, row.number].text_hash)
    return [row for _, own in sorted(rows.items()) for row in own[: use.per_class]]


# ---- fitting -------------------------------------------------------------------------------------------------------


def fit(
    question: Question,
    data: TrainingData,
    rows: Sequence[TrainingRow],
    keys: Sequence[Key],
    items: pd.DataFrame,
    features: ColumnTransformer | None = None,
    settings: Settings | None = None,
) -> Classifier:
    """Fit the classifier of a question.

    Args:
        question: what is asked.
        data: with texts and votes of the rows.
        rows: to learn from; those with gold labels are held out, calibrated on and give the threshold.
        keys: items of the table.
        items: the table.
        features: fitted on the table; fitted on the rows when not given.
        settings: how; the defaults when not given.
    """
    place = {key: at for at, key in enumerate(keys)}
    own = [(row.repo, row.number) for row in rows]
    groups = join_groups(
        near_duplicates([data.texts[key].text for key in own]).tolist(), linked(own, data.links).tolist()
    )
    labels = [row.label for row in rows]
    model = Classifier(question.name, settings or Settings(), votes=claims(question, data.labeller, set(labels)))
    is_gold = [row.source.startswith(GOLD) for row in rows]
    weights = [row.weight for row in rows]
    table_of = items.iloc[[place[key] for key in own]]
    judged = [key in data.judged for key in own]
    return model.fit(table_of, labels, groups.tolist(), weights, is_gold, features, judged)


def linked(items: Sequence[Key], links: Sequence[tuple[Key, Key]]) -> NDArray[np.int64]:
    """Number the groups of items that links join, also by way of others: int64 [items]."""
    place = {item: at for at, item in enumerate(items)}
    return linked_groups(len(items), [(place[a], place[b]) for a, b in links if a in place and b in place])
