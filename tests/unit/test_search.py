"""The vectors of the items: only what changed is embedded, a kill loses one batch, and the nearest items are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

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
from torch_embers.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.classify.text import Variant
    from torch_embers.store.store import Store


# ---- schema -----------------------------------------------------------------------------------------------------


def test_every_table_and_column_of_classification_has_a_comment(database: Path) -> None:
    store_of(database, [])
    told = rows(
        database,
        "SELECT table_name, column_name, comment FROM duckdb_columns() "
        "WHERE table_name IN ('model_texts', 'embeddings', 'weak_labels', 'predictions')",
    )
    assert len({table for table, *_ in told}) == 4
    assert [(table, column) for table, column, comment in told if not comment] == []


def test_equal_texts_are_embedded_once(database: Path) -> None:
    store = store_of(database, [item(n, "the same words") for n in range(1, 6)])
    words = Words()
    assert embedded(store, words).embedded == 1
    assert words.seen == ["the same words"]
    assert rows(database, "SELECT count(*) FROM embeddings") == [(1,)]


def test_an_unknown_variant_is_refused(database: Path) -> None:
    store = store_of(database, [item(1, "a")])
    with pytest.raises(InputError, match="text variant 'all'"):
        embedded(store, Words(), cast("Variant", "all"))


def test_similar_items_come_nearest_first_without_the_item_itself(library: Store) -> None:
    found = nearest.similar(library, REPO, 1, 3)
    assert found[0].number == 2
    assert found == sorted(found, key=lambda h: -h.score)
    assert 1 not in {h.number for h in found}
    assert {h.repo for h in found} == {REPO}
    assert found[0].title == "wrong gradient for strided view"


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
