"""Training behind `embers classify --train`: one linear model per question, all on the same columns.

What each item is answered by a model that saw neither it nor its group (near-duplicates, links) sets the temperature of
a question and the confidence of labels (``confidence.py``). Needs scikit-learn; what it leaves behind does not.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_matrix
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from torch_embers.classify import confidence
from torch_embers.classify.examples import BODIES, CHOSEN, examples
from torch_embers.classify.features import Features
from torch_embers.classify.labels.weak import EXECUTION, Labeller
from torch_embers.classify.model import (
    FORMAT,
    About,
    Classifier,
    TrainedQuestion,
    digest,
    of_parts,
    softmax,
    weight_bytes,
)
from torch_embers.classify.questions import questions
from torch_embers.errors import InputError
from torch_embers.statistics.splits import join_groups, linked_groups, near_duplicates
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify import questions as asked
    from torch_embers.classify.embedding.embedder import Embedder
    from torch_embers.classify.examples import Example
    from torch_embers.classify.features import Columns
    from torch_embers.store.store import Store

    Key = tuple[str, int]
    Floats = NDArray[np.float64]

C = 1.0
"""Inverse regularisation, as in scikit-learn."""
EVENNESS = 0.7
"""How far rare classes weigh more than by their number: 0 not at all, 1 until all classes weigh the same."""
WEIGHTS = {BODIES: 2.0}
"""What an item weighs, by how it was drawn; 1 where nothing else is said."""
FOLDS = 5
LEAST_PER_CLASS = 3
"""A class with fewer items cannot be both learned and held out. It is never answered, but where a memory bug has no
other answer."""
TOLERANCE = 1e-4


@dataclass
class Learned:
    """What one question learned."""

    question: asked.Question
    places: NDArray[np.int64]
    """Of its examples among all."""
    truth: list[str]
    classes: tuple[str, ...]
    held_out: Floats
    """Probabilities by models that saw neither item nor group, uncalibrated: float64 [examples, classes]."""
    weights: Floats
    """float64 [features, classes]."""
    intercepts: Floats
    temperature: float = 1.0
    sources: Counter[str] = field(default_factory=Counter)


def train(store: Store, embedder: Embedder, name: str, say: Callable[[str], None]) -> Classifier:
    """Train a classifier for every question of the taxonomy that has enough labelled items.

    Args:
        store: the database with the gold labels, and the bodies of ``data/body_labels.csv``.
        embedder: gives the vectors.
        name: of the classifier.
        say: gets a line per question.

    Raises:
        InputError: no gold labels, or not one question that can be learned.
    """
    rows, links = examples(store)
    items = [row.item for row in rows]
    titles = embedder.encode([item.text.title for item in items])
    texts = embedder.encode([item.text.words for item in items])
    functions = sorted(name for name, (_, _, kind) in Labeller.load().names().items() if kind != EXECUTION)
    features = Features.learned(items, functions, embedder.dim)
    columns = features.rows(items, titles, texts)
    matrix = sparse(columns, features.width)
    groups = grouped(rows, links)
    learned = [
        one
        for question in questions(Taxonomy.load())
        if not question.only and (one := learn(question, rows, matrix, groups, say)) is not None
    ]
    if not any(len(one.places) for one in learned):
        raise InputError(f"no scheme has two classes with {LEAST_PER_CLASS} labelled items: label more")
    return assembled(name, embedder.model_id, features, rows, columns, learned)


def learn(
    question: asked.Question,
    rows: Sequence[Example],
    matrix: csr_matrix,
    groups: NDArray[np.int64],
    say: Callable[[str], None],
) -> Learned | None:
    """Learn one question; ``None`` where there is too little, but of a sub-type, which always has an answer."""
    answered = [(place, truth) for place, row in enumerate(rows) if (truth := question.truth(row.gold)) is not None]
    counted = Counter(truth for _, truth in answered)
    kept = [(place, truth) for place, truth in answered if counted[truth] >= LEAST_PER_CLASS]
    places, given = np.array([place for place, _ in kept], np.int64), [label for _, label in kept]
    sources = Counter(rows[place].gold.annotators.get(question.scheme, "") for place in places)
    classes = tuple(sorted(set(given)))
    if len(classes) < 2:
        if not question.narrowed:
            return None
        # too little to learn: the class that is most frequent, else first by precedence
        prior = np.log([counted[value] + 0.5 for value in question.classes])
        empty = np.zeros((matrix.shape[1], len(prior)))
        none = np.zeros(0, np.int64)
        return Learned(question, none, [], question.classes, np.zeros((0, len(prior))), empty, prior, 1.0, sources)
    say(f"{question.name}: learning from {len(places)} labelled items")
    own = matrix[places]
    labels = np.array(given)
    weights_of = np.array([WEIGHTS.get(rows[place].sample, 1.0) for place in places])
    held_out = np.zeros((len(places), len(classes)))
    for known, unseen in folds(labels, groups[places]):
        fitted = regression(own[known], labels[known], weights_of[known])
        at = np.array([classes.index(value) for value in fitted.classes_])
        held_out[np.ix_(unseen, at)] = fitted.predict_proba(own[unseen])
    weights, intercepts = by_class(regression(own, labels, weights_of), classes)
    learned = Learned(question, places, given, classes, held_out, weights, intercepts, 1.0, sources)
    judged = np.array([rows[place].sample != CHOSEN for place in places])
    learned.temperature = temperature(held_out, np.searchsorted(classes, labels), judged)
    return learned


def folds(labels: NDArray[np.str_], groups: NDArray[np.int64]) -> Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows to learn from and to hold out: groups stay whole, classes are spread as evenly as they allow.

    Raises:
        InputError: all rows are one group.
    """
    if len(set(groups.tolist())) < 2:
        raise InputError("nothing can be held out: all texts are near-duplicates of each other or joined by links")
    count = max(2, min(FOLDS, len(set(groups.tolist())), max(Counter(labels.tolist()).values())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of classes with fewer items than folds
        yield from StratifiedGroupKFold(count, shuffle=True, random_state=0).split(labels, labels, groups)


def regression(matrix: csr_matrix, labels: NDArray[np.str_], weights: Floats | None = None) -> Any:
    """A fitted logistic regression, or what always answers the one class that there is."""
    counted = Counter(labels.tolist())
    if len(counted) == 1:
        return DummyClassifier().fit(matrix, labels)
    usual = len(labels) / len(counted)
    by_label = {label: (usual / count) ** EVENNESS for label, count in counted.items()}
    made = LogisticRegression(C=C, class_weight=by_label, max_iter=1_000, tol=TOLERANCE)
    return made.fit(matrix, labels, sample_weight=weights)


def by_class(fitted: Any, classes: Sequence[str]) -> tuple[Floats, Floats]:
    """Weights float64 [features, classes] and intercepts; of two classes scikit-learn keeps the second's alone."""
    weights, intercepts = fitted.coef_.T, fitted.intercept_
    if len(classes) == 2:
        weights = np.hstack([-weights / 2, weights / 2])
        intercepts = np.array([-intercepts[0] / 2, intercepts[0] / 2])
    return weights, intercepts


def temperature(held_out: Floats, truth: NDArray[np.int64], judged: NDArray[np.bool_]) -> float:
    """What logits are divided by so that answers out of fold are likeliest, on the judged items or on all if few."""
    if judged.sum() < 30:
        judged = np.ones(len(truth), dtype=bool)
    scores, own = logits(held_out[judged]), truth[judged]

    def loss(log_temperature: float) -> float:
        chances = softmax(scores / np.exp(log_temperature))[np.arange(len(own)), own]
        return float(-np.log(np.maximum(chances, 1e-9)).mean())

    return float(np.exp(minimize_scalar(loss, bounds=(-1.5, 1.5), method="bounded").x))


def logits(probabilities: Floats) -> Floats:
    """Logarithms of probabilities, none of them below a millionth: a fold may not know a class."""
    return np.log(np.maximum(probabilities, 1e-6))


def assembled(
    name: str,
    embedding: str,
    features: Features,
    rows: Sequence[Example],
    columns: Sequence[Columns],
    learned: Sequence[Learned],
) -> Classifier:
    """The classifier, with what was measured of it on its own examples."""
    calibrated = {one.question.name: softmax(logits(one.held_out) / one.temperature) for one in learned}
    held_out: dict[str, dict[str, tuple[float, ...]]] = defaultdict(dict)
    confusion = {}
    for one in learned:
        found = calibrated[one.question.name]
        counts = np.zeros((len(one.classes), len(one.classes)), np.int64)
        np.add.at(counts, (np.searchsorted(one.classes, one.truth), found.argmax(axis=1)), 1)
        confusion[one.question.name] = tuple(map(tuple, counts.tolist()))
        for place, own in zip(one.places, found, strict=True):
            repo, number = rows[place].key
            if "/" in repo:  # drawn titles without a number are in no database
                held_out[one.question.name][f"{repo}#{number}"] = tuple(np.round(own, 3).tolist())
    about = About(
        format=FORMAT,
        name=name,
        embedding=embedding,
        taxonomy=Taxonomy.load().digest,
        weights_sha256="",
        questions={
            one.question.name: TrainedQuestion(
                classes=one.classes,
                temperature=round(one.temperature, 4),
                trained_on=dict(sorted(Counter(one.truth).items())),
                sources=dict(sorted(one.sources.items())),
            )
            for one in learned
        },
        cuts=(),
        title_terms=features.title.terms,
        words=features.words.terms,
        marks=features.marks,
        dim=features.dim,
        held_out=dict(held_out),
        confusion=confusion,
    )
    weights: dict[str, NDArray[Any]] = {
        "weights": np.hstack([one.weights for one in learned]).astype(np.float16),
        "intercepts": np.concatenate([one.intercepts for one in learned]).astype(np.float32),
        "title_rarity": features.title.rarity.astype(np.float16),
        "word_rarity": features.words.rarity.astype(np.float16),
    }
    made = of_parts(about, weights)
    probabilities = made.probabilities(columns)
    for one in learned:
        probabilities[one.question.name][one.places] = calibrated[one.question.name]
    cuts = confidence.cuts(made, rows, probabilities)
    return of_parts(about.model_copy(update={"cuts": cuts, "weights_sha256": digest(weight_bytes(made))}), weights)


def sparse(columns: Sequence[Columns], width: int) -> csr_matrix:
    """Columns of items as a matrix float32 [items, width]."""
    ends = np.cumsum([0, *(len(row.places) for row in columns)])
    values = np.concatenate([row.values for row in columns])
    places = np.concatenate([row.places for row in columns])
    return csr_matrix((values, places, ends), shape=(len(columns), width))


def grouped(rows: Sequence[Example], links: Sequence[tuple[Key, Key]]) -> NDArray[np.int64]:
    """Number the groups that are held out whole: near-duplicates, and what links join, also by way of others."""
    place = {row.key: at for at, row in enumerate(rows)}
    linked = linked_groups(len(rows), [(place[a], place[b]) for a, b in links if a in place and b in place])
    return join_groups(near_duplicates([row.item.text.title for row in rows]).tolist(), linked.tolist())
