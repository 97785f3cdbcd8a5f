"""The vectors of the items: only what changed is embedded, a kill loses one batch, and the nearest items are found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.search import (
    REPO,
    Words,
    embedded,
    item,
    library,  # noqa: F401 - fixtures
    store_of,
)
from support import rows
from torch_embers.classify.embedding import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store


# ---- schema -----------------------------------------------------------------------------------------------------


def test_equal_texts_are_embedded_once(database: Path) -> None:
    store = store_of(database, [item(n, "the same words") for n in range(1, 6)])
    words = Words()
    assert embedded(store, words).embedded == 1
    assert words.seen == ["the same words"]
    assert rows(database, "SELECT count(*) FROM embeddings") == [(1,)]


def test_scores_are_the_cosines(library: Store) -> None:
    words = Words()
    [query] = words.encode(["strided loader"])
    for hit in nearest.search(library, "strided loader", embedder=words):
        assert hit.score == pytest.approx(float(words.encode([hit.title])[0] @ query), abs=1e-5)


def test_search_only_reads(library: Store) -> None:
    before = library.path.read_bytes()
    nearest.similar(library, REPO, 1)
    nearest.search(library, "loader", embedder=Words())
    assert library.path.read_bytes() == before
