"""Labels that are probably wrong (confident learning)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from torch_embers.classify.labels import gold
from torch_embers.classify.labels.weak import Labeller
from torch_embers.classify.questions import NOT, questions
from torch_embers.taxonomy import Taxonomy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from torch_embers.classify.bundle import Bundle
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class LikelyError:
    """A label whose probability is unusually low for its class."""

    place: int
    """Row in what was given."""
    label: int
    """The given class."""
    suggested: int
    """The class that the model prefers."""
    margin: float
    """Probability of the suggested class minus that of the given one."""


def likely_errors(probabilities: npt.ArrayLike, labels: Sequence[int]) -> list[LikelyError]:
    """Find labels that are probably wrong, the surest first (confident learning, Northcutt et al. 2021).

    A row is named when the probability of its label is below the mean that this class's rows have, while another class
    reaches the mean of its own rows. The probabilities must be out of fold, or the model has learnt the errors.

    Args:
        probabilities: float [rows, classes]; a row with anything but finite numbers is passed over.
        labels: the given class of each row, as a column number.
    """
    if not len(labels):
        return []
    matrix, given = np.asarray(probabilities, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    rows = np.arange(len(given))
    usable, own = np.isfinite(matrix).all(axis=1), matrix[rows, given]
    usual = np.full(matrix.shape[1], np.inf)  # a class without a row is never suggested
    for label in np.unique(given[usable]):
        usual[label] = own[usable & (given == label)].mean()
    confident = np.where(matrix >= usual, matrix, -np.inf)
    suggested = confident.argmax(axis=1)
    margins = confident[rows, suggested] - own
    found = np.flatnonzero(usable & (own < usual[given]) & (margins > 0))
    errors = [LikelyError(row, int(given[row]), int(suggested[row]), float(margins[row])) for row in found.tolist()]
    return sorted(errors, key=lambda error: (-error.margin, error.place))


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

    Left out are those that maintainers' labels or words of the title confirm, where these decide.

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
        read = connection.execute("SELECT repo, number, title, labels FROM items").fetchall()
    known = {(repo, number): (title or "", labels) for repo, number, title, labels in read}
    labeller = Labeller.load()
    found: list[Suspect] = []
    for question in questions(taxonomy):
        if question.scheme not in wanted or question.name not in bundle.classifiers:
            continue
        classes = bundle.classifiers[question.name].classes
        names = [f"not {question.member}" if value == NOT else value for value in classes]
        rows = [
            (items[key], own.probabilities, classes.index(truth))
            for own in bundle.held_out.get(question.name, ())
            if (key := (own.repo, own.number)) in items and (truth := question.truth(items[key])) in classes
        ]
        for error in likely_errors([row[1] for row in rows], [row[2] for row in rows]):
            item = rows[error.place][0]
            by, (title, labels) = item.annotators[question.scheme], known.get((item.repo, item.number), ("", None))
            use, given = labeller.uses.get(question.scheme), (question.scheme, classes[error.label])
            votes = [vote for vote in labeller.votes(title, None, labels) if (vote.scheme, vote.value) == given]
            if use and any(vote.kind in use.decides for vote in votes):
                continue
            answers = names[error.label], by, names[error.suggested]
            found.append(Suspect(item.repo, item.number, title, question.scheme, *answers, error.margin))
    return sorted(found, key=lambda one: (-one.margin, one.repo, one.number, one.scheme))
