"""The numbers of ``data/search.toml``."""

from __future__ import annotations

from functools import cache

from pydantic import Field, model_validator

from torch_embers import toml_models

FILE = "search.toml"


class WordRules(toml_models.Explained):
    """``[words]``: how items are scored by the words that they share with a query."""

    weight_of_title: int
    body_chars: int
    saturation: float
    length: float
    rarity: float = Field(ge=0)
    query_words: int


class FusionRules(toml_models.Explained):
    """``[fusion]``: how several orders become one."""

    constant: int
    depth: int


class NearnessRules(toml_models.Explained):
    """``[nearness]``: how much less an item counts whose number is far from that of the item that is asked about."""

    reach: float = Field(gt=0)
    power: float = Field(ge=0)


class DuplicateRules(toml_models.Explained):
    """``[duplicates]``: which hits are named as possible duplicates."""

    shown_from: float
    measured: str
    """What is known of such hits, in a clause."""


class PairRate(toml_models.Entry):
    """How often pairs of items with at least this cosine, and less than that of the entry before, belong together."""

    model: str
    """Of the vectors, without the arithmetic: cosines of different models have different scales."""
    cosine: float
    read: int = Field(gt=0)
    """Pairs that were read."""
    linked: int = Field(ge=0)
    """Of them, duplicates and closely connected ones."""
    duplicate: int = Field(ge=0)
    reason: str

    @property
    def share(self) -> float:
        """The share of pairs that are linked."""
        return self.linked / self.read


class SearchRules(toml_models.Entry):
    """The whole file."""

    words: WordRules
    fusion: FusionRules
    nearness: NearnessRules
    duplicates: DuplicateRules
    pairs: tuple[PairRate, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _check(self) -> SearchRules:
        for model in {pair.model for pair in self.pairs}:
            cosines = [pair.cosine for pair in self.pairs if pair.model == model]
            if cosines != sorted(cosines, reverse=True) or cosines[-1] > -1:
                raise ValueError(f"pairs of {model}: the cosines must fall and end at -1")
        if any(pair.linked > pair.read or pair.duplicate > pair.linked for pair in self.pairs):
            raise ValueError("pairs: duplicates are among the linked ones, and these among those that were read")
        return self

    def share(self, cosine: float | None, model: str) -> float | None:
        """How often pairs of this cosine belong together.

        Args:
            cosine: of two vectors; None where it is unknown, which counts as the lowest.
            model: id of the model that made them.

        Returns:
            None where no pairs of this model were read.
        """
        known = [pair for pair in self.pairs if pair.model == model.partition("/")[0]]
        reached = (pair.share for pair in known if pair.cosine <= (-1 if cosine is None else cosine))
        return next(reached, known[-1].share if known else None)

    @staticmethod
    @cache
    def load() -> SearchRules:
        """Read the shipped file once.

        Raises:
            InputError: the file is missing or an entry is wrong.
        """
        return toml_models.load(SearchRules, FILE)
