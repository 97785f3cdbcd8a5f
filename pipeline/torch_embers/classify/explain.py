"""Why an item has its labels: terms of its text, votes, runs, the nearest labelled items, and what was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.embedding.nearest import similar
from torch_embers.classify.embedding.vectors import text_hash
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.weak import EXECUTION
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.learning.features import legible, readable, table
from torch_embers.classify.learning.model import Reason, transformed
from torch_embers.classify.questions import questions
from torch_embers.classify.text import model_text
from torch_embers.classify.train import vote_names
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.bundle import Bundle, TrainingRow
    from torch_embers.classify.embedding.nearest import Hit
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.questions import Question
    from torch_embers.store.store import Store

# Which labels did the classifier give an item, and which vector has its text, by its embedding model with whatever
# arithmetic?
_PREDICTIONS = """
    SELECT scheme, value, likeliest, probability, provenance, (
        SELECT coalesce(vector::FLOAT[], wide) FROM embeddings e
        WHERE e.text_hash = p.text_hash AND split_part(e.model, '/', 1) = $embedding LIMIT 1
    )
    FROM predictions p WHERE repo = $repo AND number = $number AND model = $model"""

NEAR = 200
"""Neighbours among which labelled items are looked for."""


@dataclass(frozen=True, slots=True)
class LabelReasons:
    """Why one label was given."""

    scheme: str
    value: str | None
    likeliest: str
    probability: float
    provenance: str
    terms: Sequence[Reason]
    """Strongest terms with their weight for the label."""
    votes: Sequence[tuple[WeakLabel, float | None]]
    """With the log-odds that each adds; ``None`` where it does not count: a run decides by itself, other votes may not
    be used."""
    learned: TrainingRow | None
    """How the classifier learned from this very item, if it did."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item got its labels."""

    title: str
    labels: Sequence[LabelReasons]
    neighbours: Sequence[tuple[Hit, Mapping[str, str]]]
    """Nearest items that have gold labels, with these labels."""


def explain(store: Store, bundle: Bundle, repo: str, number: int, count: int = 5) -> Explanation:
    """Say what spoke for each label of one item.

    Raises:
        InputError: the item is unknown, or was not classified yet.
    """
    with store.read() as connection:
        rows = connection.execute(
            _PREDICTIONS, {"repo": repo, "number": number, "model": bundle.version, "embedding": bundle.embedding}
        ).fetchall()
        titles = connection.execute(
            "SELECT title, body FROM items WHERE repo = ? AND number = ?", [repo, number]
        ).fetchall()
        comments = connection.execute(
            "SELECT body FROM comments WHERE repo = ? AND number = ? AND body IS NOT NULL "
            "ORDER BY created_at, comment_id",
            [repo, number],
        ).fetchall()
        votes = read_votes(connection, [(repo, number)]).get((repo, number), [])
    if not titles:
        raise InputError(f"{repo}#{number} is not in the database: mine it first (`embers mine --numbers FILE`)")
    title, body = titles[0]
    variant = bundle.variant
    text = model_text(title or "", body, [said for (said,) in comments], variant)
    if not rows and not (text_hash(text) and legible(text)):
        raise InputError(f"{repo}#{number} has no labels: its {variant} holds no words that the classifier reads")
    if not rows:
        raise InputError(f"{repo}#{number} has no labels by {bundle.version}: run `embers classify` first")
    vector = rows[0][5]
    if vector is None:
        raise InputError(f"the vector of this text is missing in {store.path}: run `embers classify` again")
    items = table([text], np.array([vector], np.float32), [vote_names(votes)])
    said_anything = bool(readable(items).all())
    order = {scheme: place for place, scheme in enumerate(Taxonomy.load().schemes)}
    rows.sort(key=lambda row: (order.get(row[0], len(order)), -row[3], row[2]))
    likeliest = {row[0]: row[2] for row in rows}
    learned = bundle.sources(repo, number)
    labels = []
    for scheme, value, best, probability, provenance, _ in rows:
        question = _question(scheme, best, likeliest)
        name = question.name if question else ""
        classifier = bundle.classifiers.get(name)
        terms: list[Reason] = []
        if classifier and classifier.features is not None and said_anything and best in classifier.classes:
            [terms] = classifier.terms(transformed(classifier.features, items), [best], count)
        weights = classifier.vote_weights() if classifier else {}
        counted = _votes(votes, scheme, best, weights)
        labels.append(LabelReasons(scheme, value, best, probability, provenance, terms, counted, learned.get(name)))
    labelled = {(item.repo, item.number): item.labels for item in gold.load(store)}
    near = [h for h in similar(store, repo, number, NEAR, variant=variant) if (h.repo, h.number) in labelled]
    return Explanation(title or "", labels, [(hit, labelled[hit.repo, hit.number]) for hit in near[:count]])


def _question(scheme: str, best: str, likeliest: Mapping[str, str]) -> Question | None:
    """The question that a row of ``predictions`` answers."""
    for question in questions(Taxonomy.load()):
        if question.scheme == scheme and (
            question.member == best
            if question.member
            else not question.narrowed or likeliest.get(question.parent) == question.under
        ):
            return question
    return None


def _votes(
    votes: Sequence[WeakLabel], scheme: str, best: str, weights: Mapping[str, float]
) -> list[tuple[WeakLabel, float | None]]:
    """The votes on a scheme with their weights, those for its label first."""
    own = [(vote, weights.get(vote.function)) for vote in votes if vote.scheme == scheme]
    return sorted(own, key=lambda one: (one[0].kind != EXECUTION, one[0].value != best, -(one[1] or 0.0)))
