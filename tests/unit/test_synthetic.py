"""The made-up database of the benchmarks: sound, repeatable, and read alike by the views and by one query per signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from synthetic import make

if TYPE_CHECKING:
    from pathlib import Path

    from torch_embers.store.store import Store

ITEMS = 3_000
COMMENTS = 5_000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make(tmp_path_factory.mktemp("synthetic") / "s.duckdb", ITEMS, COMMENTS)


def numbers(store: Store, query: str) -> list[tuple[Any, ...]]:
    with store.read() as connection:
        return connection.execute(query).fetchall()


def test_it_has_as_many_rows_as_asked_for(made: Store) -> None:
    assert numbers(made, "SELECT (SELECT count(*) FROM items), (SELECT count(*) FROM comments)") == [(ITEMS, COMMENTS)]


def test_the_funnel_narrows_and_no_event_lies_in_the_future(made: Store) -> None:
    stages = [count for _, _, count, *_ in numbers(made, "FROM funnel ORDER BY stage")]
    assert stages == sorted(stages, reverse=True)
    assert stages[-1] > 10
    assert numbers(made, "SELECT max(created_at) < TIMESTAMP '2026-10-01' FROM events") == [(True,)]


def test_a_database_that_is_there_is_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "mine.duckdb"
    place.write_bytes(b"precious")
    with pytest.raises(FileExistsError):
        make(place, 10, 10)
    assert place.read_bytes() == b"precious"
