"""The Python API: what is public, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import torch_embers as embers
from torch_embers import api

if TYPE_CHECKING:
    from pathlib import Path


def test_what_is_public_is_listed_and_there() -> None:
    assert embers.open is api.open_database
    for name in embers.__all__:
        assert getattr(embers, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        embers.nothing  # noqa: B018


def test_sql_takes_parameters(catalog_template: Path) -> None:
    db = embers.open(catalog_template)
    assert db.path == catalog_template
    assert db.sql("SELECT $a + 1 AS b", {"a": 1}).b.tolist() == [2]


def test_a_missing_database_and_what_is_no_list_of_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(embers.EmbersError, match="no database at"):
        embers.open(tmp_path / "none.duckdb")
    assert list(tmp_path.iterdir()) == []
    for texts, said in (("one text", "a list of texts"), (["good", " "], "text number 1 is empty")):
        with pytest.raises(embers.EmbersError, match=said):
            embers.classify(texts)
