"""Training behind `embers classify --train`: gold, what votes teach beside it, and one judge per question.

Gold is learned from and calibrated on. Items without gold whose votes are sure enough may be learned from as well,
where that was measured to help (``[[use]]`` in data/labelling.toml); nothing is ever calibrated or measured on them.
Every row that was learned from is kept with its source.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch_embers.classify.bundle import Bundle, HeldOut, Row, weights_of
from torch_embers.classify.embedding.vectors import embed_items, stored_vectors, text_batches
from torch_embers.classify.judge import Judge, with_votes
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.label_model import class_priors, combine, estimate
from torch_embers.classify.labels.voting import Cast, Voting
from torch_embers.classify.labels.weak import Labeller, Use
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.features import Inputs
from torch_embers.classify.learning.model import HybridClassifier
from torch_embers.classify.questions import questions
from torch_embers.errors import InputError
from torch_embers.statistics.splits import grouped_folds, join_groups, near_duplicates
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.embedding.vectors import ItemText
    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.label_model import Accuracy, Gold
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question
    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store
    from torch_embers.store.writer import Writer

    Key = tuple[str, int]

LEAST_PER_CLASS = 3
"""A class with fewer labelled items cannot be held out and learned at once: its items are left out, and said so."""
GOLD, WEAK = "gold", "weak"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training used and what it left out."""

    bundle: Bundle
    items: Mapping[str, int]
    """Question -> items with gold that it was learned from."""
    rare: Mapping[str, Mapping[str, int]]
    """Question -> class -> labelled items of classes too rare to learn."""
    left_out: Mapping[str, str]
    """Questions that cannot be learned -> why."""


@dataclass(frozen=True)
class Lessons:
    """All that can be learned from, whatever the question."""

    gold: Sequence[GoldItem]
    votes: Mapping[Key, Sequence[WeakLabel]]
    texts: Mapping[Key, ItemText]
    """Of items that have a text and gold or votes."""
    labeller: Labeller
    taxonomy: Taxonomy
    links: Sequence[tuple[Key, Key]] = ()
    """Items that tell of the same bug: they are held out together."""
    answers: Mapping[Key, Gold] = field(default_factory=dict)

    def vouched(self, keys: Iterable[Key]) -> dict[Key, Gold]:
        """Gold of these items."""
        return {key: self.answers[key] for key in keys}


def train(
    store: Store, writer: Writer, embedder: Embedder, variant: Variant, name: str, say: Callable[[str], None]
) -> Trained:
    """Train a judge for every question of the taxonomy that gold has enough items for.

    Raises:
        InputError: no gold labels, or not one question that can be learned.
    """
    lessons = lessons_of(store, writer, embedder, variant)
    judges: dict[str, Judge] = {}
    held_out: dict[str, tuple[HeldOut, ...]] = {}
    rows: dict[str, tuple[Row, ...]] = {}
    rare: dict[str, dict[str, int]] = {}
    left: dict[str, str] = {}
    for question in questions(lessons.taxonomy):
        if question.only:
            continue
        learned, rare[question.name] = learnable(question, lessons.gold, lessons.texts)
        if len(classes := {row.label for row in learned}) < 2:
            only = f"only {next(iter(classes))}" if classes else "no class"
            left[question.name] = f"{only} has {LEAST_PER_CLASS} or more labelled items"
            continue
        taught = teachable(question, lessons, classes)
        say(f"{question.name}: learning from {len(learned)} labelled items" + _also(taught))
        judge, probabilities = fit(question, lessons, [*learned, *taught], store, embedder)
        judges[question.name], rows[question.name] = judge, (*learned, *taught)
        held_out[question.name] = tuple(
            HeldOut(row.repo, row.number, tuple(map(float, p))) for row, p in zip(learned, probabilities, strict=True)
        )
    if not judges:
        raise InputError(
            f"no scheme has two classes with {LEAST_PER_CLASS} labelled items: label more (`embers label`)"
        )
    bundle = Bundle(name, variant, weights_of(embedder.model_id), lessons.taxonomy.digest, judges, held_out, rows)
    counts = {name: sum(row.weight >= 1 for row in own) for name, own in rows.items()}
    return Trained(bundle, counts, {name: few for name, few in rare.items() if few}, left)


def _also(taught: Sequence[Row]) -> str:
    return f" and {len(taught)} that votes label" if taught else ""


def lessons_of(store: Store, writer: Writer, embedder: Embedder, variant: Variant) -> Lessons:
    """Read everything that can be learned from; texts without a vector are embedded.

    Raises:
        InputError: no gold labels.
    """
    taxonomy, labeller = Taxonomy.load(), Labeller.load()
    labelled = gold.load(store, taxonomy=taxonomy)
    if not labelled:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    embed_items(store, writer, embedder, variant=variant)
    schemes = {use.scheme for use in labeller.uses.values() if use.taught}
    with store.read() as connection:
        votes = read_votes(connection)
        links = connection.execute(_LINKS).fetchall()
    wanted = {(item.repo, item.number) for item in labelled}
    wanted |= {key for key, said in votes.items() if any(vote.scheme in schemes for vote in said)}
    found = (text for batch in text_batches(store, variant) for text in batch)
    texts = {(t.repo, t.number): t for t in found if t.text_hash and (t.repo, t.number) in wanted}
    pairs = [((one_repo, one), (other_repo, other)) for one_repo, one, other_repo, other in links]
    answers = {(item.repo, item.number): item.answers for item in labelled}
    return Lessons(labelled, votes, texts, labeller, taxonomy, pairs, answers)


