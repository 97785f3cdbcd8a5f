"""Which rules are worth running on a text, by the words that each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ahocorasick_rs import BytesAhoCorasick, Implementation

if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT_TEXT = 32_768
"""Characters up to which a text is searched for all words at once: such a search lists every place of every word, and a
long text of one word has as many places as characters."""
_SURROGATES = "surrogatepass"
"""Half of a pair is a character to Python, and then to the search, too."""


class Needs:
    """The words that some rules need; one pass over a text finds those that are there, however many rules need them."""

    def __init__(self, needs: Mapping[int, tuple[str, ...]]) -> None:
        """Take the words of each rule by its place; a rule without words is always worth running."""
        self._always = [place for place, words in needs.items() if not words]
        places: dict[str, list[int]] = {}
        for place, words in needs.items():
            for word in words:
                places.setdefault(word, []).append(place)
        self._always += places.pop("", [])  # every text holds the empty word
        self._words = tuple(places)
        self._places = tuple(places.values())
        coded = [word.encode("utf-8", _SURROGATES) for word in self._words]
        self._search = BytesAhoCorasick(coded, implementation=Implementation.DFA) if coded else None

    def met(self, text: str) -> list[int]:
        """Places of the rules that need no word or one that is in the text, in order."""
        met = set(self._always)
        for word in self._met_words(text):
            met.update(self._places[word])
        return sorted(met)

    def _met_words(self, text: str) -> set[int]:
        if self._search is None:
            return set()
        if len(text) > SHORT_TEXT:
            return {at for at, word in enumerate(self._words) if word in text}
        # in UTF-8 a word stands in a text exactly where its bytes do
        found = self._search.find_matches_as_indexes(text.encode("utf-8", _SURROGATES), overlapping=True)
        return {at for at, _, _ in found}
