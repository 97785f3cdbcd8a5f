"""What the tests in test_searching.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from helpers.search import Words, embedded, item, store_of
from torch_embers.search.rules import SearchRules

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store

RATED = SearchRules.load().pairs[0].model
"""A model of which pairs were read."""
TITLES = {
    1: "conv_transpose2d gives wrong gradient for strided input",
    2: "wrong gradient of conv_transpose2d",
    3: "DataLoader hangs with workers",
    4: "workers of the loader never end",
    5: "gradient checkpointing is slow",
}


@pytest.fixture
def library(database: Path) -> Store:
    store = store_of(database, [*(item(n, t) for n, t in TITLES.items()), item(1, "wrong gradient", repo="x/y")])
    embedded(store, Words())
    return store
