"""What a classifier sees of items, as numbers: words, signs, votes and vectors, in columns one after another.

NumPy alone: labelling needs neither scikit-learn nor SciPy.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from torch_embers.classify.text import ItemText

    Floats = NDArray[np.float32]

WORD = re.compile(r"\b\w[\w.]*\w\b")
"""With the dots and underscores of code inside: `torch.cumsum`, `channels_last`."""
LATIN, LETTER = re.compile(r"[A-Za-z\u00C0-\u024F]"), re.compile(r"[^\W\d_]")


def legible(text: str) -> bool:
    """Whether there is text, and no other script has more letters in it than ours: nothing was learned in others."""
    return bool(text.strip()) and 2 * len(LATIN.findall(text)) >= len(LETTER.findall(text))


class Item(NamedTuple):
    """What is read of an item."""

    text: ItemText
    votes: tuple[str, ...] = ()
    """Names of the labelling functions that voted on it, without runs."""


class Columns(NamedTuple):
    """The columns of an item that are not zero: int64 and float32, of one length."""

    places: NDArray[np.int64]
    values: Floats


@dataclass(frozen=True, slots=True)
class Terms:
    """Words, and pairs of them, weighed by how rare they are (TF-IDF with logarithmic counts, rows of length one)."""

    longest: int
    """Words of the longest term: 1 or 2."""
    terms: tuple[str, ...]
    rarity: Floats
    """float32 [terms]."""

    @staticmethod
    def learned(texts: Sequence[str], longest: int, least: int, most: int) -> Terms:
        """The terms that stand in at least ``least`` of the texts, at most ``most`` of them, the most frequent."""
        counted: Counter[str] = Counter()
        for text in texts:
            counted.update(set(said(text, longest)))
        kept = sorted(counted.items(), key=lambda one: (-one[1], one[0]))[:most]
        frequent = sorted((term, count) for term, count in kept if count >= least)
        counts = np.array([count for _, count in frequent], dtype=np.float32)
        rarity = np.log((1 + len(texts)) / (1 + counts)) + 1
        return Terms(longest, tuple(term for term, _ in frequent), rarity.astype(np.float32))

    def weigher(self) -> Any:
        """A function from a text to places and weights of its terms."""
        places = {term: place for place, term in enumerate(self.terms)}

        def weigh(text: str) -> Columns:
            counted = Counter(place for term in said(text, self.longest) if (place := places.get(term)) is not None)
            own = np.fromiter(counted.keys(), np.int64, len(counted))
            values = (1 + np.log(np.fromiter(counted.values(), np.float32, len(counted)))) * self.rarity[own]
            length = float(np.linalg.norm(values)) or 1.0
            return Columns(own, (values / length).astype(np.float32))

        return weigh


def said(text: str, longest: int) -> list[str]:
    """The words of a text in lower case, and where ``longest`` is 2 its pairs of words."""
    words = WORD.findall(text.lower())
    return words + [f"{one} {two}" for one, two in pairwise(words)] if longest > 1 else words


@dataclass(frozen=True)
class Features:
    """The columns: terms of titles, words of titles and bodies, signs and votes, vectors of titles and of both."""

    title: Terms
    words: Terms
    marks: tuple[str, ...]
    """Signs of bodies, and names of labelling functions."""
    dim: int
    """Length of a vector."""

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.title.terms) + len(self.words.terms) + len(self.marks) + 2 * self.dim

    @property
    def names(self) -> tuple[str, ...]:
        """What stands in the columns before those of the vectors."""
        return (*self.title.terms, *self.words.terms, *self.marks)

    @staticmethod
    def learned(items: Sequence[Item], functions: Iterable[str], dim: int) -> Features:
        """The columns for items to learn from."""
        signs = Counter(sign for item in items for sign in item.text.signs)
        often = sorted(sign for sign, count in signs.items() if count > 1)
        title = Terms.learned([item.text.title for item in items], 2, 1, 20_000)
        words = Terms.learned([item.text.words for item in items], 1, 2, 10_000)
        return Features(title, words, (*often, *sorted(functions)), dim)

    def rows(self, items: Sequence[Item], titles: Floats, texts: Floats) -> list[Columns]:
        """The columns of each item.

        Args:
            items: what was read.
            titles: vectors of the titles, float32 [items, dim].
            texts: vectors of titles with bodies, of the same shape.
        """
        by_title, by_words = self.title.weigher(), self.words.weigher()
        after_title = len(self.title.terms)
        after_words = after_title + len(self.words.terms)
        marks = {name: place for place, name in enumerate(self.marks, start=after_words)}
        dense = np.arange(after_words + len(self.marks), self.width)
        found = []
        for item, title, text in zip(items, titles, texts, strict=True):
            one, two = by_title(item.text.title), by_words(item.text.words)
            own = [marks[name] for name in (*item.text.signs, *item.votes) if name in marks]
            places = np.concatenate([one.places, two.places + after_title, np.array(own, np.int64), dense])
            values = np.concatenate([one.values, two.values, np.ones(len(own), np.float32), title, text])
            found.append(Columns(places, values))
        return found
