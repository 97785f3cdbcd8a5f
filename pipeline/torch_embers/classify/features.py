"""What a classifier reads of an item: named texts and named vectors, and how a text becomes numbers.

A *field* is one text of an item (title, whole text, comments), a *plane* one embedding of it. The vectoriser is
scikit-learn's TF-IDF; what it has learned is a list of terms and their inverse document frequencies, so that it is
kept as plain data.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

ANALYZERS: Mapping[str, Mapping[str, Any]] = {
    # Words and pairs of words, with the dots and underscores of code inside them: `torch.cumsum`, `channels_last`.
    "word": {"analyzer": "word", "token_pattern": r"(?u)\b\w[\w.]*\w\b", "ngram_range": (1, 2)},
    # Pieces of words: `noncontiguous`, `non-contiguous` and `is_contiguous` share most of theirs.
    "char": {"analyzer": "char_wb", "ngram_range": (2, 5)},
}


@dataclass(frozen=True)
class Inputs:
    """Items as a classifier reads them.

    fields: name -> a text per item.
    planes: name -> float32 [items, dimensions], L2-normalised; a row that is not finite says: no vector.
    """

    fields: Mapping[str, Sequence[str]]
    planes: Mapping[str, NDArray[np.float32]]

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
        fields = {name: [texts[place] for place in places] for name, texts in self.fields.items()}
        return Inputs(fields, {name: plane[places] for name, plane in self.planes.items()})

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
        self._made = _tfidf(learned.analyzer, vocabulary=list(learned.terms))
        self._made.idf_ = learned.idf

    @staticmethod
    def fit(texts: Sequence[str], analyzer: str, least: int, most: int) -> Vectorizer | None:
        """Learn the ``most`` frequent terms that stand in ``least`` texts or more; ``None`` when there are none."""
        made = _tfidf(analyzer, min_df=min(least, max(1, len(texts))), max_features=most)
        try:
            made.fit(texts)
        except ValueError:  # scikit-learn's way to say that no term is left
            return None
        return Vectorizer(
            Terms(analyzer, tuple(made.get_feature_names_out().tolist()), np.asarray(made.idf_, dtype=np.float64))
        )

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return a sparse matrix [texts, terms], rows of length 1 (or 0, when no term is known)."""
        return self._made.transform(texts)


def need(module: str) -> Any:
    """Import a module of scikit-learn, which only the classifier needs.

    Raises:
        InputError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise InputError(
            f"the classifier needs {error.name or module}: pip install 'torch-embers[classify]'"
        ) from error


def _tfidf(analyzer: str, **options: Any) -> Any:
    made = need("sklearn.feature_extraction.text").TfidfVectorizer
    return made(sublinear_tf=True, lowercase=True, dtype=np.float64, **ANALYZERS[analyzer], **options)
