"""Evaluation on the gold labels of a database.

Only the labelled items are read, and each text is embedded once, whatever the number of schemes. The text is the
item's own: title, body, comments. A summary of the catalog is never read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.labels import gold
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.learning.features import table
from torch_embers.classify.questions import questions
from torch_embers.classify.text import VARIANTS, bracket_tags, model_text
from torch_embers.classify.train import LEAST_PER_CLASS, LINKS, claims, vote_names
from torch_embers.errors import InputError, StoreMissingError
from torch_embers.evaluate.compare import Report, compare
from torch_embers.evaluate.learners import Hybrid, Learner, usual
from torch_embers.statistics.splits import TimeSplit, join_groups, linked_groups, near_duplicates, time_split
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question
    from torch_embers.progress import Progress
    from torch_embers.statistics.agreement import Agreement
    from torch_embers.statistics.splits import Split
    from torch_embers.store.store import Store

    Embed = Callable[[Sequence[str]], NDArray[np.float32]]
    Key = tuple[str, int]

LEAST_ITEMS = 30
"""With fewer items the interval of any score covers most of what is possible."""

_ITEMS = """
SELECT repo, number, title, body, labels,
       (SELECT list(c.body ORDER BY c.created_at, c.comment_id) FROM comments c
        WHERE c.repo = i.repo AND c.number = i.number AND c.body IS NOT NULL)