_LINKS = """
    SELECT DISTINCT repo, number, target_repo, target_number FROM links
    WHERE number IS NOT NULL AND target_number IS NOT NULL AND relation <> 'mentions' ORDER BY ALL"""


# ---- rows ----------------------------------------------------------------------------------------------------------


def learnable(
    question: Question, labelled: Sequence[GoldItem], texts: Mapping[Key, Any]
) -> tuple[list[Row], dict[str, int]]:
    """Rows of the classes that have enough labelled items, and how many items of the others there are."""
    rows = [
        Row(item.repo, item.number, truth, 1.0, f"{GOLD}:{item.annotators[question.scheme]}")
        for item in labelled
        if (truth := question.truth(item)) is not None and (item.repo, item.number) in texts
    ]
    counted = Counter(row.label for row in rows)
    rare = {value: count for value, count in counted.items() if count < LEAST_PER_CLASS}
    return [row for row in rows if row.label not in rare], rare


def teachable(question: Question, lessons: Lessons, classes: set[str]) -> list[Row]:
    """Rows of items without gold whose votes are sure enough, the surest of each class.

    The accuracies are those of all gold: none of it is of these items.
    """
    use = lessons.labeller.uses.get(question.scheme)
    if use is None or not use.taught or question.narrowed or question.member:
        return []
    counts = Counter(truth for item in lessons.gold if (truth := question.truth(item)))
    accuracies = estimate({key: lessons.votes.get(key, ()) for key in lessons.answers}, lessons.answers)
    found: dict[str, list[tuple[float, Row]]] = defaultdict(list)
    for key, said in sorted(lessons.votes.items()):
        if key in lessons.texts and key not in lessons.answers:
            row = _taught(question, lessons, key, said, use, accuracies)
            if row is not None and row.label in classes:
                found[row.label].append((-row.weight, row))
    chosen = []
    for label, rows in sorted(found.items()):
        rows.sort(key=lambda one: (one[0], one[1].repo, one[1].number))
        chosen += [row for _, row in rows[: int(use.per_class * counts[label])]]
    return chosen


def _taught(
    question: Question,
    lessons: Lessons,
    key: Key,
    said: Sequence[WeakLabel],
    use: Use,
    accuracies: Mapping[str, Accuracy],
) -> Row | None:
    """The row of one item; under a parent class, the item must also be of that class."""
    own = [vote for vote in said if vote.scheme == question.scheme]
    if not own:
        return None
    shares = combine(own, accuracies, class_priors(lessons.answers, question.scheme, lessons.taxonomy))
    label = max(sorted(shares), key=lambda value: shares[value])
    sure = shares[label]
    if question.parent:
        above = [vote for vote in said if vote.scheme == question.parent]
        priors = class_priors(lessons.answers, question.parent, lessons.taxonomy)
        sure *= combine(above, accuracies, priors)[question.under]
    if sure < use.least:
        return None
    names = "+".join(sorted({vote.function for vote in own if vote.value == label}))
    return Row(*key, label, use.weight * sure, f"{WEAK}:{names}") if names else None


# ---- fitting -------------------------------------------------------------------------------------------------------


def fit(
    question: Question, lessons: Lessons, rows: Sequence[Row], store: Store, embedder: Embedder
) -> tuple[Judge, NDArray[np.float64]]:
    """Fit the judge of a question.

    Returns:
        The judge, and calibrated probabilities float64 [gold rows, classes], each by models and measurements of votes
        that have not seen the item or its group.
    """
    items = [lessons.texts[row.repo, row.number] for row in rows]
    vectors = stored_vectors(store, embedder.model_id, embedder.dim, [item.text_hash for item in items])
    inputs = Inputs.of([item.text for item in items], vectors)
    judged = [row.source.startswith(GOLD) for row in rows]
    groups = join_groups(
        near_duplicates([item.text for item in items]).tolist(),
        linked([(row.repo, row.number) for row in rows], lessons.links),
    )
    labels, sure = [row.label for row in rows], [row.weight for row in rows]
    model = HybridClassifier(question.name)
    model.fit(inputs, None, labels, groups.tolist(), sure, judged)
    use = lessons.labeller.uses.get(question.scheme)
    own = [place for place, known in enumerate(judged) if known]
    if model.out_of_fold is None:
        raise InputError(f"{question.name}: a classifier that is kept must be fitted with folds")
    if use is None or not use.combined:
        return Judge.of_text(model), model.out_of_fold
    keys = [(rows[place].repo, rows[place].number) for place in own]
    truth = [labels[place] for place in own]
    splits = grouped_folds(truth, groups[own].tolist(), model.settings.folds, model.settings.seed)

    classes = {value: label for value, label in question.values().items() if label in model.classes}

    def measured(chosen: NDArray[np.int64] | None) -> Voting:
        vouching = keys if chosen is None else [keys[place] for place in chosen]
        return Voting.measured(classes, question.scheme, lessons.votes, lessons.vouched(vouching), lessons.labeller)

    cast = Cast.of([lessons.votes.get(key, ()) for key in keys], lessons.labeller)
    return with_votes(model, truth, cast, splits, measured)


def linked(items: Sequence[Key], links: Sequence[tuple[Key, Key]]) -> list[int]:
    """A number per item, equal where links join items, also by way of others."""
    place = {item: at for at, item in enumerate(items)}
    root = list(range(len(items)))

    def find(at: int) -> int:
        while root[at] != at:
            root[at] = at = root[root[at]]
        return at

    for one, other in links:
        if one in place and other in place:
            low, high = sorted((find(place[one]), find(place[other])))
            root[high] = low
    return [find(at) for at in range(len(items))]
