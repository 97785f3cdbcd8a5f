"""Why an item has its labels: terms of its text, votes, runs, the nearest labelled items, and what was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.embedding.nearest import similar
from torch_embers.classify.embedding.vectors import text_hash
from torch_embers.classify.examples import vote_names
from torch_embers.classify.features import Item, legible
from torch_embers.classify.labels import gold
from torch_embers.classify.labels.weak import EXECUTION
from torch_embers.classify.labels.weak_table import read_votes
from torch_embers.classify.questions import question_of
from torch_embers.classify.text import read
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch_embers.classify.embedding.nearest import Hit
    from torch_embers.classify.labels.weak import WeakLabel
    from torch_embers.classify.model import Classifier, Reason
    from torch_embers.store.store import Store

_LABELS = """
    SELECT scheme, value, probability, confidence, provenance FROM predictions
    WHERE repo = $repo AND number = $number AND model = $model"""

NEAR = 200
"""Neighbours among which labelled items are looked for."""


@dataclass(frozen=True, slots=True)
class LabelReasons:
    """Why one label was given."""

    scheme: str
    value: str
    probability: float
    confidence: str
    provenance: str
    terms: Sequence[Reason]
    """Strongest terms with their weight for the label."""
    votes: Sequence[WeakLabel]
    """Of the scheme; a run decides by itself."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an item got its labels."""

    title: str
    labels: Sequence[LabelReasons]
    neighbours: Sequence[tuple[Hit, Mapping[str, str]]]
    """Nearest items that have gold labels, with these labels."""


def explain(store: Store, classifier: Classifier, repo: str, number: int, count: int = 5) -> Explanation:
    """Say what spoke for each label of one item.

    Raises:
        InputError: the item is unknown, or was not classified yet.
    """
    with store.read() as connection:
        asked = {"repo": repo, "number": number, "model": classifier.version}
        rows = connection.execute(_LABELS, asked).fetchall()
        found = connection.execute(
            "SELECT title, body FROM items WHERE repo = ? AND number = ?", [repo, number]
        ).fetchall()
        votes = read_votes(connection, [(repo, number)]).get((repo, number), [])
    if not found:
        raise InputError(f"{repo}#{number} is not in the database: `embers mine {number}` brings it")
    title, body = found[0]
    text = read(title or "", body)
    if not rows and not (text_hash(text.words) and legible(text.words)):
        raise InputError(f"{repo}#{number} has no labels: its text holds no words that the classifier reads")
    if not rows:
        raise InputError(f"{repo}#{number} has no labels by {classifier.version}: run `embers classify` first")
    nothing = np.zeros((1, classifier.about.dim), np.float32)  # what vectors say cannot be told in words
    [columns] = classifier.features.rows([Item(text, vote_names(votes))], nothing, nothing)
    order = {scheme: place for place, scheme in enumerate(Taxonomy.load().schemes)}
    rows.sort(key=lambda row: (order.get(row[0], len(order)), -row[2], row[1]))
    given = {row[0]: row[1] for row in rows}
    labels = []
    for scheme, value, probability, confidence, provenance in rows:
        question = question_of(scheme, value, given)
        known = question is not None and question.name in classifier.about.questions
        terms = classifier.terms(columns, question.name, value, count) if question is not None and known else []
        own = sorted((vote for vote in votes if vote.scheme == scheme), key=lambda one: one.kind != EXECUTION)
        labels.append(LabelReasons(scheme, value, probability, confidence, provenance, terms, own))
    labelled = {(item.repo, item.number): item.labels for item in gold.load(store)}
    near = [hit for hit in similar(store, repo, number, NEAR) if (hit.repo, hit.number) in labelled]
    return Explanation(title or "", labels, [(hit, labelled[hit.repo, hit.number]) for hit in near[:count]])
