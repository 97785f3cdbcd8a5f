"""What the encoder must never see: everything that it, or a classifier on it, is measured on."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ahocorasick_rs import AhoCorasick, MatchKind

from torch_embers import resources

if TYPE_CHECKING:
    from collections.abc import Iterable

MEASURED = resources.CHECKOUT_DIR / "tools" / "encoder" / "search_pairs.csv"
"""The pairs that the order of `embers search --like` was measured on (bench/RESULTS.md)."""
NEAR = 0.7
"""Titles that share at least this share of their words (Jaccard) count as copies of each other."""
LEAST_WORDS = 4
"""A title of fewer words is no copy just because another text contains it."""
_TAG = re.compile(r"^\s*(\[[^\]]*\]\s*)+")
_NUMBER = re.compile(r"(?:#|/issues/|/pull/)(\d+)")
_WORD = re.compile(r"[^\W_]+")


def measured_numbers() -> set[int]:
    """Items of the pairs that search was measured on, both sides, whether or not a database holds them."""
    with MEASURED.open(encoding="utf-8", newline="") as file:
        return {int(row[side]) for row in csv.DictReader(file) for side in ("query", "partner")}


def words(text: str) -> str:
    """A text without what differs between copies of it: tags in front, numbers of items, case and punctuation."""
    return " ".join(_WORD.findall(_NUMBER.sub(" ", _TAG.sub("", text)).lower()))


@dataclass(frozen=True)
class Excluded:
    """Numbers and titles of items, with what tells copies of them."""

    numbers: frozenset[int]
    titles: tuple[str, ...]
    """As ``words`` gives them."""
    _by_word: dict[str, list[int]] = field(repr=False)
    _sizes: tuple[int, ...] = field(repr=False)
    _whole: AhoCorasick = field(repr=False)

    @staticmethod
    def of(numbers: Iterable[int], titles: Iterable[str]) -> Excluded:
        """From the numbers and the titles of items; a title need not belong to one of the numbers."""
        known = tuple(sorted({words(title) for title in titles} - {""}))
        by_word: defaultdict[str, list[int]] = defaultdict(list)
        for place, title in enumerate(known):
            for word in set(title.split()):
                by_word[word].append(place)
        long = [f" {title} " for title in known if len(title.split()) >= LEAST_WORDS]
        whole = AhoCorasick(long or ["\n"], matchkind=MatchKind.LeftmostLongest)
        return Excluded(frozenset(numbers), known, dict(by_word), tuple(len(set(t.split())) for t in known), whole)

    def title(self, title: str) -> bool:
        """Whether a title is one of the excluded ones, or nearly."""
        own = set(words(title).split())
        shared = Counter(place for word in own for place in self._by_word.get(word, ()))
        return any(count / (len(own) + self._sizes[place] - count) >= NEAR for place, count in shared.items())

    def text(self, text: str) -> bool:
        """Whether a text names an excluded item by number or quotes its title."""
        if any(int(number) in self.numbers for number in _NUMBER.findall(text) if len(number) < 10):
            return True
        return bool(self._whole.find_matches_as_indexes(f" {words(text)} "))

    def item(self, number: int, title: str, body: str | None = None) -> bool:
        """Whether an item is excluded, a copy of an excluded one, or speaks of one."""
        return number in self.numbers or self.title(title) or self.text(f"{title}\n{body or ''}")
