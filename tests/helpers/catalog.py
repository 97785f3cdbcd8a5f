"""What the tests in test_catalog.py share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"


@pytest.fixture(scope="module")
def store(catalog_template: Path) -> Store:
    """A fresh database that holds the catalog alone."""
    return Store(catalog_template)


def rows(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return connection.execute(query).fetchall()


# ---- taxonomy ---------------------------------------------------------------------------------------------------


def labels(entry: dict[str, Any], annotator: tuple[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for label in entry["taxonomy"]:
        if (label["annotator_kind"], label["annotator"]) == annotator:
            found.setdefault(label["scheme"], []).append(label["value"])
    return found
