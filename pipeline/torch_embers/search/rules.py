"""The numbers of ``data/search.toml``."""

from __future__ import annotations

from functools import cache

from torch_embers import toml_models

FILE = "search.toml"


class WordRules(toml_models.Explained):
    """``[words]``: how items are scored by the words that they share with a query."""

    weight_of_title: int
    body_chars: int
    saturation: float
    length: float
    query_words: int


class FusionRules(toml_models.Explained):
    """``[fusion]``: how several orders become one."""

    constant: int
    depth: int


class SearchRules(toml_models.Entry):
    """The whole file."""

    words: WordRules
    fusion: FusionRules

    @staticmethod
    @cache
    def load() -> SearchRules:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(SearchRules, FILE)
