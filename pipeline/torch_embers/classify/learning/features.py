"""What a classifier reads of an item: named texts and named vectors, and how a text becomes numbers.

A *field* is one text of an item (title, whole text, comments), a *plane* one embedding of it. The vectoriser is
scikit-learn's TF-IDF; what it has learned is a list of terms and their inverse document frequencies, so that it is
kept as plain data.

A cross-validation reads each text dozens of times. The terms of a text do not depend on the fold, only which of them
are known and what they weigh does: so ``Texts`` counts terms once for all folds, and each fold takes its vocabulary
and weights from its own rows of the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

ANALYZERS: Mapping[str, Mapping[str, Any]] = {
    # Words and pairs of words, with the dots and underscores of code inside them: `torch.cumsum`, `channels_last`.
    "word": {"analyzer": "word", "token_pattern": r"(?u)\b\w[\w.]*\w\b", "ngram_range": (1, 2)},
    # Pieces of words: `noncontiguous`, `non-contiguous` and `is_contiguous` share most of theirs.
    "char": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    # Whole lines: the questions and ticked boxes of a project's form say what kind of report it is.
    "line": {"analyzer": "word", "token_pattern": r"(?m)^[ \t]*(\S[^\n]{0,79})", "ngram_range": (1, 1)},
}


@dataclass
class _Counted:
    """How often each term stands in each text; made once per analyzer."""

    texts: Sequence[str]
    made: dict[str, tuple[Any, NDArray[np.object_]]] = field(default_factory=dict)

    def of(self, analyzer: str) -> tuple[Any, NDArray[np.object_]]:
        """Sparse counts float64 [texts, terms], and the terms in the order of their columns."""
        if analyzer not in self.made:
            counter = CountVectorizer(dtype=np.float64, **ANALYZERS[analyzer])
            try:
                counts = counter.fit_transform(self.texts)
                self.made[analyzer] = counts, counter.get_feature_names_out()
            except ValueError:  # scikit-learn's way to say that there is no term at all
                empty = csr_matrix((len(self.texts), 0))
                self.made[analyzer] = empty, np.zeros(0, dtype=object)
        return self.made[analyzer]


class Texts(Sequence[str]):
    """Texts whose terms are counted once, however many selections of them are looked at."""

    def __init__(self, whole: _Counted, rows: NDArray[np.int64]) -> None:
        self._whole, self._rows = whole, rows

    @staticmethod
    def of(texts: Sequence[str]) -> Texts:
        """All of these."""
        return texts if isinstance(texts, Texts) else Texts(_Counted(list(texts)), np.arange(len(texts)))

    def take(self, rows: NDArray[np.int64]) -> Texts:
        """The texts at these positions; shares the counts."""
        return Texts(self._whole, self._rows[rows])

    def counts(self, analyzer: str) -> tuple[Any, NDArray[np.object_]]:
        """Sparse counts float64 [these texts, terms of all texts], and the terms, sorted."""
        counts, terms = self._whole.of(analyzer)
        return counts[self._rows], terms

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        """One text, or some of them as a list."""
        if isinstance(place, slice):
            return [self._whole.texts[row] for row in self._rows[place]]
        return self._whole.texts[int(self._rows[place])]

    def __len__(self) -> int:
        """Count the texts."""
        return len(self._rows)


@dataclass(frozen=True)
class Inputs:
    """Items as a classifier reads them.

    fields: name -> a text per item.
    planes: name -> float32 [items, dimensions], L2-normalised; a row that is not finite says: no vector.
    """

    fields: Mapping[str, Sequence[str]]
    planes: Mapping[str, NDArray[np.float32]]
    memo: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was made of these very items and may be used again; a selection of them starts with an empty one."""

    @staticmethod
    def of(texts: Sequence[str], vectors: NDArray[np.float32] | None = None) -> Inputs:
        """Make inputs of one text and at most one vector per item.

        Raises:
            InputError: not as many vectors as texts.
        """
        inputs = Inputs({"text": list(texts)}, {} if vectors is None else {"text": vectors})
        inputs.check()
        return inputs

    def __len__(self) -> int:
        """Count the items."""
        return next(iter(self._lengths()), 0)

    def check(self) -> None:
        """Raise ``InputError`` unless all fields and planes are of one length and every plane is a matrix."""
        lengths = set(self._lengths())
        if len(lengths) > 1:
            raise InputError(f"texts and vectors differ in number: {', '.join(map(str, sorted(lengths)))}")
        flat = [name for name, plane in self.planes.items() if np.ndim(plane) != 2]
        if flat:
            raise InputError(f"vectors must be a matrix, one row per text: {', '.join(flat)}")

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> Inputs:
        """Return the items at these positions."""
        places = np.asarray(rows, dtype=np.int64)
        fields: dict[str, Sequence[str]] = {
            name: texts.take(places) if isinstance(texts, Texts) else [texts[place] for place in places]
            for name, texts in self.fields.items()
        }
        return Inputs(fields, {name: plane[places] for name, plane in self.planes.items()})

    def counted_once(self) -> Inputs:
        """The same items, to be looked at many times: their terms are counted once."""
        return Inputs({name: Texts.of(texts) for name, texts in self.fields.items()}, self.planes)

    def readable(self) -> NDArray[np.bool_]:
        """Bool [items]: there is some text, and no vector is broken. Of the others nothing can be said."""
        said = [
            not self.fields or any(texts[row].strip() for texts in self.fields.values()) for row in range(len(self))
        ]
        found = np.array(said, dtype=bool)
        for plane in self.planes.values():
            found &= np.isfinite(plane).all(axis=1)
        return found

    def _lengths(self) -> list[int]:
        return [*map(len, self.fields.values()), *map(len, self.planes.values())]


