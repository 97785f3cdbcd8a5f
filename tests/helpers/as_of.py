"""What the tests in test_as_of.py share."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from torch_embers.store.store import Store

if TYPE_CHECKING:
    from pathlib import Path

REPO = "pytorch/pytorch"
START = datetime(2024, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("as_of") / "empty.duckdb"
    with Store(path).writer("test", create=True):
        pass
    return path


@pytest.fixture
def store(template: Path, tmp_path: Path) -> Store:
    path = tmp_path / "e.duckdb"
    shutil.copy(template, path)
    return Store(path)


def answers(store: Store, moment: datetime) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for row in store.as_of(moment).to_dict("records"):
        row["labels"] = None if row["labels"] is None else tuple(row["labels"])
        found[int(row["number"])] = {str(name): value for name, value in row.items()}
    return found
