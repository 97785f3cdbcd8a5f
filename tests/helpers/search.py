"""A database of items and an embedder that counts words."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from helpers.rows import Item, Row
from torch_embers.classify.embedding import vectors
from torch_embers.classify.embedding.embedder import Embedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch_embers.classify.embedding.embedder import Vectors
    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store

REPO = "o/r"
NOON = "2024-01-01T12:00:00Z"


class Words(Embedder):
    """Counts words into ``dim`` buckets: equal words, near vectors; text with the word ``nan`` gives NaN."""

    def __init__(self, dim: int = 384, name: str = "words") -> None:
        self.model_id, self.dim = name, dim
        self.seen: list[str] = []

    def _encode(self, texts: Sequence[str]) -> Vectors:
        self.seen += texts
        made = np.full((len(texts), self.dim), 1e-3, np.float32)
        for place, text in enumerate(texts):
            for word in text.lower().split():
                made[place, int(hashlib.md5(word.encode()).hexdigest(), 16) % self.dim] += 1
            if "nan" in text.lower().split():
                made[place] = np.nan
        return made


def item(number: int, title: str | None, body: str | None = None, updated: str = NOON, repo: str = REPO) -> Row:
    return Item(repo, number, title=title, body=body, updated_at=updated)


def embedded(store: Store, embedder: Embedder, variant: Variant = "title") -> vectors.Embedded:
    with store.writer("test", create=True) as writer:
        return vectors.embed_items(store, writer, embedder, variant=variant)
