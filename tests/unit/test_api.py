"""The Python API: what is public, frames on a mined database, and every example of docs/python.md."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import torch_embers as embers
from torch_embers import api

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def db(catalog_database: Path) -> embers.Database:
    return embers.open(catalog_database)


def test_what_is_public_is_listed_and_there() -> None:
    assert embers.open is api.open_database
    for name in embers.__all__:
        assert getattr(embers, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        embers.nothing  # noqa: B018


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, torch_embers; print(sorted({'pandas', 'duckdb', 'numpy', 'pydantic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_sql_takes_parameters_and_writes_nothing(db: embers.Database) -> None:
    assert db.sql("SELECT $a + 1 AS b", {"a": 1}).b.tolist() == [2]
    before = db.path.read_bytes()
    with pytest.raises(embers.EmbersError, match="read-only"):
        db.sql("DELETE FROM items")
    assert db.path.read_bytes() == before


def test_a_missing_database_is_named_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(embers.EmbersError, match="no database at"):
        embers.open(tmp_path / "none.duckdb")
    assert list(tmp_path.iterdir()) == []


def test_classify_refuses_what_is_no_list_of_texts() -> None:
    with pytest.raises(embers.EmbersError, match="a list of texts"):
        embers.classify("one text")
    with pytest.raises(embers.EmbersError, match="text number 1 is empty"):
        embers.classify(["good", " "])
