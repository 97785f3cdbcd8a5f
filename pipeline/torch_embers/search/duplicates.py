"""Possible duplicates of an item, by vectors that are stored already: no model is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch_embers.classify.embedding import nearest
from torch_embers.errors import InputError
from torch_embers.search.rules import SearchRules

if TYPE_CHECKING:
    from torch_embers.store.store import Store


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found, and why."""

    repo: str
    number: int
    title: str
    cosine: float | None
    """Of the texts' vectors; None where the item has none, or a thousand others are nearer."""
    words: float | None
    """Score of the shared words (BM25); None where they share none, or a thousand others share more."""
    linked: float | None = None
    """Share of read pairs of this nearness that belong together (``PairRate``); None where the query was no item."""


def possible_duplicates(store: Store, repo: str, number: int, k: int = 5) -> list[Hit]:
    """The items that a triager would probably link to an item, nearest first; none where it has no vector.

    Raises:
        StoreMissingError: no database.
    """
    rules = SearchRules.load()
    store.require()
    with store.read() as connection:
        variant = nearest.embedded_variant(connection)
    if variant is None:
        return []
    try:
        meant = nearest.similar(store, repo, number, k, variant=variant)
    except InputError:  # no vector, no text, or no such item: nothing to compare
        return []
    rated = [(hit, rules.share(hit.score, hit.model)) for hit in meant]
    return [
        Hit(hit.repo, hit.number, hit.title, hit.score, None, share)
        for hit, share in rated
        if share is not None and share >= rules.duplicates.shown_from
    ]