@dataclass(frozen=True)
class Terms:
    """What a vectoriser learned: its terms in column order and the weight of each."""

    analyzer: str
    terms: tuple[str, ...]
    idf: Floats

    def __post_init__(self) -> None:
        """Check that terms and weights go together."""
        if self.analyzer not in ANALYZERS or len(self.terms) != len(self.idf):
            raise InputError(f"not a vectoriser: {self.analyzer}, {len(self.terms)} terms, {len(self.idf)} weights")


class Vectorizer:
    """TF-IDF of one field, kept as ``Terms``."""

    def __init__(self, learned: Terms) -> None:
        self.learned = learned
        self._made: Any = None

    @staticmethod
    def fit(texts: Sequence[str], analyzer: str, min_df: int, max_features: int) -> Vectorizer | None:
        """Learn the ``max_features`` most frequent terms of ``min_df`` texts or more; ``None`` when there are none."""
        counts, terms = Texts.of(texts).counts(analyzer)
        known = np.bincount(counts.indices, minlength=len(terms))
        places = np.flatnonzero(known >= max(1, min(min_df, len(texts))))
        if not places.size:
            return None
        if places.size > max_features:
            often = np.asarray(counts.sum(axis=0)).ravel()[places]
            places = np.sort(places[np.argsort(-often, kind="stable")[:max_features]])
        idf = np.log((1 + len(texts)) / (1 + known[places])) + 1
        return Vectorizer(Terms(analyzer, tuple(terms[places].tolist()), idf))

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return a sparse matrix [texts, terms], rows of length 1 (or 0, when no term is known)."""
        if isinstance(texts, Texts):
            return self._of_counts(*texts.counts(self.learned.analyzer))
        if self._made is None:
            options = ANALYZERS[self.learned.analyzer]
            terms = list(self.learned.terms)
            self._made = TfidfVectorizer(sublinear_tf=True, dtype=np.float64, vocabulary=terms, **options)
            self._made.idf_ = self.learned.idf
        return self._made.transform(texts)

    def _of_counts(self, counts: Any, terms: NDArray[np.object_]) -> Any:
        """As ``TfidfVectorizer`` with sublinear counts does it, from counts of more terms (sorted) than are known."""
        own = np.array(self.learned.terms, dtype=object)
        places = np.minimum(np.searchsorted(terms, own), max(len(terms) - 1, 0))
        met = terms[places] == own if len(terms) else np.zeros(len(own), dtype=bool)
        matrix = csr_matrix((counts.shape[0], len(own)))
        if met.any():
            place = np.full(len(terms), -1)
            place[places[met]] = np.flatnonzero(met)
            matrix = _columns(counts, place, len(own))
        matrix.data = (1 + np.log(matrix.data)) * self.learned.idf[matrix.indices]
        return normalize(matrix, copy=False)


def _columns(counts: Any, place: NDArray[np.int64], width: int) -> Any:
    """The counts with each column moved to its new place, or left out (-1)."""
    found = place[counts.indices]
    kept = found >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[counts.indptr]
    return csr_matrix((counts.data[kept], found[kept], ends), shape=(counts.shape[0], width))
