"""Counting known terms in many texts, once for all classifiers that look at the same field.

Key insight: pieces of words never cross a blank, and reports share most of their words. So the pieces of a word are
looked up once and kept; a text is then a row of word counts, and its pieces are one sparse product. The counts are
those of scikit-learn's vectorisers, which look at every piece of every text anew: four fifths of the time of a
prediction went there.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from torch_embers.classify.learning.features import ANALYZERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

WORDS_KEPT = 100_000
"""Distinct words whose pieces are remembered (some 30 MB); beyond that the memory starts anew."""


class TermCounter:
    """Counts the terms of a vocabulary in texts."""

    def __init__(self, analyzer: str, vocabulary: Mapping[str, int]) -> None:
        """Take an analyzer of ``features.ANALYZERS`` and the column of each term, 0 to n - 1."""
        self._vocabulary = vocabulary
        self._pieces: dict[str, NDArray[np.int32]] = {}
        self._by_word = ANALYZERS[analyzer]["analyzer"] == "char_wb"
        self._shortest, self._longest = ANALYZERS[analyzer]["ngram_range"]
        self._plain = CountVectorizer(vocabulary=vocabulary, lowercase=True, dtype=np.float64, **ANALYZERS[analyzer])

    def __call__(self, texts: Sequence[str]) -> Any:
        """Return counts, a sparse float64 matrix [texts, terms]."""
        return self._of_words(texts) if self._by_word else self._plain.transform(texts)

    def _of_words(self, texts: Sequence[str]) -> Any:
        counted = [Counter(text.lower().split()) for text in texts]
        places = {word: place for place, word in enumerate(dict.fromkeys(chain.from_iterable(counted)))}
        if len(self._pieces) > WORDS_KEPT:
            self._pieces.clear()
        for word in places.keys() - self._pieces.keys():
            self._pieces[word] = self._pieces_of(word)
        rows = [self._pieces[word] for word in places]
        inside = _matrix([np.ones(len(row)) for row in rows], rows, len(self._vocabulary))
        columns = [np.fromiter((places[word] for word in words), np.int32, len(words)) for words in counted]
        numbers = [np.fromiter(words.values(), np.float64, len(words)) for words in counted]
        return _matrix(numbers, columns, len(places)) @ inside

    def _pieces_of(self, word: str) -> NDArray[np.int32]:
        """Columns of the known pieces of a word, with repeats, cut as scikit-learn's ``char_wb`` does."""
        padded = f" {word} "
        longest = min(self._longest, max(len(padded), self._shortest))  # a word shorter than that is one piece, once
        found = (
            self._vocabulary.get(padded[start : start + size])
            for size in range(self._shortest, longest + 1)
            for start in range(max(len(padded) - size, 0) + 1)
        )
        return np.array([column for column in found if column is not None], np.int32)


def _matrix(values: Sequence[NDArray[np.float64]], columns: Sequence[NDArray[np.int32]], width: int) -> Any:
    """Sparse matrix of rows given by their values and columns."""
    ends = np.cumsum([0, *map(len, columns)])
    flat = (np.concatenate([np.empty(0), *values]), np.concatenate([np.empty(0, np.int32), *columns]), ends)
    return csr_matrix(flat, shape=(len(columns), width))
