"""Labels that are probably wrong (confident learning)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.labels import gold
from torch_embers.classify.questions import NOT, questions
from torch_embers.errors import InputError
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from torch_embers.classify.bundle import Bundle
    from torch_embers.classify.labels.gold import GoldItem
    from torch_embers.classify.questions import Question
    from torch_embers.store.store import Store

    Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LikelyError:
    """A label whose probability is unusually low for its class."""

    place: int
    """Row in what was given."""
    label: int
    """The given class."""
    suggested: int
    """The class that the model prefers."""
    self_confidence: float
    """Probability of the given class."""
    expected: float
    """Mean of that over all rows with this label: the usual probability of the label."""
    margin: float
    """Probability of the suggested class minus that of the given one."""


def likely_errors(probabilities: npt.ArrayLike, labels: Sequence[int]) -> list[LikelyError]:
    """Find labels that are probably wrong, the surest first (confident learning, Northcutt et al. 2021).

    A row is named when the probability of its label is below the mean that this class's rows have, while another class
    reaches the mean of its own rows. The probabilities must be out of fold, or the model has learnt the errors.

    Args:
        probabilities: float [rows, classes]; a row with anything but finite numbers is passed over.
        labels: the given class of each row, as a column number.

    Raises:
        InputError: shapes that do not fit, or a label that is no column.
    """
    matrix = np.asarray(probabilities, dtype=np.float64)
    given = np.asarray(labels, dtype=np.int64)
    if not given.size:
        return []
    if matrix.ndim != 2 or given.ndim != 1 or len(matrix) != len(given):
        raise InputError(f"probabilities of shape {matrix.shape} do not fit {given.size} labels")
    if given.min() < 0 or given.max() >= matrix.shape[1]:
        raise InputError(f"a label is none of the {matrix.shape[1]} columns")
    usable = np.isfinite(matrix).all(axis=1)
    expected = _mean_self_confidence(matrix[usable], given[usable])
    found = [
        error
        for place in np.flatnonzero(usable).tolist()
        if (error := _likely_error(place, matrix[place], int(given[place]), expected)) is not None
    ]
    return sorted(found, key=lambda error: (-error.margin, error.place))


def _mean_self_confidence(matrix: npt.NDArray[np.float64], given: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Per class; infinite for a class without a row, so that it is never suggested."""
    means = np.full(matrix.shape[1], np.inf)
    for label in np.unique(given):
        means[label] = matrix[given == label, label].mean()
    return means


def _likely_error(
    place: int, row: npt.NDArray[np.float64], label: int, expected: npt.NDArray[np.float64]
) -> LikelyError | None:
    confident = row >= expected
    if confident[label] or not confident.any():
        return None
    suggested = int(np.argmax(np.where(confident, row, -np.inf)))
    margin = float(row[suggested] - row[label])
    if margin <= 0:
        return None
    return LikelyError(place, label, suggested, float(row[label]), float(expected[label]), margin)


# ---- in the database -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Suspect:
    """A gold label that is probably wrong."""

    repo: str
    number: int
    title: str
    scheme: str
    given: str
    by: str
    """Who gave it, as kind:name."""
    suggested: str
    margin: float
    """Probability of the suggested class minus that of the given one, by models that have not seen the item."""


def suspects(store: Store, bundle: Bundle, schemes: Sequence[str] = ()) -> list[Suspect]:
    """The gold labels that the bundle's held-out answers speak against, the surest first.

    Args:
        store: the database with the gold labels.
        bundle: with the held-out answers of the training items.
        schemes: only these; all when none is named.

    Raises:
        TaxonomyError: no such scheme.
        StoreError: the database cannot be read.
    """
    taxonomy = Taxonomy.load()
    wanted = {taxonomy.scheme(name).name for name in schemes} or set(taxonomy.schemes)
    items = {(item.repo, item.number): item for item in gold.load(store, taxonomy=taxonomy)}
    with store.read() as connection:
        rows = connection.execute("SELECT repo, number, title FROM items").fetchall()
    titles = {(repo, number): title or "" for repo, number, title in rows}
    found: list[Suspect] = []
    for question in questions(taxonomy):
        if question.scheme in wanted and question.name in bundle.classifiers:
            found += _of_question(question, bundle, items, titles)
    return sorted(found, key=lambda one: (-one.margin, one.repo, one.number, one.scheme))


def _of_question(
    question: Question, bundle: Bundle, items: Mapping[Key, GoldItem], titles: Mapping[Key, str]
) -> list[Suspect]:
    classes = bundle.classifiers[question.name].classes
    rows = [
        (items[key], own.probabilities, classes.index(truth))
        for own in bundle.held_out.get(question.name, ())
        if (key := (own.repo, own.number)) in items and (truth := question.truth(items[key])) in classes
    ]
    names = [f"not {question.member}" if value == NOT else value for value in classes]
    return [
        Suspect(
            item.repo,
            item.number,
            titles.get((item.repo, item.number), ""),
            question.scheme,
            names[error.label],
            item.annotators[question.scheme],
            names[error.suggested],
            error.margin,
        )
        for error in likely_errors([row[1] for row in rows], [row[2] for row in rows])
        for item in (rows[error.place][0],)
    ]
