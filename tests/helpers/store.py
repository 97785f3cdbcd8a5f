"""What the tests in test_store.py share."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from torch_embers.mine.pages import make_page
from torch_embers.store import schema
from torch_embers.store.records import Batch, Item, Page
from torch_embers.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPO = "pytorch/pytorch"
NOON = "2024-01-23T12:00:00Z"


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new database, to be copied."""
    path = tmp_path_factory.mktemp("store") / "empty.duckdb"
    with Store(path).writer("test", create=True):
        pass
    return path


@pytest.fixture
def store(empty_database: Path, tmp_path: Path) -> Store:
    """A store of its own for a test."""
    path = tmp_path / "e.duckdb"
    shutil.copy(empty_database, path)
    return Store(path)


def page(body: bytes = b"[]", request: str = "r") -> Page:
    return make_page(REPO, "rest", "rest.items", request, body, NOON)


def commit(store: Store, *batches: Batch) -> None:
    with store.writer("test", create=True) as writer:
        for batch in batches:
            writer.commit(batch)


def rows(store: Store, query: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return connection.execute(query, list(parameters)).fetchall()


# ---- merging ----------------------------------------------------------------------------------------------------

MOMENTS = tuple(f"2024-01-01T00:00:{second:02d}Z" for second in range(8))
texts = st.one_of(st.none(), st.sampled_from(["", "x", "y", "z"]))


@st.composite
def items(draw: st.DrawFn) -> Item:
    """What sources say of an item: rich or thin, open or closed, dated or not, in any order."""
    state = draw(st.sampled_from([None, "open", "closed"]))
    reasons: dict[str | None, list[str | None]] = {
        None: [None],
        "open": [None, "reopened"],
        "closed": [None, "", "completed", "not_planned"],
    }
    closed = st.sampled_from([None, *MOMENTS])
    return Item(
        REPO,
        draw(st.integers(1, 3)),
        kind=draw(st.sampled_from([None, "issue"])),
        title=draw(texts),
        body=draw(texts),
        state=state,
        state_reason=draw(st.sampled_from(reasons[state])),
        closed_at=draw(closed) if state == "closed" else None,
        comment_count=draw(st.one_of(st.none(), st.integers(0, 3))),
        is_draft=draw(st.one_of(st.none(), st.booleans())),
        locked=(locked := draw(st.one_of(st.none(), st.booleans()))),
        lock_reason=draw(st.sampled_from([None, "spam"])) if locked else None,
        closed_by=draw(st.sampled_from([None, "ann"])) if state == "closed" else None,
        labels=draw(st.one_of(st.none(), st.lists(st.sampled_from("ab"), unique=True).map(lambda x: tuple(sorted(x))))),
        updated_at=draw(st.one_of(st.none(), st.sampled_from(MOMENTS))),
        source="rest",
        page_id=draw(st.sampled_from("pqr")),
    )


@pytest.fixture(scope="module")
def filled_database(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with some blocks of text."""
    path = tmp_path_factory.mktemp("filled") / "e.duckdb"
    shutil.copy(empty_database, path)
    chance = random.Random(1)
    bodies = ["".join(chance.choices("abcdefgh \n", k=3000)) for _ in range(600)]
    commit(
        Store(path), Batch(items=[Item(REPO, n, body=b) for n, b in enumerate(bodies, 1)], pages=[page(b"x" * 9999)])
    )
    return path


REAL = schema.migrations()
NOW = schema.latest_version()
STEPS = {
    NOW + 1: "ALTER TABLE items ADD COLUMN two INTEGER; CREATE TABLE log (step INTEGER); INSERT INTO log VALUES (1)",
    NOW + 3: "INSERT INTO log VALUES (3)",
    NOW + 2: "INSERT INTO log VALUES (2)",
}
