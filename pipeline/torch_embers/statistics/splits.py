"""Splits of labelled texts into training and test halves without leakage between them.

Two texts about the same bug (one thread, a cherry-pick, a template filled in twice) must not be on both sides of a
split, or the score rewards memory. So everything here works on *groups*: near-duplicates are found by MinHash,
and groupings are joined (folds: classify/train.py).

All functions are pure; order and seed alone decide the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torch_embers.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Hashes = NDArray[np.uint64]


class DisjointSet:
    """Sets of places that are merged step by step; the core has no SciPy, whose class does the same."""

    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def __getitem__(self, place: int) -> int:
        """The place that stands for the set of this one."""
        while self._parent[place] != place:
            self._parent[place] = self._parent[self._parent[place]]
            place = self._parent[place]
        return place

    def connected(self, one: int, other: int) -> bool:
        """Whether both are in one set."""
        return self[one] == self[other]

    def merge(self, one: int, other: int) -> None:
        """Join the sets of both."""
        self._parent[self[other]] = self[one]


SHINGLE = 5
"""Characters per shingle: short enough for titles, long enough not to match common words alone."""
TEXT_LIMIT = 4_000
"""Characters read per text: duplicates are copies of the opening, and a log of 1 MB must not cost more than a
report."""
BANDS, ROWS = 20, 4
"""Signature of 80 hashes; two texts of Jaccard similarity s become candidates with 1 - (1 - s^4)^20: 0.99 at 0.7,
0.15 at 0.3."""
BUCKET_LIMIT = 50
"""A bucket with more texts is compared along a chain only: boilerplate must not make the work quadratic."""
SIMILAR = 0.7
"""Jaccard similarity of shingle sets from which two texts count as the same report: cherry-picks, reposts, one sentence
with another operator in it. Give it cleaned texts: the same form filled in twice is similar, too."""

_WORD = np.uint64(0x9E3779B97F4A7C15)


def near_duplicates(texts: Sequence[str], similar: float = SIMILAR) -> Ints:
    """Number the groups of texts that are nearly the same.

    Args:
        texts: any texts; case, digits and white space make no difference.
        similar: Jaccard similarity of character shingles from which two texts are joined, 0 < similar <= 1.

    Returns:
        int64 [n]: a group number per text, counted from 0 in order of first appearance. Empty texts are alone.

    Raises:
        InputError: ``similar`` is out of range.
    """
    if not 0 < similar <= 1:
        raise InputError(f"similarity must be above 0 and at most 1, not {similar}")
    shingles = [_shingles(text) for text in texts]
    joined = DisjointSet(len(texts))
    for bucket in _buckets(shingles):
        for place, one in enumerate(bucket):
            others = bucket[place + 1 :] if len(bucket) <= BUCKET_LIMIT else bucket[place + 1 : place + 2]
            for other in others:
                if not joined.connected(one, other) and jaccard(shingles[one], shingles[other]) >= similar:
                    joined.merge(one, other)
    return _numbered(joined[place] for place in range(len(texts)))


def jaccard(one: Hashes, other: Hashes) -> float:
    """Similarity of two sets given as sorted unique arrays: shared members by all members; 0 for two empty sets."""
    shared = np.intersect1d(one, other, assume_unique=True).size
    together = one.size + other.size - shared
    return shared / together if together else 0.0


def join_groups(*groupings: Sequence[Hashable]) -> Ints:
    """Join groupings of the same texts: two texts end in one group if any grouping (or a chain of them) says so.

    Args:
        groupings: each a value per text; ``None`` puts its text into no group.

    Returns:
        int64 [n], numbered from 0 in order of first appearance.

    Raises:
        InputError: no grouping, or groupings of different lengths.
    """
    if not groupings or len({len(grouping) for grouping in groupings}) != 1:
        raise InputError("groupings must be given, and be of one length")
    joined = DisjointSet(len(groupings[0]))
    for grouping in groupings:
        first: dict[Hashable, int] = {}
        for place, group in enumerate(grouping):
            if group is not None:
                joined.merge(first.setdefault(group, place), place)
    return _numbered(joined[place] for place in range(len(groupings[0])))


def linked_groups(size: int, pairs: Iterable[tuple[int, int]]) -> Ints:
    """Group ``size`` texts so that the two of each pair are together, also by way of others: int64 [size]."""
    joined = DisjointSet(size)
    for one, other in pairs:
        joined.merge(one, other)
    return _numbered(joined[place] for place in range(size))


def _shingles(text: str) -> Hashes:
    """Return the sorted unique 64-bit hashes of the text's character shingles; a shorter text is one shingle."""
    plain = "".join("0" if letter.isdigit() else letter for letter in " ".join(text[:TEXT_LIMIT].lower().split()))
    points = np.frombuffer(plain.encode("utf-32-le", "replace"), dtype=np.uint32).astype(np.uint64)
    if not points.size:
        return np.zeros(0, dtype=np.uint64)
    width = min(SHINGLE, points.size)
    value = np.zeros(points.size - width + 1, dtype=np.uint64)
    for place in range(width):
        value = _mixed(value ^ points[place : place + value.size])
    return np.unique(value)


def _mixed(value: Hashes) -> Hashes:
    """Scatter 64-bit values (multiply and fold; wraps around on purpose)."""
    value = (value + np.uint64(1)) * _WORD
    return value ^ (value >> np.uint64(29))


def _buckets(shingles: Sequence[Hashes]) -> Iterable[list[int]]:
    """Yield lists of positions that share a band of their MinHash signature."""
    salts = _mixed(np.arange(1, BANDS * ROWS + 1, dtype=np.uint64) * _WORD)
    buckets: dict[tuple[int, bytes], list[int]] = {}
    for place, members in enumerate(shingles):
        if not members.size:
            continue
        signature = np.array([_mixed(members ^ salt).min() for salt in salts], dtype=np.uint64).reshape(BANDS, ROWS)
        for band, row in enumerate(signature):
            buckets.setdefault((band, row.tobytes()), []).append(place)
    return (bucket for bucket in buckets.values() if len(bucket) > 1)


def _numbered(roots: Iterable[int]) -> Ints:
    number: dict[int, int] = {}
    return np.array([number.setdefault(root, len(number)) for root in roots], dtype=np.int64)
