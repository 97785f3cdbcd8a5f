"""Which rules are worth running on a text, by the words that each needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class Needs:
    """The words that some rules need; each word is looked for once, however many rules need it."""

    def __init__(self, needs: Mapping[int, tuple[str, ...]]) -> None:
        """Take the words of each rule by its place; a rule without words is always worth running."""
        self._always = [place for place, words in needs.items() if not words]
        places: dict[str, list[int]] = {}
        for place, words in needs.items():
            for word in words:
                places.setdefault(word, []).append(place)
        self._places = tuple(places.items())

    def met(self, text: str) -> list[int]:
        """Places of the rules that need no word or one that is in the text, in order."""
        met = self._always.copy()
        for word, places in self._places:
            if word in text:
                met += places
        return sorted(set(met))
