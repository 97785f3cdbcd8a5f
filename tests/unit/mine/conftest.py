"""A database in memory, which every test leaves as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from torch_embers.store import schema

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def base() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as connection:
        schema.make(connection, "2026-01-01 12:00:00", "test")
        yield connection


@pytest.fixture
def connection(base: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    base.execute("BEGIN")
    yield base
    base.execute("ROLLBACK")