FROM items i
WHERE (repo, number) IN (SELECT (repo, number) FROM gold_labels UNION SELECT (repo, number) FROM catalog)
ORDER BY repo, number"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to measure, and how."""

    variant: str = "title_body"
    tags: bool = True
    """Whether bracket tags stay in the titles."""
    cut: datetime | None = None
    """Train on items before this moment and test on later ones; grouped folds when not given."""
    schemes: tuple[str, ...] = ()
    """Only these; all of the taxonomy when empty."""
    more: tuple[Learner, ...] = ()
    """Learners beside the usual ones and the classifier with votes."""
    repeats: int = 1
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Results of an evaluation."""

    reports: tuple[Report, ...]
    agreements: tuple[Agreement, ...]
    skipped: tuple[str, ...]
    """Schemes that cannot be measured, each with the reason."""


@dataclass(frozen=True, slots=True)
class Item:
    """A labelled item as the learners read it."""

    text: str
    gold: GoldItem
    votes: tuple[WeakLabel, ...] = ()
    from_body: bool = False
    """Whether its real body was read, or its title alone."""

    @property
    def key(self) -> tuple[str, int]:
        """Repository and number."""
        return self.gold.repo, self.gold.number


def evaluate(store: Store, wanted: Wanted, embed: Callable[[], Embed], progress: Progress) -> Evaluated:
    """Compare the learners on each question of the taxonomy, and say how annotators agree.

    Args:
        store: a database with gold labels.
        wanted: what to measure.
        embed: loads the embedder; called once there is something to embed.
        progress: gets the number of answers.

    Raises:
        InputError: no gold labels, or an unknown scheme or variant.
        EmbersError: no database, packages missing.
    """
    taxonomy = Taxonomy.load()
    for name in wanted.schemes:
        taxonomy.scheme(name)
    found = items(store, wanted.variant, tags=wanted.tags)
    if not found:
        raise InputError("no gold labels in the database: `embers mine --source catalog` brings the catalog's")
    related = _related(store)
    ready, skipped = [], []
    for question in questions(taxonomy):
        if question.only or (wanted.schemes and question.scheme not in wanted.schemes):
            continue
        chosen, reason = usable(found, question)
        if reason:
            skipped.append(f"{question.name}: {reason}")
        else:
            ready.append((question, chosen))
    vectors = _vectors([item for _, chosen in ready for item in chosen], embed)
    reports = []
    for question, chosen in ready:
        try:
            reports.append(_report(question, found, chosen, related, vectors, wanted, progress))
        except InputError as error:
            skipped.append(f"{question.name}: {error}")
    return Evaluated(tuple(reports), tuple(gold.agreements(store)), tuple(skipped))


def items(store: Store, variant: str, *, tags: bool = True) -> list[Item]:
    """All labelled items that have any text, with the votes of labelling functions on what the learners read.

    Raises:
        InputError: no such variant.
        StoreError: the database is missing or cannot be read.
    """
    if variant not in VARIANTS:
        raise InputError(f"there is no text variant {variant!r} (known: {', '.join(VARIANTS)})")
    if not store.exists():
        raise StoreMissingError(f"no database at {store.path}: run `embers mine` first")
    labelled = {(one.repo, one.number): one for one in gold.load(store)}
    labeller = Labeller.load()
    with store.read() as connection:
        rows = connection.execute(_ITEMS).fetchall()
    found = []
    for repo, number, title, body, labels, comments in rows:
        text = model_text(title or "", body, comments or (), variant, tags)
        if text.strip() and (repo, number) in labelled:
            read = None if variant == "title" else body
            votes = labeller.votes(title if tags else bracket_tags(title or "")[1], read, labels)
            found.append(Item(text, labelled[repo, number], tuple(votes), bool((read or "").strip())))
    return found


def usable(found: Sequence[Item], question: Question) -> tuple[list[Item], str]:
    """Items of classes that can be measured, or why the question cannot be."""
    labelled = [item for item in found if question.truth(item.gold) is not None]
    if not labelled:
        return [], "no gold labels"
    counted = Counter(question.truth(item.gold) for item in labelled)
    chosen = [item for item in labelled if counted[question.truth(item.gold)] >= LEAST_PER_CLASS]
    kept = {question.truth(item.gold) for item in chosen}
    if len(kept) < 2 or len(chosen) < LEAST_ITEMS:
        return [], (
            f"too few gold labels: {len(chosen)} items in {len(kept)} classes of {LEAST_PER_CLASS} or more; "
            f"{LEAST_ITEMS} items in 2 classes are needed (`embers data label --scheme {question.scheme}`)"
        )
    return chosen, ""


def groups_of(chosen: Sequence[Item], related: Mapping[Key, Sequence[Key]]) -> NDArray[np.int64]:
    """Group items that are near-duplicates, or that links join, also by way of others: int64 [items]."""
    firsts = {item.key: place for place, item in enumerate(chosen)}
    # two reports with one fix meet at the fix, whether or not that is labelled
    pairs = [
        (firsts.setdefault(other, place), place)
        for place, item in enumerate(chosen)
        for other in related.get(item.key, ())
    ]
    linked = linked_groups(len(chosen), pairs)
    return join_groups(near_duplicates([item.text for item in chosen]).tolist(), linked.tolist())


def _report(
    question: Question,
    found: Sequence[Item],
    chosen: Sequence[Item],
    related: Mapping[Key, Sequence[Key]],
    vectors: Mapping[str, NDArray[np.float32]],
    wanted: Wanted,
    progress: Progress,
) -> Report:
    labels, texts = [str(question.truth(item.gold)) for item in chosen], [item.text for item in chosen]
    groups = groups_of(chosen, related).tolist()
    notes = _notes(question, found, chosen, wanted)
    splits: list[Split] | None = None
    if wanted.cut is not None:
        dates = [one.replace(tzinfo=UTC) if (one := item.gold.created_at) else None for item in chosen]
        by_time = time_split(dates, groups, wanted.cut)
        splits, more = [by_time], time_notes(by_time, labels, wanted.cut)
        notes.extend(more)
    learners = (*usual(), *wanted.more, *_with_votes(question, chosen))
    progress.said(f"{question.name}: {len(chosen)} labelled items")
    progress.expects(len(learners) * (len(splits[0].test) if splits else wanted.repeats * len(chosen)))
    own = np.array([vectors[text] for text in texts], dtype=np.float32)
    return compare(
        question.name,
        table(texts, own, [vote_names(item.votes) for item in chosen]),
        labels,
        groups,
        learners,
        splits,
        notes,
        repeats=wanted.repeats,
        jobs=wanted.jobs,
        advanced=progress.advanced,
    )


def _with_votes(question: Question, chosen: Sequence[Item]) -> tuple[Learner, ...]:
    """The classifier with votes, where data/labelling.toml says that they are used for this scheme."""
    functions = claims(question, Labeller.load(), {str(question.truth(item.gold)) for item in chosen})
    return (Hybrid(votes=functions),) if functions else ()


def _notes(question: Question, found: Sequence[Item], chosen: Sequence[Item], wanted: Wanted) -> list[str]:
    if wanted.variant == "title":
        notes = [f"text: titles, {'with' if wanted.tags else 'without'} bracket tags"]
    else:
        real = sum(item.from_body for item in chosen)
        notes = [f"text: {real} of {len(chosen)} items with their real body, the others from the title alone"]
    rare = Counter(truth for item in found if (truth := question.truth(item.gold)) is not None)
    rare -= Counter(str(question.truth(item.gold)) for item in chosen)
    if rare:
        named = ", ".join(f"{name} {count}" for name, count in sorted(rare.items()))
        notes.append(f"left out, fewer than {LEAST_PER_CLASS} items: {named}")
    automated = sum(item.gold.annotators[question.scheme].startswith("automated") for item in chosen)
    notes.append(f"labels of {automated} of {len(chosen)} items are by automated annotators")
    return notes


def time_notes(split: TimeSplit, labels: Sequence[str], cut: datetime) -> list[str]:
    """Notes of a report on a split by time."""
    known = {labels[row] for row in split.train}
    new = Counter(labels[row] for row in split.test if labels[row] not in known)
    notes = [
        f"trained on {len(split.train)} before {cut:%Y-%m-%d}, tested on {len(split.test)} after; left out: "
        f"{split.undated} without a date, {split.straddling} whose group was seen"
    ]
    if new:
        named = ", ".join(f"{name} {count}" for name, count in sorted(new.items()))
        notes.append(f"classes without a training item, so that every answer is wrong: {named}")
    return notes


def _vectors(chosen: Sequence[Item], embed: Callable[[], Embed]) -> dict[str, NDArray[np.float32]]:
    texts = list(dict.fromkeys(item.text for item in chosen))
    return dict(zip(texts, embed()(texts), strict=True)) if texts else {}


def _related(store: Store) -> dict[Key, list[Key]]:
    """The items that links join to each item."""
    with store.read() as connection:
        rows = connection.execute(LINKS).fetchall()
    found: dict[Key, list[Key]] = {}
    for repo, number, other_repo, other in rows:
        found.setdefault((repo, number), []).append((other_repo, other))
    return found
